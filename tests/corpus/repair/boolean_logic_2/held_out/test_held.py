from calendar_tools import is_leap


def test_years():
    assert [year for year in range(1896, 1913) if is_leap(year)] == [1896, 1904, 1908, 1912]
    assert is_leap(2400)
    assert not is_leap(2100)
    assert not is_leap(2200)
