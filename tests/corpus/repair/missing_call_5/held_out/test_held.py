from math import prod

from primes import factors


def test_products():
    assert all(prod(factors(number)) == number for number in range(1, 300))
