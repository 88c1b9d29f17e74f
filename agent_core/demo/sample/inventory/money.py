"""Amounts of money in whole cents."""

import re
from dataclasses import dataclass

_FORMAT = re.compile(r"(-?)(\d+)(?:\.(\d{2}))?")


@dataclass(frozen=True, order=True)
class Money:
    """An amount; it may be negative."""

    cents: int

    @classmethod
    def parse(cls, text):
        """Read "12.50", "12" or "-3.05"; anything else is a ValueError."""
        match = _FORMAT.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"not an amount: {text!r}")
        sign, whole, fraction = match.groups()
        cents = int(whole) * 100 + int(fraction or 0)
        return cls(-cents if sign else cents)

    def __add__(self, other):
        return Money(self.cents + other.cents)

    def __sub__(self, other):
        return Money(self.cents - other.cents)

    def times(self, quantity):
        return Money(self.cents * quantity)

    def percent(self, rate):
        """`rate` per cent of the amount, half a cent rounded away from zero."""
        scaled = abs(self.cents) * rate
        cents = (scaled + 50) // 100
        return Money(cents if self.cents >= 0 else -cents)

    def split(self, parts):
        """`parts` amounts that add up to this one; the first ones get the odd cents."""
        if parts < 1:
            raise ValueError("an amount is split into at least one part")
        each, odd = divmod(self.cents, parts)
        return [Money(each + 1) if index < odd else Money(each) for index in range(parts)]

    def __str__(self):
        whole, fraction = divmod(abs(self.cents), 100)
        sign = "-" if self.cents < 0 else ""
        return f"{sign}{whole}.{fraction:02d}"


ZERO = Money(0)
