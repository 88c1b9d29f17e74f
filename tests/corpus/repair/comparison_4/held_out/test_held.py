from roman import parse, show


def test_round_trip():
    assert all(parse(show(number)) == number for number in range(1, 400))
