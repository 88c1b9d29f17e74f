"""How long a peer asks to wait before the next try, by the headers of its refusal. Pure.

In this order: `retry-after-ms`; `retry-after` (RFC 9110, section 10.2.3: seconds or a date), with a fraction or as a
duration too; where neither says anything, when the limit that was hit is lifted (`x-ratelimit-reset` and its kin). What
can't be read counts as not sent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

MOST_S: Final = 366 * 86400.0
"""A pause that is longer is not believed: a clock or a unit is wrong."""

_SECONDS_FROM: Final = 1e9
_MILLISECONDS_FROM: Final = 1e11
"""Numbers above are a time since 1970 in that unit, not a pause."""

_UNITS_S: Final = {"ms": 0.001, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION: Final = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|sec|s|min|m|h|d))+", re.ASCII)
_PIECE: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|sec|s|min|m|h|d)", re.ASCII)
_NUMBER: Final = re.compile(r"\d+(?:\.\d*)?|\.\d+", re.ASCII)
_LONGEST: Final = 128

_RESET: Final = re.compile(r"(?:x-|anthropic-)?ratelimit-(?:(?P<front>.+)-)?reset(?:-(?P<back>.+))?")
"""IETF's draft, GitHub, OpenRouter: `ratelimit-reset`; OpenAI, Groq: `-reset-tokens`; Anthropic: `-tokens-reset`."""

LIMIT_STATUS: Final = frozenset({429, 503, 529})
"""With other statuses the times of limits have nothing to do with the refusal."""


def pause_s(headers: Mapping[str, str], now: datetime | None = None, *, status: int | None = None) -> float | None:
    """Seconds to wait, at most `MOST_S`; None where the headers don't say. Names are in lower case.

    Dates are told from the peer's own `date`, so that a clock that is wrong costs nothing, else from `now` (aware);
    without both they say nothing. A date that is over is 0. `status`: of the refusal, None if it has none.
    """
    now = _date(headers.get("date", "")) or now
    told = _number(headers.get("retry-after-ms", ""))
    asked = told * 0.001 if told is not None and told * 0.001 <= MOST_S else None
    for name in ("retry-after", "x-ratelimit-retry-after"):
        asked = _moment(headers.get(name, ""), now) if asked is None else asked
    if asked is None and status in LIMIT_STATUS:
        asked = _lifted(headers, now)
    return asked


def _lifted(headers: Mapping[str, str], now: datetime | None) -> float | None:
    """Until the limits are lifted of which nothing remains; a limit that says nothing of that was hit only if no
    other was."""
    hit: list[float] = []
    unsaid: list[float] = []
    for name, value in headers.items():
        found = _RESET.fullmatch(name)
        pause = _moment(value, now) if found else None
        if found is None or pause is None:
            continue
        remaining = _number(headers.get(_remaining(name), ""))
        if remaining == 0:
            hit.append(pause)
        elif remaining is None:
            unsaid.append(pause)
    return max(hit or unsaid, default=None)


def _remaining(name: str) -> str:
    return name.replace("reset", "remaining")


def _moment(text: str, now: datetime | None) -> float | None:
    """Seconds by a number, a duration, a date or a time since 1970."""
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    value = _number(text)
    if value is not None and value >= _SECONDS_FROM:
        since = value / 1000 if value >= _MILLISECONDS_FROM else value
        return None if now is None else _bounded(max(0.0, since - now.timestamp()))
    if value is None and _DURATION.fullmatch(text.lower()):
        value = sum(float(amount) * _UNITS_S[unit] for amount, unit in _PIECE.findall(text.lower()))
    if value is not None:
        return _bounded(value)
    until = _date(text) if now is not None else None
    if until is not None and now is not None:
        return _bounded(max(0.0, (until - now).total_seconds()))
    # A header that was sent twice comes joined by commas, which dates have too.
    told = [_moment(part, now) for part in text.split(",")] if "," in text else []
    return max((pause for pause in told if pause is not None), default=None)


def _number(text: str) -> float | None:
    """A number that is none below 0, and no sign, exponent or word of a number."""
    text = text.strip()
    return float(text) if len(text) <= _LONGEST and _NUMBER.fullmatch(text) else None


def _bounded(value: float) -> float | None:
    return value if math.isfinite(value) and value <= MOST_S else None


def _date(text: str) -> datetime | None:
    """An HTTP date in its three forms, or RFC 3339."""
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    try:
        found = datetime.fromisoformat(text) if text[:4].isdigit() else parsedate_to_datetime(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
