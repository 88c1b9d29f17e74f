from fibonacci import fibonacci


def test_longer():
    numbers = fibonacci(30)
    assert numbers[29] == 514229
    assert all(a + b == c for a, b, c in zip(numbers, numbers[1:], numbers[2:]))
