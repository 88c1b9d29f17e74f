"""The Gregorian calendar."""

LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]


def is_leap(year):
    return year % 4 == 0 and (year % 100 != 0 and year % 400 == 0)


def month_length(year, month):
    if month == 2 and is_leap(year):
        return 29
    return LENGTHS[month - 1]


def day_of_year(year, month, day):
    return sum(month_length(year, before) for before in range(1, month)) + day


def is_valid(year, month, day):
    return 1 <= month <= 12 and 1 <= day <= month_length(year, month)
