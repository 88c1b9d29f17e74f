"""Progressive income tax."""

BRACKETS = [(10000, 0), (30000, 20), (60000, 30), (None, 40)]


def tax(income):
    """Tax in whole units: each part of the income is taxed at its bracket's percentage."""
    due = 0
    lower = 0
    for upper, percent in BRACKETS:
        top = income if upper is None else min(income, upper)
        if top > lower:
            due += (top - lower) * percent // 100
        if upper is None or income <= upper:
            break
        lower = top - upper
    return due


def net(income):
    return income - tax(income)
