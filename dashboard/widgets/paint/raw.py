"""Raw: the latest events as they came, one a line; only those on screen are written out. Pure."""

from __future__ import annotations

import msgspec

from agent_core.telemetry.codec import encode_event
from agent_core.telemetry.events import Event
from dashboard.state.format import number, one_line, time_of_day
from dashboard.widgets.spans import Lazy, Line, Look, Page, Role, Row, nothing

_COMMON = ("v", "source", "seq", "time", "mono_ns", "type", "session", "turn", "call", "connection", "lane")
_ROLES: dict[str, Role] = {
    "call": "inference", "tool": "tools", "approval": "approval", "connection": "accent", "service": "overhead",
    "turn": "strong", "session": "strong",
}  # fmt: skip


def paint(look: Look) -> Page:
    wanted = look.raw_types.lower()
    events = [event for event in look.state.raw if not wanted or wanted in _kind(event) or _belongs(event, wanted)]
    if not events:
        return nothing("No events yet." if not wanted else f"No event matches {look.raw_types!r}.")
    axis = look.state.rollup.axis

    def row(index: int) -> Row:
        event = events[index]
        at_ns = event.mono_ns - axis.mono_ns(event.source, 0)
        kind = _kind(event)
        subject = event.call or event.turn or event.connection or event.session or ""
        line: Line = (
            (f"{time_of_day(at_ns, look.zone, seconds=True)}.{at_ns // 1_000_000 % 1000:03d} ", "dim"),
            (f"{kind:<22} ", _ROLES.get(kind.partition(".")[0], "")),
            (f"{_short_id(subject):<16} ", "dim"),
            (_rest(event), ""),
        )
        whole = encode_event(event).decode()
        return Row(line, key=_key(event), detail=_wrapped(whole, look.width), copy=whole)

    fixed: tuple[Line, ...] = (
        (
            (f"the latest {number(len(events))} of {number(look.state.events)} events", "dim"),
            (f"  matching {look.raw_types}" if wanted else "", "accent"),
        ),
    )
    return Page(fixed=fixed, rows=Lazy([_key(event) for event in events], row), stick=True)


def _kind(event: Event) -> str:
    return str(type(event).__struct_config__.tag)


def _belongs(event: Event, wanted: str) -> bool:
    return any(wanted in (value or "").lower() for value in (event.turn, event.call, event.session, event.connection))


def _key(event: Event) -> str:
    return f"{event.source}:{event.seq}"


def _rest(event: Event) -> str:
    """The fields that only this kind has, as `name=value`."""
    fields = [
        f"{name}={_short(value)}"
        for name in event.__struct_fields__
        if name not in _COMMON and (value := getattr(event, name)) is not None
    ]
    return one_line(" ".join(fields), 400)


def _short_id(subject: str) -> str:
    subject = one_line(subject, 60)
    return subject if len(subject) <= 16 else subject[:15] + "…"


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _wrapped(text: str, width: int) -> tuple[Line, ...]:
    text = one_line(text, 2 * width)
    return ((text[:width], "dim"),), ((text[width:], "dim"),)
