"""Matrices as lists of rows."""


def transposed(rows):
    if not rows:
        return []
    return [[row[column] for row in rows] for column in range(len(rows))]


def product(left, right):
    size = len(right)
    return [
        [sum(row[k] * right[k][column] for k in range(size)) for column in range(len(right[0]))] for row in left
    ]


def identity(size):
    return [[1 if row == column else 0 for column in range(size)] for row in range(size)]
