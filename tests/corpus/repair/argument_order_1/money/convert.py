"""Exchange rates, given as units of a currency per euro."""

RATES = {"EUR": 1.0, "USD": 1.25, "JPY": 160.0, "GBP": 0.8}


class UnknownCurrency(KeyError):
    pass


def rate(source, target):
    try:
        return RATES[target] / RATES[source]
    except KeyError as error:
        raise UnknownCurrency(error.args[0]) from error


def convert(amount, source, target):
    return round(amount * rate(target, source), 2)


def total(amounts, currency):
    """Sum of (amount, currency) pairs in one currency."""
    return round(sum(convert(amount, given, currency) for amount, given in amounts), 2)
