from primes import divisors, factors, sieve


def test_sieve():
    assert sieve(20) == [2, 3, 5, 7, 11, 13, 17, 19]


def test_factors():
    assert factors(12) == [2, 2, 3]
    assert factors(7) == [7]
    assert factors(8) == [2, 2, 2]


def test_one():
    assert factors(1) == []


def test_divisors():
    assert divisors(6) == [1, 2, 3, 6]
