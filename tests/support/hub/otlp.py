"""OTLP as exporters send it: recorded bodies, made spans, and both in protobuf by the library that collectors use."""

from __future__ import annotations

import base64
import importlib
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dashboard.hub.core import Hub
from dashboard.hub.ingest.otlp.mapping import Report, read_reports
from dashboard.hub.ingest.otlp.records import JSON, Record, Signal, read_body
from dashboard.hub.reporting import Reporting

GOLDEN = Path(__file__).parents[2] / "golden" / "otlp"
SECRET = "the text of a conversation that nobody keeps"
T0_NS = 1_796_123_000_000_000_000
_SERVICES = {"logs": "logs", "traces": "trace", "metrics": "metrics"}


def service_messages(signal: Signal) -> Any:
    """The reference library's messages of a signal's service."""
    name = _SERVICES[signal]
    return importlib.import_module(f"opentelemetry.proto.collector.{name}.v1.{name}_service_pb2")


def export_body(name: str) -> Any:
    """A body of `tests/golden/otlp`."""
    return json.loads((GOLDEN / name).read_text())


def signal_of(name: str) -> Signal:
    found: Signal = "logs" if name.endswith("logs.json") else "traces" if name.endswith("traces.json") else "metrics"
    return found


def protobuf(body: Any, signal: Signal) -> bytes:
    """The body as the reference library encodes it."""
    request = getattr(service_messages(signal), f"Export{_SERVICES[signal].capitalize()}ServiceRequest")()
    importlib.import_module("google.protobuf.json_format").ParseDict(
        _base64_ids(body), request, ignore_unknown_fields=True
    )
    data: bytes = request.SerializeToString()
    return data


def _base64_ids(value: Any) -> Any:
    """Ids are hexadecimal in OTLP's JSON and base64 in protobuf's own."""
    if isinstance(value, list):
        return [_base64_ids(one) for one in value]
    if not isinstance(value, dict):
        return value
    ids = ("traceId", "spanId", "parentSpanId")
    return {
        key: base64.b64encode(bytes.fromhex(part)).decode() if key in ids else _base64_ids(part)
        for key, part in value.items()
    }


def attributes(given: Mapping[str, str | int | float | bool]) -> list[dict[str, Any]]:
    def one(value: str | int | float | bool) -> dict[str, Any]:
        if isinstance(value, bool):
            return {"boolValue": value}
        if isinstance(value, int):
            return {"intValue": str(value)}
        return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}

    return [{"key": key, "value": one(value)} for key, value in given.items()]


def span(
    trace: int, number: int, parent: int, start_ms: float, end_ms: float, name: str = "span", **told: str | int | float
) -> dict[str, Any]:
    """`__` in the name of an attribute is a dot; `parent` 0: none."""
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": name,
        "startTimeUnixNano": str(T0_NS + round(start_ms * 1e6)),
        "endTimeUnixNano": str(T0_NS + round(end_ms * 1e6)),
        "attributes": attributes({key.replace("__", "."): value for key, value in told.items()}),
        "status": {},
    }


def traces(spans: Sequence[Any], service: str = "team-bot", **resource: str | int) -> dict[str, Any]:
    told = {"service.name": service, **{key.replace("__", "."): value for key, value in resource.items()}}
    return {"resourceSpans": [{"resource": {"attributes": attributes(told)}, "scopeSpans": [{"spans": list(spans)}]}]}


def turn_spans(trace: int, calls: int, seed: int = 1) -> list[dict[str, Any]]:
    """One run of an agent: calls with a tool between each two, and the run itself."""
    draw, at_ms, made = random.Random(seed * 1_000_003 + trace), trace * 40.0, []
    start_ms, number = at_ms, trace * 10_000 + 1
    root, session = number, f"conversation-{trace % 7}"
    for index in range(calls):
        number += 1
        took_ms, fresh = draw.randint(20, 900), draw.randint(1, 500)
        made.append(
            span(
                trace, number, root, at_ms, at_ms + took_ms, f"chat gpt-5-{trace % 3}", gen_ai__operation__name="chat",
                gen_ai__request__model=f"gpt-5-{trace % 3}", gen_ai__conversation__id=session,
                gen_ai__response__id=f"resp_{trace}_{index}", gen_ai__usage__input_tokens=4_000 + fresh,
                gen_ai__usage__cache_read__input_tokens=3_000, gen_ai__usage__output_tokens=fresh,
                gen_ai__response__time_to_first_chunk=took_ms / 4000,
            )
        )  # fmt: skip
        at_ms += took_ms + 1
        if index + 1 < calls:
            number += 1
            made.append(
                span(
                    trace, number, root, at_ms, at_ms + 15, "execute_tool read", gen_ai__operation__name="execute_tool",
                    gen_ai__tool__name="read", gen_ai__tool__call__id=f"call_{index}", gen_ai__conversation__id=session,
                )
            )  # fmt: skip
            at_ms += 16
    told = {"gen_ai__operation__name": "invoke_agent", "gen_ai__conversation__id": session}
    made.append(span(trace, root, 0, start_ms, at_ms + 5, "invoke_agent", **told))
    return made


def records_of(body: Any, signal: Signal) -> list[Record]:
    return read_body(json.dumps(body).encode(), JSON, "", signal).records


def reports_of(body: Any, signal: Signal) -> list[Report]:
    return [one for found in read_reports(records_of(body, signal)).reports.values() for one in found]


async def give(hub: Hub, reporting: Reporting, bodies: Iterable[tuple[Any, Signal]], agent: str = "anna@ci") -> int:
    """Have a hub take bodies one after the other; gives how many reports counted."""
    counted = 0
    for body, signal in bodies:
        for exporter, reports in read_reports(records_of(body, signal)).reports.items():
            counted += (await reporting.accept("web", agent, exporter, reports)).counted
    return counted
