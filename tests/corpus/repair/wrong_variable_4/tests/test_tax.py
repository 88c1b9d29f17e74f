from payroll.tax import net, tax


def test_free():
    assert tax(8000) == 0


def test_second_bracket():
    assert tax(20000) == 2000


def test_third_bracket():
    assert tax(40000) == 7000


def test_top():
    assert tax(100000) == 29000


def test_net():
    assert net(20000) == 18000
