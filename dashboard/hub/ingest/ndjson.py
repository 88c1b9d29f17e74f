"""Reads what an agent pushes: NDJSON of one source, perhaps compressed, into events that can be folded. Pure.

Everything from outside is bounded here: bytes, lines, lengths, numbers, times. A batch is taken or refused as a whole;
`Refused` says why in a way that an agent can act on. Event types that this version does not know are passed over, so
that a newer agent can push to an older hub.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterator
from http import HTTPStatus

import msgspec

from agent_core.errors import LooplineError, Retry, StateError
from agent_core.telemetry.codec import decode_event
from agent_core.telemetry.events import SCHEMA_VERSION, CallCompleted, CallReported, Content, Event
from agent_core.telemetry.hub.privacy import strip_content
from agent_core.telemetry.rollup.axis import parse_time_ns
from agent_core.telemetry.rollup.suspect import REPORTED
from agent_core.telemetry.source import SOURCE_PATTERN
from agent_core.text import sound_json

MAX_BODY_BYTES = 8 << 20
"""As sent."""
MAX_DECODED_BYTES = 32 << 20
"""Decompressed: a small body that grows beyond it is refused before it is read to its end."""
MAX_EVENTS = 10_000
MAX_LINE_BYTES = 64 << 10
MAX_TEXT = 256
MAX_COUNT = 1 << 40
MAX_FLOAT = 1e10
"""Of any duration in ms, age in s, rate or cost."""
MAX_REPORTED = (1 << 63) - 1
"""Of a figure that a provider told."""
MAX_ENTRIES = 2_000
MAX_SEQ = 1 << 53
MAX_STEP = 100_000
"""Sequences that may be left out between two events."""
MAX_MONO_NS = 1 << 62
_EARLIEST_NS = parse_time_ns("2020-01-01T00:00:00Z")
_LATEST_NS = parse_time_ns("2100-01-01T00:00:00Z")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_INFLATE_STEP = 1 << 20
_STAMPS = Event.__struct_fields__.index("mono_ns") + 1
"""Fields that have limits of their own come first in every event."""
_REST = {
    kind: [name for name in kind.__struct_fields__[_STAMPS:] if name not in REPORTED]
    for kind in (CallCompleted, CallReported)
}
"""Fields of a call's end that are no figures."""


class Refused(LooplineError):
    """A request that is not taken. `status` is HTTP's; `retry_after_s` None: the same again gives the same answer."""

    def __init__(
        self,
        status: HTTPStatus,
        code: str,
        message: str,
        *,
        retry_after_s: float | None = None,
        acked: int | None = None,
    ) -> None:
        super().__init__(message, code=code)
        self.status, self.retry_after_s, self.acked = status, retry_after_s, acked
        self.retry = Retry.NEVER if retry_after_s is None else Retry.BACKOFF


class Batch(msgspec.Struct, frozen=True):
    """Events of one source in ascending sequence; `last_seq` includes those that were passed over.

    `first_seq` 0: that of the first event. `widest`: the largest step from one sequence to the next.
    """

    source: str
    events: list[Event]
    last_seq: int
    passed_over: int
    first_seq: int = 0
    widest: int = 1


class _Head(msgspec.Struct):
    v: int = 0
    source: str = ""
    seq: int = 0


_head = msgspec.json.Decoder(_Head)


def read_batch(body: bytes, encoding: str) -> Batch:
    """The batch in a request body; `encoding` is its Content-Encoding, "" for none. Raises `Refused`."""
    source, first_seq, last_seq, widest, passed_over = "", 0, 0, 1, 0
    events: list[Event] = []
    for number, line in enumerate(_lines(inflated(body, encoding, MAX_DECODED_BYTES)), 1):
        if number > MAX_EVENTS:
            raise _too_large(f"more than {MAX_EVENTS} events; send smaller batches")
        head, event = _read(line, number)
        source = source or head.source
        if head.source != source:
            raise _bad("mixed_sources", number, "a batch holds events of one source")
        if head.seq <= last_seq:
            raise _bad("wrong_sequence", number, f"sequence {head.seq} after {last_seq}; it must ascend")
        widest = max(widest, head.seq - last_seq) if last_seq else 1
        first_seq = first_seq or head.seq
        last_seq = head.seq
        if event is None:
            passed_over += 1
        else:
            events.append(event)
    if not source:
        raise Refused(HTTPStatus.BAD_REQUEST, "empty_batch", "no events in the body")
    return Batch(source, events, last_seq, passed_over, first_seq, widest)


def check_steps(batch: Batch, known: int, after: int | None) -> None:
    """Raises `Refused` for a jump in the sequence: what was not offered is never acknowledged.

    Some sequences are left out of what agents push, so small steps are none. `known`: the last that the hub has of the
    source. `after`: the last that was acknowledged to who pushes, which says that nothing between was lost; None: it
    does not say.
    """
    first = batch.first_seq or (batch.events[0].seq if batch.events else batch.last_seq)
    step = max(batch.widest, first - max(known, after or 0))
    if step > MAX_STEP:
        message = f"a step of {step} in the sequence of a source, at most {MAX_STEP} is taken; it was at {known}"
        raise Refused(HTTPStatus.CONFLICT, "sequence_jump", message)


