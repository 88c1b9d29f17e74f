"""Boxes of text for terminals."""


def fit(text, width, fill=" "):
    """The text cut or filled up to exactly `width` characters."""
    if len(text) > width:
        return text[: width - 1] + "…"
    return text + fill * (width - len(text))


def row(cells, widths):
    return "| " + " | ".join(fit(width, cell) for cell, width in zip(cells, widths)) + " |"


def table(rows):
    """Rows of equal length as a table with columns as wide as their longest cell."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows)]
    return "\n".join(row(cells, widths) for cells in rows)
