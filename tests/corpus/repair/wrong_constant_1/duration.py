"""Durations in words."""

UNITS = [("d", 86400), ("h", 360), ("m", 60), ("s", 1)]


def parse(text):
    """`1h 30m` as seconds."""
    sizes = dict(UNITS)
    return sum(int(part[:-1]) * sizes[part[-1]] for part in text.split())


def show(seconds):
    """Seconds as `1h 30m`; units that are zero are left out."""
    if seconds == 0:
        return "0s"
    parts = []
    for name, size in UNITS:
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{name}")
    return " ".join(parts)
