"""Matrices as lists of rows."""


def transpose(rows):
    return [[row[column] for row in rows] for column in range(len(rows[0]))] if rows else []


def multiply(left, right):
    """The product of two matrices that fit."""
    result = []
    for row in left:
        result.append([sum(row[k] * right[column][k] for k in range(len(right))) for column in range(len(right[0]))])
    return result


def diagonal(rows):
    return [rows[at][at] for at in range(len(rows))]


def rotated(rows):
    """Turned by a quarter, clockwise."""
    return [list(column) for column in zip(*rows[::-1])]
