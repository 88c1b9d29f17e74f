"""Records to reports: what an emitter's table says of a record becomes an event of ours, and nothing beyond. Pure.

A report is whole in itself and has a key, so that it can come late, again, or in another order, and count once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, get_args

import msgspec

from agent_core.clock import rfc3339
from agent_core.telemetry import events as ev
from agent_core.telemetry.hub.privacy import strip_content
from dashboard.hub.ingest.ndjson import problem_of
from dashboard.hub.ingest.otlp.emitters import Emitter, Kind, Rule, emitter_of
from dashboard.hub.ingest.otlp.records import Attributes, Record, Scalar, number
from dashboard.hub.store.records import EXPORTER
from dashboard.state.format import one_line

MAX_LABEL = 80
UNITS = {"": 1.0, "s": 1000.0}
_INTEGERS = ("input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
_TEXTS = ("model", "response_id", "finish_reason", "error_code")
_FLOATS = ("ttft_ms", "duration_ms", "cost_usd")
_INSTANCE = ("service.name", "service.namespace", "service.instance.id", "process.pid")
"""Codex names its host in logs and not in traces, so that a host does not tell processes apart; tokens do."""
_PROJECT = ("loopline.project", "project", "service.namespace")
_ONE_ID = 200


class Exporter(msgspec.Struct, frozen=True):
    """One process that exports: its source's name here, and what it calls itself (`name/version`)."""

    source: str
    client: str
    project: str | None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """`events` have their instants and ids, `turn` apart where `by_time` says that it is the one that ran then."""

    kind: Kind
    key: str
    at_ns: int
    session: str | None
    events: tuple[ev.Event, ...] = ()
    turn: str | None = None
    by_time: bool = False
    transport: str | None = None
    """Of a `request`."""


class Read(msgspec.Struct):
    """`rejected`: records of a known kind whose values can't be."""

    reports: dict[Exporter, list[Report]] = msgspec.field(default_factory=dict)
    rejected: int = 0


def read_reports(records: Iterable[Record]) -> Read:
    """Each exporter's reports by time; records that no rule knows tell of nothing that is shown."""
    read = Read()
    exporters: dict[int, Exporter] = {}
    for record in records:
        emitter = emitter_of(str(record.resource.get("service.name", "")))
        rule = next((rule for rule in emitter.rules if _fits(rule, record)), None)
        if rule is None:
            continue
        exporter = exporters.get(id(record.resource)) or exporter_of(record.resource)
        exporters[id(record.resource)] = exporter
        report = _report(emitter, rule, record, exporter)
        if report is None:
            read.rejected += 1
        else:
            read.reports.setdefault(exporter, []).append(report)
    for found in read.reports.values():
        found.sort(key=_at_ns)
    return read


def exporter_of(resource: Attributes) -> Exporter:
    instance = "\n".join(str(resource.get(name, "")) for name in _INSTANCE)
    source = EXPORTER + hashlib.blake2b(instance.encode("utf-8", "replace"), digest_size=8).hexdigest()
    client = _label(resource.get("service.name")) or "unknown"
    version = _label(resource.get("service.version"))
    project = next((label for name in _PROJECT if (label := _label(resource.get(name)))), None)
    return Exporter(source, f"{client.replace('/', '-')}/{version}" if version else client.replace("/", "-"), project)


def _fits(rule: Rule, record: Record) -> bool:
    if rule.signal != record.signal or (rule.root_only and record.parent):
        return False
    for name, accepted in rule.when.items():
        value = record.name if name == "@name" else record.attributes.get(name)
        if value is None or (accepted and str(value) not in accepted):
            return False
    return True


def _report(emitter: Emitter, rule: Rule, record: Record, exporter: Exporter) -> Report | None:
    """None for values that can't be."""
    session = next((text for name in emitter.session if (text := _name(record.attributes.get(name)))), exporter.source)
    turn = next((found for name in rule.turn if name != "@time" and (found := _turn(name, record))), None)
    told = {field: value for field, names in rule.fields.items() if (value := _value(field, names, record)) is not None}
    told |= rule.const
    events = tuple(_events(emitter, rule, record, told))
    stamped = tuple(_stamped(event, at_ns, session) for event, at_ns in events)
    checked = tuple(event for event in map(strip_content, stamped) if event is not None and not problem_of(event))
    at_ns = record.end_ns - round(float(told.get("before_ms", 0)) * 1e6)
    if len(checked) != len(events) or not record.end_ns:
        return None
    return Report(
        kind=rule.kind,
        key=_key(rule, record, session, told),
        at_ns=at_ns,
        session=session,
        events=tuple(_keyed(event, rule, record, session, told) for event in checked),
        turn=turn if rule.kind in ("begin", "end") or record.parent or "@trace" not in rule.turn else None,
        by_time=turn is None and "@time" in rule.turn,
        transport=rule.const.get("transport"),
    )


