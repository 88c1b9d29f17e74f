import pytest

from temperature import to_celsius, to_fahrenheit


def test_inverse():
    for value in (-10, 0, 21.5, 98.6):
        assert to_fahrenheit(to_celsius(value)) == pytest.approx(value)
