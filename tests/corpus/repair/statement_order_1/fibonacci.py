"""Sequences."""


def fibonacci(count):
    """The first `count` Fibonacci numbers."""
    numbers = []
    current, following = 0, 1
    for _ in range(count):
        numbers.append(current)
        current = following
        following = current + following
    return numbers


def collatz(start):
    """The steps from a number down to 1."""
    steps = [start]
    while steps[-1] != 1:
        last = steps[-1]
        steps.append(last // 2 if last % 2 == 0 else 3 * last + 1)
    return steps


def digits_sum(number):
    total = 0
    while number > 0:
        total += number % 10
        number //= 10
    return total
