from fibonacci import collatz, digits_sum, fibonacci


def test_fibonacci():
    assert fibonacci(7) == [0, 1, 1, 2, 3, 5, 8]


def test_no_numbers():
    assert fibonacci(0) == []


def test_collatz():
    assert collatz(6) == [6, 3, 10, 5, 16, 8, 4, 2, 1]


def test_digits_sum():
    assert digits_sum(1203) == 6