def _events(emitter: Emitter, rule: Rule, record: Record, told: Mapping[str, Any]) -> Iterable[tuple[ev.Event, int]]:
    spans = record.signal == "traces"
    duration_ms = (record.end_ns - record.start_ns) / 1e6 if spans else told.get("duration_ms")
    if rule.kind == "begin":
        yield ev.TurnStarted(), record.end_ns
    elif rule.kind == "end":
        status: ev.Status = "failed" if record.failed else "completed"
        yield (
            ev.TurnFinished(status=status, duration_ms=max(0.0, duration_ms or 0.0), stages_ms={}, calls=0, tools=0),
            record.end_ns,
        )
    elif rule.kind == "tool":
        name, tool_call = str(told.get("name", "tool")), str(told.get("id") or record.span or record.end_ns)
        took_ms = max(0.0, duration_ms or 0.0)
        failed = record.failed or "error_code" in told or told.get("ok") is False
        size = told.get("output_bytes")
        yield ev.ToolStarted(tool_call=tool_call, name=name), record.end_ns - round(took_ms * 1e6)
        yield (
            ev.ToolFinished(
                tool_call=tool_call, name=name, status="error" if failed else "ok", duration_ms=took_ms,
                output_bytes=None if size is None else int(size),
            ),
            record.end_ns,
        )  # fmt: skip
    elif rule.kind == "call":
        yield _call(emitter, record, told, duration_ms), record.end_ns


def _call(emitter: Emitter, record: Record, told: Mapping[str, Any], duration_ms: float | None) -> ev.CallReported:
    figures: dict[str, Any] = {name: told.get(name) for name in (*_INTEGERS, *_TEXTS, "ttft_ms", "cost_usd")}
    if emitter.exclusive and figures["input_tokens"] is not None:
        figures["input_tokens"] += (figures["cached_tokens"] or 0) + (figures["cache_write_tokens"] or 0)
    warmup = "warmup" in told and figures["ttft_ms"] is None and figures["output_tokens"] == 0
    failed = record.failed or told.get("status") == "failed" or figures["error_code"] is not None
    if failed and figures["error_code"] is None:
        figures["error_code"] = "error"
    reuse = told.get("reuse") if told.get("reuse") in get_args(ev.Reuse) else None
    return ev.CallReported(
        reporter=emitter.name,
        status="failed" if failed else "completed",
        warmup=warmup,
        duration_ms=duration_ms,
        reuse=reuse or ("reused" if "previous" in told else None),
        **figures,
    )


def _value(field: str, names: Iterable[str], record: Record) -> Scalar | None:
    for spec in names:
        name, _, unit = spec.partition(":") if spec.endswith(":s") else (spec, "", "")
        value: Scalar | None = record.name if name == "@name" else record.attributes.get(name)
        if value is None:
            continue
        if field in _INTEGERS or field == "output_bytes":
            found = number(value)
            return None if found is None else int(found)
        if field in _FLOATS or field == "before_ms":
            found = number(value)
            return None if found is None else float(found) * UNITS[unit]
        if field == "ok":
            return value is True or str(value).lower() == "true"
        return _name(value) or None
    return None


def _turn(name: str, record: Record) -> str:
    return record.trace if name == "@trace" else _name(record.attributes.get(name))


def _stamped(event: ev.Event, at_ns: int, session: str | None) -> ev.Event:
    at_ns = at_ns // 1000 * 1000
    time = rfc3339(at_ns) if 0 < at_ns < 1 << 62 else ""
    return msgspec.structs.replace(event, v=ev.SCHEMA_VERSION, time=time, mono_ns=max(0, at_ns), session=session)


def _keyed(event: ev.Event, rule: Rule, record: Record, session: str | None, told: Mapping[str, Any]) -> ev.Event:
    if not isinstance(event, ev.CallReported):
        return event
    return msgspec.structs.replace(event, call=_key(rule, record, session, told))


def _key(rule: Rule, record: Record, session: str | None, told: Mapping[str, Any]) -> str:
    """What makes the record the same one when it comes again."""
    if record.signal == "traces" and record.span:
        parts: list[object] = ["span", record.trace, record.span]
    else:
        parts = ["log", record.name, session, record.end_ns, sorted(told.items())]
    digest = hashlib.blake2b(repr((rule.kind, parts)).encode("utf-8", "replace"), digest_size=12).hexdigest()
    return f"r{digest}"


def _name(value: Scalar | None) -> str:
    """A text as an id or a name; "" for none."""
    return "" if value is None else one_line(str(value), _ONE_ID)


def _label(value: Scalar | None) -> str:
    return "" if value is None else one_line(str(value), MAX_LABEL)


def _at_ns(report: Report) -> int:
    return report.at_ns
