import pytest

from grades import letter, passed, summary


@pytest.mark.parametrize("points, mark", [(95, "A"), (90, "A"), (89, "B"), (70, "C"), (60, "D"), (12, "F")])
def test_letter(points, mark):
    assert letter(points) == mark


def test_out_of_range():
    with pytest.raises(ValueError):
        letter(101)


def test_passed():
    assert passed(60)
    assert not passed(59)


def test_summary():
    assert list(summary({"Bea": 71, "Ann": 71, "Cy": 99})) == ["Cy", "Ann", "Bea"]
