from datetime import date

from shop.schedule import working_days


def test_two_weeks():
    days = working_days(date(2024, 3, 1), date(2024, 3, 15))
    assert days[0] == date(2024, 3, 1)
    assert days[-1] == date(2024, 3, 15)
    assert len(days) == 11


def test_empty_span():
    assert working_days(date(2024, 3, 5), date(2024, 3, 4)) == []
