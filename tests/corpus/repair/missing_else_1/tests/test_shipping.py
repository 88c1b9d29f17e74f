import pytest

from shipping import base_cost, shipping, zone


def test_zone():
    assert zone("AT") == 2
    assert zone("NZ") == 5


@pytest.mark.parametrize("grams, cost", [(500, 390), (501, 590), (2000, 590), (2001, 990)])
def test_base(grams, cost):
    assert base_cost(grams) == cost


def test_shipping():
    assert shipping("DE", 100) == 390
    assert shipping("US", 100) == 1560


def test_members():
    assert shipping("DE", 100, member=True) == 0
    assert shipping("US", 100, member=True) == 1560


def test_express():
    assert shipping("DE", 2500, express=True) == 1990
