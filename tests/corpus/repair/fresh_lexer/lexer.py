"""Arithmetic text as tokens, and their value from left to right."""


def tokens(text):
    found = []
    position = 0
    while position < len(text):
        char = text[position]
        if char.isdigit():
            start = position
            while position < len(text) and text[position].isdigit():
                position += 1
            found.append(int(text[start:position + 1]))
        elif char in "+-*/()":
            found.append(char)
            position += 1
        elif char.isspace():
            position += 1
        else:
            raise ValueError(f"unexpected {char!r} at {position}")
    return found


def numbers(text):
    return [token for token in tokens(text) if isinstance(token, int)]
