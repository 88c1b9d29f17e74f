"""The service's figures in Prometheus' text format. Pure.

Names of what the OpenTelemetry GenAI conventions v0.1.0 have are theirs as Prometheus spells them; the rest has the
prefix `loopline_service_`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from agent_core.responses_server.metrics.counters import Counters, Histogram

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = Mapping[str, str]


class Now(msgspec.Struct, frozen=True, kw_only=True):
    """What holds at this moment. `limited`: refusals by (key, limit). `resident_bytes` None: not known here."""

    connections: Mapping[str, int]
    running: int
    draining: bool
    ledger_pending: int
    limited: Mapping[tuple[str, str], int]
    auth_refused: Mapping[str, int]
    resident_bytes: int | None
    cpu_s: float
    started_s: float


def exposition(counters: Counters, now: Now) -> str:
    """All of it, as one text."""
    lines = [
        *_counter(
            "loopline_service_responses_total",
            "Ended responses.",
            [({"gen_ai_request_model": m, "status": s}, n) for (m, s), n in counters.responses.items()],
        ),
        *_counter(
            "loopline_service_errors_total",
            "Errors told to clients, by code.",
            [({"code": code}, n) for code, n in counters.errors.items()],
        ),
        *_counter(
            "loopline_service_tokens_total",
            "Tokens of ended responses; cached is a part of input, reasoning of output.",
            [({"gen_ai_request_model": m, "kind": k}, n) for (m, k), n in counters.tokens.items()],
        ),
        *_counter(
            "loopline_service_connections_total",
            "WebSockets opened and HTTP requests taken.",
            [({"transport": t}, n) for t, n in counters.connections.items()],
        ),
        *_counter(
            "loopline_service_limited_total",
            "Requests and connections refused by a key's limit.",
            [({"key": key, "limit": limit}, n) for (key, limit), n in now.limited.items()],
        ),
        *_counter(
            "loopline_service_auth_refused_total",
            "Requests and upgrades refused by Host or key.",
            [({"reason": reason}, n) for reason, n in now.auth_refused.items()],
        ),
        *_counter(
            "loopline_service_unsettled_total",
            "Responses of killed processes that were closed at start-up.",
            [({}, counters.unsettled)],
        ),
        *_gauge("loopline_service_connections", "Open WebSockets and running HTTP requests.",
                [({"transport": t}, n) for t, n in now.connections.items()]),
        *_gauge("loopline_service_running", "Responses that run.", [({}, now.running)]),
        *_gauge("loopline_service_draining", "1 while the service shuts down.", [({}, int(now.draining))]),
        *_gauge("loopline_service_ledger_pending", "Admitted responses not durably settled.",
                [({}, now.ledger_pending)]),
        *_head("gen_ai_server_request_duration_seconds", "Creation to end of a response.", "histogram"),
        *_histograms("gen_ai_server_request_duration_seconds", "gen_ai_request_model", counters.durations),
        *_head("loopline_service_stage_seconds", "Time of ended responses by stage.", "histogram"),
        *_histograms("loopline_service_stage_seconds", "stage", counters.stages),
        *_counter("process_cpu_seconds_total", "User and system CPU time.", [({}, now.cpu_s)]),
        *_gauge("process_start_time_seconds", "Start of the process, Unix time.", [({}, now.started_s)]),
    ]  # fmt: skip
    if now.resident_bytes is not None:
        lines += _gauge("process_resident_memory_bytes", "Resident memory.", [({}, now.resident_bytes)])
    return "\n".join(lines) + "\n"


def _counter(name: str, about: str, samples: Sequence[tuple[Labels, float]]) -> Iterator[str]:
    yield from _head(name, about, "counter")
    yield from (_sample(name, labels, value) for labels, value in samples)


def _gauge(name: str, about: str, samples: Sequence[tuple[Labels, float]]) -> Iterator[str]:
    yield from _head(name, about, "gauge")
    yield from (_sample(name, labels, value) for labels, value in samples)


def _histograms(name: str, label: str, histograms: Mapping[str, Histogram]) -> Iterator[str]:
    for value, histogram in histograms.items():
        within = 0
        for bound, count in zip((*histogram.bounds, None), histogram.counts, strict=True):
            within += count
            le = "+Inf" if bound is None else _number(bound)
            yield _sample(f"{name}_bucket", {label: value, "le": le}, within)
        yield _sample(f"{name}_sum", {label: value}, histogram.sum)
        yield _sample(f"{name}_count", {label: value}, within)


def _head(name: str, about: str, kind: str) -> tuple[str, str]:
    return f"# HELP {name} {about}", f"# TYPE {name} {kind}"


def _sample(name: str, labels: Labels, value: float) -> str:
    inner = ",".join(f'{label}="{_text(text)}"' for label, text in labels.items())
    return f"{name}{{{inner}}} {_number(value)}" if inner else f"{name} {_number(value)}"


def _text(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return repr(round(value, 9)) if isinstance(value, float) and not value.is_integer() else str(int(value))
