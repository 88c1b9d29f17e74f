"""What all pages share: rendering, the templates' helpers, the time range and filters in the URL."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from dashboard.hub.people.auth import Identity
from dashboard.state import format as fmt
from dashboard.state.silence import silent_words
from dashboard.web.access import session_cookie
from dashboard.web.assets import Assets
from dashboard.web.parts import parts_of

RANGES: dict[str, tuple[str, int]] = {
    "1h": ("last hour", 3_600),
    "6h": ("last 6 hours", 6 * 3_600),
    "24h": ("last 24 hours", 86_400),
    "7d": ("last 7 days", 7 * 86_400),
    "30d": ("last 30 days", 30 * 86_400),
    "90d": ("last 90 days", 90 * 86_400),
    "400d": ("last 400 days", 400 * 86_400),
}
MAX_SPAN_S = 400 * 86_400
THEMES = ("light", "dark")
THEME_COOKIE = "loopline_theme"


class TimeRange(msgspec.Struct, frozen=True):
    """[since, until) in seconds since the epoch. `name` is a key of `RANGES` for one that moves along, else ""."""

    name: str
    since_s: int
    until_s: int

    @property
    def text(self) -> str:
        if self.name:
            return RANGES[self.name][0]
        return f"{fmt.date_and_time(self.since_s * 10**9)} to {fmt.date_and_time(self.until_s * 10**9)} UTC"

    @property
    def query(self) -> dict[str, str]:
        """As URL parameters."""
        if self.name:
            return {"range": self.name}
        return {"since": _iso(self.since_s), "until": _iso(self.until_s)}


def time_range(request: Request, now_s: int, default: str = "24h") -> TimeRange:
    """The range that a URL asks for: `range=24h`, or `since` and `until` as RFC 3339. What can't be is the default."""
    asked = request.query_params
    since, until = _seconds(asked.get("since")), _seconds(asked.get("until"))
    if since is not None:
        end = min(until if until is not None else now_s, now_s + 86_400)
        if since < end:
            return TimeRange("", max(since, end - MAX_SPAN_S), end)
    name = asked.get("range", default)
    name = name if name in RANGES else default
    return TimeRange(name, now_s - RANGES[name][1], now_s + 1)


def filters(request: Request, names: tuple[str, ...]) -> dict[str, str]:
    """The named parameters of the URL, cleaned as what they are compared with is; absent ones are ""."""
    return {name: fmt.one_line(request.query_params.get(name, ""), 120) for name in names}


def link(path: str, **parameters: str) -> str:
    """A path with those parameters that are not empty."""
    query = urlencode({name: value for name, value in parameters.items() if value})
    return f"{path}?{query}" if query else path


def turn_link(turn: str) -> str:
    return f"/turns/{quote(turn, safe='')}"


def page(
    request: Request, template: str, identity: Identity | None = None, status: int = 200, **context: Any
) -> Response:
    """A rendered page."""
    parts = parts_of(request)
    theme = request.cookies.get(THEME_COOKIE, "")
    cookie = session_cookie(request, parts)
    shared = {
        "identity": identity,
        "csrf": parts.auth.csrf(cookie) if cookie and identity is not None and identity.session else "",
        "theme": theme if theme in THEMES else "",
        "path": request.url.path,
        "parts": parts,
        "now_ms": parts.hub.now_ns() // 1_000_000,
        "cursor": parts.hub.live.cursor,
    }
    body = parts.pages.get_template(template).render({**shared, **context})
    return Response(body, status, media_type="text/html; charset=utf-8")


def environment(assets: Assets) -> Environment:
    """Templates: everything is escaped, and a name that is not there is an error."""
    pages = Environment(
        loader=FileSystemLoader(Path(__file__).parent.parent / "templates"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.globals.update(asset=assets.url, fmt=fmt, link=link, turn_link=turn_link, silent_words=silent_words)
    pages.filters.update(clock=_clock, number=fmt.number, plain=fmt.one_line, combine=_combine)
    return pages


def _combine(parameters: dict[str, str], others: dict[str, str]) -> dict[str, str]:
    return {**others, **parameters}


def _shown(value: object) -> object:
    """The one exit of what a page says: text of others is cleaned, whether or not its place asked for it."""
    return fmt.clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _clock(at_ms: int) -> Markup:
    """A time in UTC, which a script turns into the reader's own."""
    text = fmt.date_and_time(at_ms * 1_000_000)
    stamp = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds")
    return Markup('<time datetime="{}">{} UTC</time>').format(stamp, text)


def _iso(at_s: int) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat().replace("+00:00", "Z")


def _seconds(text: str | None) -> int | None:
    try:
        at = datetime.fromisoformat(text or "")
        at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
        seconds = int(at.timestamp())
    except (ValueError, OverflowError):
        return None
    return seconds if 0 <= seconds < 4_102_444_800 else None
