import pytest

from thermostat import Thermostat, simulate


def test_turns_on():
    assert Thermostat(18, 22).update(17)


def test_stays_on_within_the_band():
    thermostat = Thermostat(18, 22)
    thermostat.update(17)
    assert thermostat.update(20)
    assert not thermostat.update(23)
    assert not thermostat.update(20)


def test_simulation():
    assert simulate(Thermostat(1, 3), 2, 8) == [1, 0, 1, 2, 3, 4, 3, 2]


def test_bounds():
    with pytest.raises(ValueError):
        Thermostat(3, 3)
