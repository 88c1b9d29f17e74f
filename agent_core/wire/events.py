"""Server events: one struct per type, and the client's lenient reader.

Nothing that a service may add or leave out stops the reader: text that is no Unicode is mended (`text`; half a
character at a delta's end is kept for its other half), an unknown type, or one that does not fit, becomes an
UnknownEvent; the events that end a call are recognised as long as they are JSON objects of that type.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import msgspec
from msgspec import Raw

from agent_core.errors import WireError
from agent_core.text import as_text, sound_json
from agent_core.wire.codec import UNREADABLE
from agent_core.wire.error_forms import read_error
from agent_core.wire.generated.events import *  # noqa: F403
from agent_core.wire.generated.events import (
    EVENTS,
    ErrorEvent,
    KnownEvent,
    ResponseCompleted,
    ResponseFailed,
    ResponseIncomplete,
)
from agent_core.wire.generated.types import ErrorBody as ErrorBody
from agent_core.wire.generated.types import RefusedSteer as RefusedSteer
from agent_core.wire.generated.types import Steer as Steer
from agent_core.wire.generated.types import SteerError as SteerError
from agent_core.wire.head import Head, read_head
from agent_core.wire.response import Response
from agent_core.wire.salvage import salvage
from agent_core.wire.unknown import UnknownEvent as UnknownEvent

ServerEvent = KnownEvent | UnknownEvent

TERMINAL_TYPES = frozenset({"response.completed", "response.incomplete", "response.failed"})
"""After one of these nothing more comes for the response. `error` ends a call that has no response yet."""

_MUST_READ: dict[str, type[Any]] = {
    "response.completed": ResponseCompleted,
    "response.incomplete": ResponseIncomplete,
    "response.failed": ResponseFailed,
}


def event_type(event: ServerEvent) -> str:
    """The `type` on the wire."""
    return event.type if isinstance(event, UnknownEvent) else str(event.__struct_config__.tag)


def read_event(data: str | bytes) -> ServerEvent:
    """One frame or SSE data field. Raises WireError(`invalid_json`) for what is no JSON object, and nothing else.

    Undecoded fields (`item`, `part`, …) are views into `data` and keep it alive; `bytes(raw)` copies.
    """
    try:
        event: ServerEvent = _decoder().decode(data)
    except UNREADABLE:
        return _read_misfit(data)
    return event


@cache
def _decoder() -> msgspec.json.Decoder[Any]:
    # `error` comes in several forms, all of them rare: it takes the slow way
    return msgspec.json.Decoder(_union([kind for kind in EVENTS.values() if kind is not ErrorEvent]))


def _union(kinds: list[type[KnownEvent]]) -> Any:
    union: Any = kinds[0]
    for kind in kinds[1:]:
        union = union | kind
    return union


def _read_misfit(data: str | bytes) -> ServerEvent:
    data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if (mended := sound_json(data)) != data:
        whole: Any = read_event(mended)
        if isinstance(getattr(whole, "delta", None), str):
            # Half a character is kept: its other half may come with the next delta.
            whole = msgspec.structs.replace(whole, delta=_with_halves(data, whole.delta))
        event: ServerEvent = whole
        return event
    head = read_head(data)
    if not head.is_object:
        raise WireError("The event is not a JSON object.", code="invalid_json")
    if head.type == "error":
        return read_error(head)
    known = EVENTS.get(head.type)
    if known is not None and (saved := salvage(known, head)) is not None:
        return saved
    if head.type in _MUST_READ:
        last: ServerEvent = _MUST_READ[head.type](
            response=Response(),
            sequence_number=head.number("sequence_number") or 0,
            stream_id=head.text("stream_id"),
        )
        return last
    return _unknown(head, data)


def _with_halves(data: bytes, mended: str) -> str:
    """The delta of an event, with surrogates that stand alone left in it; `mended` where it can't be read so."""
    try:
        text = json.loads(as_text(data), strict=False)["delta"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return mended
    return text if isinstance(text, str) else mended


def _unknown(head: Head, data: str | bytes) -> UnknownEvent:
    raw = Raw(data.encode() if isinstance(data, str) else data)
    return UnknownEvent(head.type, raw, head.number("sequence_number") or 0, head.text("stream_id"))
