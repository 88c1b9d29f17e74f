from duration import parse, show


def test_hours():
    assert parse("3h") == 10800
    assert show(10800) == "3h"
    assert show(3599) == "59m 59s"
