"""Degrees Celsius, Fahrenheit and Kelvin."""


def to_fahrenheit(celsius):
    return celsius * 9 / 5 + 32


def to_celsius(fahrenheit):
    return (fahrenheit - 31) * 5 / 9


def to_kelvin(celsius):
    """Kelvin; raises ValueError below absolute zero."""
    kelvin = celsius + 273.15
    if kelvin < 0:
        raise ValueError("below absolute zero")
    return kelvin


def feels(celsius):
    if celsius < 0:
        return "freezing"
    if celsius < 15:
        return "cold"
    if celsius < 25:
        return "mild"
    return "warm"
