"""School marks."""

BOUNDS = [(90, "A"), (80, "B"), (70, "C"), (60, "D")]


def letter(points):
    if not 0 <= points <= 100:
        raise ValueError(f"points out of range: {points}")
    for bound, mark in BOUNDS:
        if points > bound:
            return mark
    return "F"


def passed(points, needed=60):
    return points >= needed


def summary(results):
    """Name -> letter, the best first; equal points in order of name."""
    ordered = sorted(results.items(), key=lambda item: (-item[1], item[0]))
    return {name: letter(points) for name, points in ordered}
