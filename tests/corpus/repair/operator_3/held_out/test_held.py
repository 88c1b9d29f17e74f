from clock import add, show


def test_round_trip():
    assert [show(value) for value in (5, 59, 60, 61, 1439)] == ["00:05", "00:59", "01:00", "01:01", "23:59"]
    assert add("10:10", 5) == "10:15"
