"""Numbers and foreign text as people read them: one place for the command line and both dashboards. Pure.

Every number comes with its unit; what is not known is `–`, never 0. Text from models, tools, files and errors goes
through `clean` or `one_line` before it reaches a screen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from functools import cache

UNKNOWN = "–"
SUSPECT = "(?)"
"""Behind a figure that is shown as it was reported, though it cannot be right."""

_ESCAPES = (
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|(?:\x1b[\]P_^X]|[\x9d\x90\x9f\x9e\x98])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
"""C0 and C1 without newline and tab, the marks that turn the direction of text around, and what has no width. What
joins letters (U+200C, U+200D) stays: scripts and emoji need it."""
_SURROGATES = "[\ud800-\udfff]"
_HIDDEN = frozenset("\u200b\u200c\u200d\u2060\u00ad\u3164\uffa0\u115f\u1160")
"""Printable by name, yet nothing to see."""

REUSE_WORDS = {
    "first": "first",
    "reused": "⟲ reused",
    "full_resend": "↑ full",
    "not_found": "↑ not found",
    "evicted": "↑ evicted",
    "rotated": "↑ rotated",
    "reconnected": "↯ reconnected",
}
"""Reuse outcomes with their marks; the same everywhere."""

STAGE_WORDS = {
    "inference": "inference",
    "client_tool": "tools",
    "api_overhead": "overhead",
    "approval": "approval",
    "client_other": "other",
}
"""The stages of a turn in the order in which they are listed, with the words people read."""


def clean(text: str) -> str:
    """`text` without escape sequences, control characters and direction marks; newlines and tabs stay. Halves of
    characters, as names of files can hold, become U+FFFD."""
    if text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable():
        return text
    escapes, controls, surrogates = _patterns()
    return surrogates.sub("\ufffd", controls.sub("", escapes.sub("", text.replace("\r\n", "\n"))))


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Escapes, controls and surrogates; compiled when something is to be cleaned, as most starts have nothing."""
    return re.compile(_ESCAPES), re.compile(_CONTROLS), re.compile(_SURROGATES)


def escaped_json(line: str) -> str:
    """A text of JSON with the same meaning that a terminal may show: what `clean` removes is escaped (`\\u009b`)."""
    if line.isascii() and "\x7f" not in line:
        return line
    return _patterns()[1].sub(lambda match: _json_escape(match.group()), line)


def escaped_json_bytes(data: bytes) -> bytes:
    """`escaped_json` of a text of JSON in UTF-8."""
    return data if data.isascii() and b"\x7f" not in data else escaped_json(data.decode("utf-8")).encode("utf-8")


def _json_escape(char: str) -> str:
    if char in "\r\x1e":  # between values, never inside a string of JSON
        return char
    return "".join(f"\\u{int.from_bytes(pair, 'big'):04x}" for pair in _pairs(char.encode("utf-16-be")))


def _pairs(data: bytes) -> list[bytes]:
    return [data[at : at + 2] for at in range(0, len(data), 2)]


def one_line(text: str, limit: int = 400) -> str:
    """`text` cleaned and on one line, at most `limit` characters with an ellipsis for the rest."""
    line = " ".join(clean(text[: 4 * limit + 64]).split())
    return line if len(line) <= limit else line[: max(0, limit - 1)] + "…"


def duration(ms: float | None) -> str:
    """`4.1 ms` below ten, `410 ms` below a second, `6.20 s` below a minute, then `3 min 07 s` and `2 h 05 min`."""
    if ms is None:
        return UNKNOWN
    if ms < 0:  # nothing took so long, but it may be what was reported
        return f"-{duration(-ms)}"
    if ms < 9.95:
        return f"{ms:.1f} ms" if ms else "0 ms"
    if ms < 999.5:
        return f"{ms:.0f} ms"
    if ms < 59_995:
        return f"{ms / 1000:.2f} s"
    seconds = round(ms / 1000)
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02d} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min"


def size(count: float | None) -> str:
    """Bytes, powers of 1000: `812 B`, `9.8 kB`, `1.2 MB`."""
    if count is None:
        return UNKNOWN
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(count) >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count:.0f} B"


def number(count: float | None) -> str:
    """A count with thousands separated: `12,310`."""
    return UNKNOWN if count is None else f"{count:,.0f}"


