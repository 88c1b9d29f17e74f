"""Events to bytes and back: one JSON object each. Pure.

Reading is lenient towards the future: an event type this version does not know is no error, it is skipped and counted
by the caller. Bytes that are no event at all raise `StateError`.
"""

from __future__ import annotations

import msgspec

from agent_core.errors import StateError
from agent_core.telemetry.events import AnyEvent, Event
from agent_core.text import to_json


class _Tag(msgspec.Struct):
    type: str


_decoder = msgspec.json.Decoder(AnyEvent)
_tag_decoder = msgspec.json.Decoder(_Tag)
_KNOWN_TYPES = frozenset(str(kind.__struct_config__.tag) for kind in AnyEvent.__args__)


def encode_event(event: Event) -> bytes:
    """One JSON object, no newline. Fields that are None are absent."""
    return to_json(event)


def decode_event(data: bytes | str) -> AnyEvent | None:
    """The event, or None if its type is unknown here. Raises `StateError` (`state_bad_event`) for anything else."""
    try:
        return _decoder.decode(data)
    except msgspec.DecodeError as error:
        try:
            kind = _tag_decoder.decode(data).type
        except msgspec.DecodeError:
            raise StateError(f"not a telemetry event: {error}", code="state_bad_event") from error
        if kind in _KNOWN_TYPES:
            raise StateError(f"telemetry event {kind} does not fit: {error}", code="state_bad_event") from error
        return None
