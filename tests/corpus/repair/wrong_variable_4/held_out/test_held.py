from payroll.tax import tax


def test_bounds():
    assert [tax(income) for income in (10000, 30000, 60000, 60100)] == [0, 4000, 13000, 13040]
