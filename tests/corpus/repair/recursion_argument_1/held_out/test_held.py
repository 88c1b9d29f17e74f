from puzzles import digits


def test_digits_more():
    assert digits(1023, 2) == [1] * 10
    assert digits(100, 7) == [2, 0, 2]
    assert digits(12, 13) == [12]
    assert digits(1000) == [1, 0, 0, 0]
