"""Roman numerals."""

VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
STEPS = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"),
         (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]


def to_number(numeral):
    total = 0
    for index, letter in enumerate(numeral):
        value = VALUES[letter]
        if index + 1 < len(numeral) and value < VALUES[numeral[index + 1]]:
            total -= value
        else:
            total += value
    return total


def to_numeral(number):
    text = ""
    for value, letters in STEPS:
        while number > value:
            text += letters
            number -= value
    return text
