"""Small recursive puzzles."""


def moves(count, source, target, spare):
    """Moves (from, to) that carry a tower of `count` discs from source to target."""
    if count == 0:
        return []
    before = moves(count - 1, source, spare, target)
    after = moves(count - 1, spare, target, source)
    return [*before, (source, target), *after]


def digits(number, base=10):
    """Digits of a number in a base, the highest first."""
    if number < base:
        return [number]
    return [*digits(number // base), number % base]


def is_palindrome(text):
    if len(text) < 2:
        return True
    return text[0] == text[-1] and is_palindrome(text[1:-1])
