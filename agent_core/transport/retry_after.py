"""The `Retry-After` header: seconds, or none that we can use."""

from __future__ import annotations


def retry_after_s(value: str | None) -> float | None:
    """Seconds that `value` tells to wait, None where it tells nothing usable (absent, a date, negative, not a
    number)."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
