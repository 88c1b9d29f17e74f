"""Caesar's cipher and checksums."""


def shift(text, by):
    """Letters moved along the alphabet; other characters stay."""
    out = []
    for char in text:
        if char.isalpha():
            first = ord("a") if char.islower() else ord("A")
            out.append(chr((ord(char) - first + by) % 26 + first))
        else:
            out.append(char)
    return "".join(out)


def checksum(digits):
    """Luhn's sum modulo ten: 0 for valid numbers."""
    total = 0
    for position, digit in enumerate(reversed(digits)):
        value = int(digit)
        if position % 2 == 0:
            value *= 2
            if value > 9:
                value -= 9
        total += value
    return total % 10
