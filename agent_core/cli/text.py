"""Text for a terminal: untrusted strings made harmless, numbers made readable. Pure."""

from __future__ import annotations

import re

UNKNOWN = "–"

_CONTROL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clean(text: str) -> str:
    """`text` without escape sequences and control characters; newlines and tabs stay."""
    return _CONTROL.sub("", text.replace("\r\n", "\n"))


def one_line(text: str, width: int) -> str:
    """The first line of `text`, cleaned and cut to `width` characters."""
    line = clean(text).strip().split("\n", 1)[0].replace("\t", " ")
    return line if len(line) <= width else line[: max(0, width - 1)] + "…"


def duration(ms: float | None) -> str:
    """`4 ms` below a second, else `6.2 s`."""
    if ms is None:
        return UNKNOWN
    if ms < 9.95:
        return f"{ms:.1f} ms"
    return f"{ms:.0f} ms" if ms < 1000 else f"{ms / 1000:.2f} s"


def size(count: float | None) -> str:
    """Bytes with a unit, powers of 1000."""
    if count is None:
        return UNKNOWN
    for unit, scale in (("MB", 1_000_000), ("kB", 1_000)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count:.0f} B"


def number(count: float | None) -> str:
    return UNKNOWN if count is None else f"{count:,.0f}"
