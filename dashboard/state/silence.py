"""A source that is not heard of any more: what its running turns are called, and when they count as interrupted. Pure.

A source says every 15 s that it lives while something runs, so that three of these missing mean something.
"""

from __future__ import annotations

SILENT_S = 45.0
"""Not heard of for this long, a source's running turns say so."""
GONE_S = 600.0
"""Not heard of for this long, they count as interrupted at their last activity, until the source comes back."""


def silence(heard_ns: int, now_ns: int) -> float | None:
    """Seconds since a source was heard of; None below `SILENT_S`."""
    silent_s = (now_ns - heard_ns) / 1e9
    return silent_s if silent_s >= SILENT_S else None


def silent_words(silent_s: float) -> str:
    """`not heard of for 1 m`; hours above 90 minutes, days above two."""
    minutes = max(1, int(silent_s / 60 + 0.5))
    if minutes < 90:
        return f"not heard of for {minutes} m"
    hours = round(minutes / 60)
    return f"not heard of for {hours} h" if hours < 48 else f"not heard of for {round(hours / 24)} d"
