"""Cuts arithmetic expressions into tokens."""


def tokens(text):
    """Numbers, names and single signs."""
    found = []
    at = 0
    while at < len(text):
        char = text[at]
        if char.isspace():
            at += 1
        elif char.isdigit():
            start = at
            while at < len(text) and text[at].isdigit():
                at += 1
            found.append(text[start:at])
        elif char.isalpha():
            start = at
            while at < len(text) and text[at].isalpha():
                at += 1
            found.append(text[start:at])
        else:
            found.append(char)
            at += 1
    return found


def is_balanced(text):
    depth = 0
    for token in tokens(text):
        if token == "(":
            depth += 1
        elif token == ")":
            depth -= 1
            if depth < 0:
                return False
    return depth == 0
