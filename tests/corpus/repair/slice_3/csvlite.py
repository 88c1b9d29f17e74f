"""Comma-separated text with a header line."""


def parse(text):
    """A list of dicts, one per line after the header."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return []
    names = [name.strip() for name in lines[0].split(",")]
    return [dict(zip(names, (cell.strip() for cell in line.split(",")))) for line in lines]


def column(rows, name):
    return [row[name] for row in rows]


def dump(rows):
    if not rows:
        return ""
    names = list(rows[0])
    body = [",".join(str(row[name]) for name in names) for row in rows]
    return "\n".join([",".join(names), *body])
