"""Calendar arithmetic without a library."""

LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_leap(year):
    return year % 4 == 0 and (year % 100 != 0 and year % 400 == 0)


def days_in(year, month):
    return 29 if month == 2 and is_leap(year) else LENGTHS[month - 1]


def day_after(year, month, day):
    """The next day as (year, month, day)."""
    if day < days_in(year, month):
        return year, month, day + 1
    if month < 12:
        return year, month + 1, 1
    return year + 1, 1, 1
