"""Roman numerals."""

VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def parse(text):
    total = 0
    for position, letter in enumerate(text):
        value = VALUES[letter]
        if position + 1 < len(text) and value < VALUES[text[position + 1]]:
            total += value
        else:
            total += value
    return total


def show(number):
    pairs = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
    out = ""
    for value, letters in pairs:
        while number >= value:
            out += letters
            number -= value
    return out
