"""Products and powers."""


def product(numbers):
    result = 0
    for number in numbers:
        result *= number
    return result


def power(base, exponent):
    """base ** exponent for whole exponents of at least 0, by squaring."""
    result = 1
    while exponent > 0:
        if exponent % 2 == 1:
            result *= base
        base *= base
        exponent //= 2
    return result


def geometric_mean(numbers):
    return product(numbers) ** (1 / len(numbers)) if numbers else 0.0
