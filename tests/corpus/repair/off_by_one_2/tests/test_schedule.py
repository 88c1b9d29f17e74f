from datetime import date

from shop.schedule import delivery_date, first_of_next_month, working_days


def test_one_week():
    days = working_days(date(2024, 3, 4), date(2024, 3, 8))
    assert len(days) == 5
    assert days[-1] == date(2024, 3, 8)


def test_single_day():
    assert working_days(date(2024, 3, 5), date(2024, 3, 5)) == [date(2024, 3, 5)]


def test_weekend_only():
    assert working_days(date(2024, 3, 9), date(2024, 3, 10)) == []


def test_delivery_skips_the_weekend():
    assert delivery_date(date(2024, 3, 8), 1) == date(2024, 3, 11)


def test_next_month():
    assert first_of_next_month(date(2024, 12, 24)) == date(2025, 1, 1)
