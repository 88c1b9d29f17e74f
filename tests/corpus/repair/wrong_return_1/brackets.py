"""Checks of nested brackets."""

PAIRS = {")": "(", "]": "[", "}": "{"}


def balanced(text):
    """Whether every bracket is closed by its own kind in the right order."""
    open_ones = []
    for char in text:
        if char in PAIRS.values():
            open_ones.append(char)
        elif char in PAIRS:
            if not open_ones or open_ones.pop() != PAIRS[char]:
                return False
    return not open_ones


def deepest(text):
    """The greatest depth of nesting."""
    depth = most = 0
    for char in text:
        if char in PAIRS.values():
            depth += 1
            most = max(most, depth)
        elif char in PAIRS:
            depth -= 1
    return depth
