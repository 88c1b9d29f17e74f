"""A body of OTLP/HTTP as flat records: one log line or span each, with the attributes that can matter. Pure.

Everything is bounded here: bytes, records, attributes, lengths. Texts longer than a label are left out, and with them
prompts, outputs and arguments: what is not in a record can't be kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Literal

import msgspec

from agent_core.text import sound_json
from dashboard.hub.ingest.ndjson import MAX_DECODED_BYTES, Refused, inflated
from dashboard.hub.ingest.otlp import model
from dashboard.hub.ingest.otlp.protobuf import BadProtobuf, read_protobuf

Signal = Literal["logs", "traces", "metrics"]
Scalar = str | int | float | bool
Attributes = Mapping[str, Scalar]

MAX_RECORDS = 20_000
"""Of one body; those beyond are rejected and said so."""
MAX_OBJECTS = 1_500_000
"""Of a body in JSON, more than the largest has with attributes of ordinary length: each takes memory, however short."""
MAX_ATTRIBUTES = 256
MAX_TEXT = 256
MAX_NUMBER = 1e300
PROTOBUF = "application/x-protobuf"
JSON = "application/json"
Message = model.Traces | model.Logs | model.Metrics
_KINDS: dict[Signal, type[Message]] = {"logs": model.Logs, "traces": model.Traces, "metrics": model.Metrics}


class Record(msgspec.Struct, frozen=True):
    """A span, or a log line, which is an instant. Ids are "" where there are none; times are nanoseconds, 0 unknown."""

    signal: Literal["logs", "traces"]
    name: str
    trace: str
    span: str
    parent: str
    start_ns: int
    end_ns: int
    failed: bool
    resource: Attributes
    attributes: Attributes


class Body(msgspec.Struct, frozen=True):
    """`rejected`: records beyond the bound."""

    records: list[Record]
    rejected: int = 0


def read_body(body: bytes, content_type: str, encoding: str, signal: Signal) -> Body:
    """The records of a request. Raises `Refused`."""
    data = inflated(body, encoding, MAX_DECODED_BYTES)
    message = _message(data, content_type, _KINDS[signal])
    found = _spans(message) if isinstance(message, model.Traces) else _lines(message)
    records: list[Record] = []
    rejected = 0
    for record in found:
        if len(records) < MAX_RECORDS:
            records.append(record)
        else:
            rejected += 1
    return Body(records, rejected)


def _message(data: bytes, content_type: str, kind: type[Message]) -> Message:
    media = content_type.partition(";")[0].strip().lower()
    try:
        if media == PROTOBUF:
            return read_protobuf(data, kind)
        if media == JSON:
            if data.count(b"{") > MAX_OBJECTS:
                status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
                raise Refused(status, "too_many_objects", "the body has too many parts; send smaller batches")
            return _read_json(data, kind)
    except (BadProtobuf, msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        raise Refused(HTTPStatus.BAD_REQUEST, "bad_otlp", "the body is no OTLP message") from None
    message = f"send {PROTOBUF} or {JSON}"
    raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_media", message)


def _read_json(data: bytes, kind: type[Message]) -> Message:
    """One half of a character in a name or a text costs itself, not the batch."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        sound = sound_json(data)
        if sound == data:
            raise
        return msgspec.json.decode(sound, type=kind)


def _spans(message: model.Traces) -> Iterator[Record]:
    for group in message.resource_spans:
        resource = _attributes(group.resource.attributes if group.resource is not None else [])
        for scope in group.scope_spans:
            for span in scope.spans:
                yield Record(
                    "traces", span.name[:MAX_TEXT], _id(span.trace_id, 32), _id(span.span_id, 16),
                    _id(span.parent_span_id, 16), whole(span.start_time_unix_nano), whole(span.end_time_unix_nano),
                    span.status is not None and whole(span.status.code) == 2, resource, _attributes(span.attributes),
                )  # fmt: skip


def _lines(message: model.Logs | model.Metrics) -> Iterator[Record]:
    for group in message.resource_logs if isinstance(message, model.Logs) else []:
        resource = _attributes(group.resource.attributes if group.resource is not None else [])
        for scope in group.scope_logs:
            for line in scope.log_records:
                attributes = _attributes(line.attributes)
                at_ns = whole(line.time_unix_nano) or whole(line.observed_time_unix_nano)
                name = attributes.get("event.name") or line.event_name
                yield Record(
                    "logs", str(name)[:MAX_TEXT], _id(line.trace_id, 32), _id(line.span_id, 16), "", at_ns, at_ns,
                    False, resource, attributes,
                )  # fmt: skip


def _attributes(given: Sequence[model.KeyValue]) -> dict[str, Scalar]:
    """The last of a name."""
    found: dict[str, Scalar] = {}
    for one in given[:MAX_ATTRIBUTES]:
        value = None if one.value is None or len(one.key) > MAX_TEXT else _scalar(one.value)
        if value is not None:
            found[one.key] = value
    return found


def _scalar(value: model.AnyValue) -> Scalar | None:
    """A list stands for its first entry, which is how finish reasons come."""
    if value.array_value is not None:
        return _scalar(value.array_value.values[0]) if len(value.array_value.values) == 1 else None
    if value.string_value is not None:
        return value.string_value if len(value.string_value) <= MAX_TEXT else None
    for told in (value.bool_value, value.int_value, value.double_value):
        if told is not None:
            return told
    return None


def _id(text: str, digits: int) -> str:
    """An id in lower-case hexadecimal; "" for none, for zeros and for what is no id."""
    if len(text) != digits or not set(text) <= set("0123456789abcdefABCDEF") or not text.strip("0"):
        return ""
    return text.lower()


def whole(value: Scalar | None) -> int:
    """A number of 64 bits as it comes, 0 for what is none."""
    found = number(value)
    return 0 if found is None else int(found)


def number(value: Scalar | None) -> float | int | None:
    """What an attribute says as a number; None if it says none."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        text = value.strip()
        try:
            value = int(text) if text.lstrip("-").isdigit() and len(text) <= 20 else float(text)
        except ValueError:
            return None
    return value if abs(value) < MAX_NUMBER else None  # neither is what is no number