def _read(line: bytes, number: int) -> tuple[_Head, Event | None]:
    if len(line) > MAX_LINE_BYTES:
        raise _too_large(f"line {number}: longer than {MAX_LINE_BYTES} bytes")
    line = sound_json(line)
    try:
        head = _head.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _bad("bad_event", number, "not an event") from None
    if head.v > SCHEMA_VERSION:
        message = f"line {number}: schema {head.v}; this hub takes up to {SCHEMA_VERSION}, update it or the agent"
        raise Refused(HTTPStatus.CONFLICT, "schema_newer", message)
    if head.v < 1 or not 1 <= head.seq <= MAX_SEQ or not SOURCE_PATTERN.match(head.source):
        raise _bad("bad_event", number, "v, source and seq must identify it")
    try:
        event = decode_event(line)
    except (StateError, UnicodeDecodeError, RecursionError):
        raise _bad("bad_event", number, "its fields do not fit its type") from None
    if event is None:
        return head, None
    if isinstance(event, Content):
        message = f"line {number}: this hub keeps no content of sessions; leave events of type `content` out"
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "content_refused", message)
    problem = problem_of(event)
    if problem:
        raise _bad("bad_event", number, problem)
    return head, strip_content(event)


def problem_of(event: Event) -> str:
    """What makes an event's values unfit to be folded; "" if nothing does."""
    if not 0 <= event.mono_ns <= MAX_MONO_NS:
        return "mono_ns out of range"
    try:
        if not _EARLIEST_NS <= parse_time_ns(event.time) < _LATEST_NS:
            return "time out of range"
    except (ValueError, TypeError, OverflowError):
        return "time is not RFC 3339 with a zone"
    values = msgspec.structs.astuple(event)[_STAMPS:]
    if isinstance(event, CallCompleted | CallReported):
        figures = all(map(_fits_as_reported, (getattr(event, name) for name in REPORTED)))
        values = tuple(getattr(event, name) for name in _REST[type(event)])
        return "" if figures and all(map(_fits, values)) else "a value is out of range"
    return "" if all(map(_fits, values)) else "a value is out of range"


def _fits_as_reported(value: float | None) -> bool:
    """A figure that a provider told: kept however wrong it looks (it is marked then), if it can be stored at all."""
    return value is None or (abs(value) <= MAX_REPORTED and math.isfinite(value))


def _fits(value: object) -> bool:
    if value is None:
        return True
    if isinstance(value, str):
        return len(value) <= MAX_TEXT and not _CONTROL.search(value)
    if isinstance(value, int):
        return -MAX_COUNT <= value <= MAX_COUNT
    if isinstance(value, float):
        return -MAX_FLOAT <= value <= MAX_FLOAT
    if isinstance(value, dict):
        return len(value) <= MAX_ENTRIES and all(_fits(part) and _fits_key(key) for key, part in value.items())
    return False


def _fits_key(key: object) -> bool:
    return len(key) <= 64 if isinstance(key, str) else isinstance(key, int) and abs(key) <= 1 << 31


def _lines(data: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        line = data[start:end].strip()
        if line:
            yield line
        start = end + 1


def inflated(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """A body without its Content-Encoding ("" for none). Raises `Refused` before it grows beyond `max_bytes`."""
    if len(body) > MAX_BODY_BYTES:
        raise _too_large(f"the body is longer than {MAX_BODY_BYTES} bytes")
    match encoding.strip().lower():
        case "" | "identity":
            return body
        case "gzip" | "x-gzip":
            window = 31
        case "deflate":
            window = 15
        case _:
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding", "use gzip or no Content-Encoding")
    inflate, parts, size = zlib.decompressobj(window), [], 0
    try:
        data = body
        while data and not inflate.eof:
            part = inflate.decompress(data, _INFLATE_STEP)
            size += len(part)
            if size > max_bytes:
                raise _too_large(f"the body grows beyond {max_bytes} bytes")
            parts.append(part)
            data = inflate.unconsumed_tail
        parts.append(inflate.flush())
    except zlib.error:
        raise Refused(HTTPStatus.BAD_REQUEST, "bad_compression", "the body is not what its encoding says") from None
    if not inflate.eof or inflate.unused_data:
        raise Refused(HTTPStatus.BAD_REQUEST, "bad_compression", "the compressed body is cut off or has a tail")
    return b"".join(parts)


def _bad(code: str, number: int, message: str) -> Refused:
    return Refused(HTTPStatus.BAD_REQUEST, code, f"line {number}: {message}")


def _too_large(message: str) -> Refused:
    return Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "batch_too_large", message)