def short_number(count: float | None) -> str:
    """A count for narrow places: `812`, `12.3k`, `4.1M`."""
    if count is None:
        return UNKNOWN
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e4)):
        if abs(count) >= scale:
            return f"{count / (1e3 if unit == 'k' else scale):.1f}{unit}"
    return f"{count:,.0f}"


def percent(share: float | None) -> str:
    """A share of 1 as a whole percentage: `94 %`. Only all of it is 100 %, only none of it 0 %."""
    if share is None:
        return UNKNOWN
    if 0.995 <= share < 1:
        return "99 %"
    if 0 < share < 0.005:
        return "<1 %"
    return f"{share * 100:.0f} %"


def rate(tokens_per_s: float | None, *, estimated: bool = False) -> str:
    """`812 tok/s`, `9.4 tok/s` below ten; an estimate of what still streams is marked `≈`."""
    if tokens_per_s is None:
        return UNKNOWN
    digits = f"{tokens_per_s:.1f}" if 0 < tokens_per_s < 9.95 else f"{tokens_per_s:,.0f}"
    return f"{'≈' if estimated else ''}{digits} tok/s"


def money(usd: float | None) -> str:
    """`$1.84`; below ten cents with four digits (`$0.0310`), below a hundredth of a cent `<$0.0001`."""
    if usd is None:
        return UNKNOWN
    if 0 < usd < 0.0001:
        return "<$0.0001"
    return f"${usd:,.4f}" if 0 < usd < 0.1 else f"${usd:,.2f}"


def age(seconds: float | None) -> str:
    """A running time: `00:41:12`, with days before it above a day."""
    if seconds is None:
        return UNKNOWN
    whole = max(0, int(seconds))
    days, rest = divmod(whole, 86_400)
    clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days} d {clock}" if days else clock


def countdown(seconds: float | None) -> str:
    """Time left: `13:48`, `1:02:03` above an hour, `due` when it is over."""
    if seconds is None:
        return UNKNOWN
    whole = int(seconds)
    if whole <= 0:
        return "due"
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60:02d}:{rest % 60:02d}"


def time_of_day(wall_ns: int | None, zone: tzinfo = UTC, *, seconds: bool = False) -> str:
    """`14:02`, or `14:02:07`, in `zone`."""
    if wall_ns is None:
        return UNKNOWN
    return datetime.fromtimestamp(wall_ns / 1e9, zone).strftime("%H:%M:%S" if seconds else "%H:%M")


def date_and_time(wall_ns: int | None, zone: tzinfo = UTC) -> str:
    """`2026-11-30 14:02:07` in `zone`."""
    if wall_ns is None:
        return UNKNOWN
    return datetime.fromtimestamp(wall_ns / 1e9, zone).strftime("%Y-%m-%d %H:%M:%S")


def reuse_word(reuse: str | None) -> str:
    """A reuse outcome with its mark; one this version does not know as its own (cleaned) name."""
    return UNKNOWN if reuse is None else REUSE_WORDS.get(reuse) or one_line(reuse, 24)


def cached(tokens: int | None, share: float | None) -> str:
    """`2,351 (87 %)`: cached input tokens and their share of the input; without a share the count alone."""
    if tokens is None:
        return UNKNOWN
    return f"{tokens:,}" if share is None else f"{tokens:,} ({percent(share)})"


def marked(text: str, *, suspect: bool) -> str:
    """A figure; one that cannot be right says so: `3,000 (?)`."""
    return f"{text} {SUSPECT}" if suspect else text


def figure_names(names: Iterable[str]) -> str:
    """Names of figures in words: `cached tokens, ttft`."""
    return ", ".join(name.removesuffix("_ms").removesuffix("_usd").replace("_", " ") for name in names)


def shown(text: str) -> str:
    """Foreign text of several lines for who draws it as it comes: what `clean` would leave out is spelled out, so that
    a difference hides nothing; tabs, newlines and what joins letters stay."""
    if text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable():
        return text
    _, controls, _ = _patterns()
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\r\n", "\n")
    return controls.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def visible(text: str) -> str:
    """`text` with every control character spelled out (`\\x1b`), newlines kept: for what a person is asked to allow,
    where leaving something out would hide it."""
    return "".join(
        char if char == "\n" or (char.isprintable() and char not in _HIDDEN) else char.encode("unicode_escape").decode()
        for char in text.replace("\r\n", "\n")
    )
