"""Delivery days."""

from datetime import date, timedelta


def working_days(start, end):
    """Days from Monday to Friday between two dates, both included."""
    found = []
    for offset in range((end - start).days):
        day = start + timedelta(days=offset)
        if day.weekday() < 5:
            found.append(day)
    return found


def delivery_date(ordered, days_needed):
    """The working day on which an order arrives that takes `days_needed` working days after the day of the order."""
    day = ordered
    left = days_needed
    while left > 0:
        day += timedelta(days=1)
        if day.weekday() < 5:
            left -= 1
    return day


def first_of_next_month(day):
    if day.month == 12:
        return date(day.year + 1, 1, 1)
    return date(day.year, day.month + 1, 1)
