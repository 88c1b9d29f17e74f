"""Reads the protobuf form of OTLP into `model`. Pure; a few message types, not a protobuf library.

The field numbers are those of opentelemetry-proto. Every step is bounded: the depth of nesting, the number of fields,
and no length is believed beyond the bytes that are there. A library would decode contents that are thrown away, into
memory that nobody bounds.
"""

from __future__ import annotations

import struct
from typing import Any, TypeVar

import msgspec

from dashboard.hub.ingest.otlp import model

MAX_DEPTH = 16
MAX_FIELDS = 2_000_000
"""Of one body; a body of the largest size has fewer unless it is made to."""

Message = TypeVar("Message", bound=model.Traces | model.Logs | model.Metrics)


class BadProtobuf(ValueError):
    """The bytes are no message."""


_TABLES: dict[type[msgspec.Struct], dict[int, tuple[str, object, bool]]] = {
    model.Traces: {1: ("resource_spans", model.ResourceSpans, True)},
    model.ResourceSpans: {1: ("resource", model.Resource, False), 2: ("scope_spans", model.ScopeSpans, True)},
    model.ScopeSpans: {2: ("spans", model.Span, True)},
    model.Span: {
        1: ("trace_id", "hex", False),
        2: ("span_id", "hex", False),
        4: ("parent_span_id", "hex", False),
        5: ("name", "text", False),
        7: ("start_time_unix_nano", "fixed64", False),
        8: ("end_time_unix_nano", "fixed64", False),
        9: ("attributes", model.KeyValue, True),
        15: ("status", model.Status, False),
    },
    model.Status: {3: ("code", "varint", False)},
    model.Logs: {1: ("resource_logs", model.ResourceLogs, True)},
    model.ResourceLogs: {1: ("resource", model.Resource, False), 2: ("scope_logs", model.ScopeLogs, True)},
    model.ScopeLogs: {2: ("log_records", model.LogRecord, True)},
    model.LogRecord: {
        1: ("time_unix_nano", "fixed64", False),
        6: ("attributes", model.KeyValue, True),
        9: ("trace_id", "hex", False),
        10: ("span_id", "hex", False),
        11: ("observed_time_unix_nano", "fixed64", False),
        12: ("event_name", "text", False),
    },
    model.Metrics: {},
    model.Resource: {1: ("attributes", model.KeyValue, True)},
    model.KeyValue: {1: ("key", "text", False), 2: ("value", model.AnyValue, False)},
    model.AnyValue: {
        1: ("string_value", "text", False),
        2: ("bool_value", "bool", False),
        3: ("int_value", "int64", False),
        4: ("double_value", "double", False),
        5: ("array_value", model.ArrayValue, False),
    },
    model.ArrayValue: {1: ("values", model.AnyValue, True)},
}
"""Field number: (attribute, kind, repeated). A kind that is a type is a message."""


def read_protobuf(body: bytes, kind: type[Message]) -> Message:
    """The message in a body. Raises `BadProtobuf`."""
    reader = _Reader(body)
    found = reader.message(kind, 0, len(body), 0)
    assert isinstance(found, kind)
    return found


class _Reader:
    def __init__(self, body: bytes) -> None:
        self._body, self._fields = body, 0

    def message(self, kind: type[msgspec.Struct], at: int, end: int, depth: int) -> msgspec.Struct:
        if depth > MAX_DEPTH:
            raise BadProtobuf("nested too deep")
        table, made = _TABLES[kind], kind()
        while at < end:
            self._fields += 1
            if self._fields > MAX_FIELDS:
                raise BadProtobuf("too many fields")
            tag, at = self._varint(at, end)
            start, at = at, self._past(tag & 7, at, end)
            known = table.get(tag >> 3)
            if known is None:
                continue
            name, what, repeated = known
            if isinstance(what, type):
                if tag & 7 != 2:
                    raise BadProtobuf("a message of the wrong wire type")
                _, inner = self._varint(start, at)
                value: Any = self.message(what, inner, at, depth + 1)
            else:
                value = self._scalar(str(what), tag & 7, start, at)
            if repeated:
                getattr(made, name).append(value)
            else:
                setattr(made, name, value)
        return made

    def _scalar(self, what: str, wire: int, at: int, end: int) -> Any:
        if wire != {"fixed64": 1, "double": 1, "text": 2, "hex": 2}.get(what, 0):
            raise BadProtobuf("a field of the wrong wire type")
        if what == "fixed64":
            return int.from_bytes(self._body[at:end], "little")
        if what == "double":
            return struct.unpack("<d", self._body[at:end])[0]
        number, inner = self._varint(at, end)
        if what in ("text", "hex"):
            data = self._body[inner:end]
            return data.hex() if what == "hex" else data.decode("utf-8", "replace")
        if what == "bool":
            return bool(number)
        return number - (1 << 64) if what == "int64" and number >> 63 else number

    def _past(self, wire: int, at: int, end: int) -> int:
        """The position behind a value."""
        if wire == 0:
            return self._varint(at, end)[1]
        if wire == 2:
            length, at = self._varint(at, end)
            at += length
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
        else:
            raise BadProtobuf("an unknown wire type")
        if at > end:
            raise BadProtobuf("a field longer than what is there")
        return at

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        value = shift = 0
        while at < end and shift < 70:
            byte = self._body[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & ((1 << 64) - 1), at
            shift += 7
        raise BadProtobuf("a number that does not end")
