"""The parts of OTLP's messages that are read, by the names of its JSON form. Data only.

Numbers of 64 bits are strings in JSON and may be numbers; ids are hexadecimal text. What is not listed is passed over.
Source: opentelemetry-proto 1.x, `collector/*/v1` and "OTLP/HTTP JSON Protobuf Encoding".
"""

from __future__ import annotations

import msgspec

Int = int | str | float


class AnyValue(msgspec.Struct, rename="camel"):
    string_value: str | None = None
    bool_value: bool | None = None
    int_value: Int | None = None
    double_value: Int | None = None
    array_value: ArrayValue | None = None
    kvlist_value: msgspec.Raw = msgspec.Raw()
    bytes_value: msgspec.Raw = msgspec.Raw()


class ArrayValue(msgspec.Struct, rename="camel"):
    values: list[AnyValue] = []


class KeyValue(msgspec.Struct, rename="camel"):
    key: str = ""
    value: AnyValue | None = None


class Resource(msgspec.Struct, rename="camel"):
    attributes: list[KeyValue] = []


class Status(msgspec.Struct, rename="camel"):
    code: Int = 0


class Span(msgspec.Struct, rename="camel"):
    trace_id: str = ""
    span_id: str = ""
    parent_span_id: str = ""
    name: str = ""
    start_time_unix_nano: Int = 0
    end_time_unix_nano: Int = 0
    attributes: list[KeyValue] = []
    status: Status | None = None


class LogRecord(msgspec.Struct, rename="camel"):
    time_unix_nano: Int = 0
    observed_time_unix_nano: Int = 0
    event_name: str = ""
    attributes: list[KeyValue] = []
    trace_id: str = ""
    span_id: str = ""


class ScopeSpans(msgspec.Struct, rename="camel"):
    spans: list[Span] = []


class ScopeLogs(msgspec.Struct, rename="camel"):
    log_records: list[LogRecord] = []


class ResourceSpans(msgspec.Struct, rename="camel"):
    resource: Resource | None = None
    scope_spans: list[ScopeSpans] = []


class ResourceLogs(msgspec.Struct, rename="camel"):
    resource: Resource | None = None
    scope_logs: list[ScopeLogs] = []


class Traces(msgspec.Struct, rename="camel"):
    resource_spans: list[ResourceSpans] = []


class Logs(msgspec.Struct, rename="camel"):
    resource_logs: list[ResourceLogs] = []


class Metrics(msgspec.Struct, rename="camel"):
    """Taken and not kept: every emitter whose figures are shown tells them call by call."""

    resource_metrics: msgspec.Raw = msgspec.Raw(b"[]")
