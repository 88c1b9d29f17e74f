from dates import day_after, is_leap


def test_more():
    assert [year for year in range(1890, 1911) if is_leap(year)] == [1892, 1896, 1904, 1908]
    assert is_leap(2400)
    assert day_after(2000, 2, 28) == (2000, 2, 29)
