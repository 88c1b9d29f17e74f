import pytest

from temperature import feels, to_celsius, to_fahrenheit, to_kelvin


def test_fahrenheit():
    assert to_fahrenheit(100) == 212


@pytest.mark.parametrize("fahrenheit, celsius", [(32, 0), (212, 100), (-40, -40)])
def test_celsius(fahrenheit, celsius):
    assert to_celsius(fahrenheit) == pytest.approx(celsius)


def test_kelvin():
    assert to_kelvin(0) == pytest.approx(273.15)
    with pytest.raises(ValueError):
        to_kelvin(-300)


def test_feels():
    assert [feels(value) for value in (-1, 0, 15, 25)] == ["freezing", "cold", "mild", "warm"]
