"""Prime numbers."""


def sieve(limit):
    """Primes up to a limit, included."""
    is_prime = [True] * (limit + 1)
    found = []
    for number in range(2, limit + 1):
        if is_prime[number]:
            found.append(number)
            for multiple in range(number * number, limit + 1, number):
                is_prime[multiple] = False
    return found


def factors(number):
    """Prime factors in ascending order."""
    found = []
    divisor = 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return found


def divisors(number):
    return [candidate for candidate in range(1, number + 1) if number % candidate == 0]
