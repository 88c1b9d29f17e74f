"""The service's figures in Prometheus' text format. Pure.

Names of what the OpenTelemetry GenAI conventions v0.1.0 have are theirs as Prometheus spells them; the rest has the
prefix `loopline_service_`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate

import msgspec

from agent_core.responses_server.metrics.counters import Counters, Histogram
from agent_core.telemetry.export.prometheus import family, head, histogram


class Now(msgspec.Struct, frozen=True, kw_only=True):
    """What holds at this moment. `limited`: refusals by (key, limit). `resident_bytes` None: not known here."""

    connections: Mapping[str, int]
    running: int
    """Responses that run."""
    draining: bool
    ledger_pending: int
    """Entries of the ledger that are not on the disk yet."""
    limited: Mapping[tuple[str, str], int]
    auth_refused: Mapping[str, int]
    resident_bytes: int | None
    cpu_s: float
    started_s: float


def exposition(counters: Counters, now: Now) -> str:
    """All of it, as one text."""
    lines = [
        *family("loopline_service_responses_total", "counter",
            "Ended responses.",
            [({"gen_ai_request_model": m, "status": s}, n) for (m, s), n in counters.responses.items()],
        ),
        *family("loopline_service_errors_total", "counter",
            "Errors told to clients, by code.",
            [({"code": code}, n) for code, n in counters.errors.items()],
        ),
        *family("loopline_service_tokens_total", "counter",
            "Tokens of ended responses; cached is a part of input, reasoning of output.",
            [({"gen_ai_request_model": m, "kind": k}, n) for (m, k), n in counters.tokens.items()],
        ),
        *family("loopline_service_connections_total", "counter",
            "WebSockets opened and HTTP requests taken.",
            [({"transport": t}, n) for t, n in counters.connections.items()],
        ),
        *family("loopline_service_limited_total", "counter",
            "Requests and connections refused by a key's limit.",
            [({"key": key, "limit": limit}, n) for (key, limit), n in now.limited.items()],
        ),
        *family("loopline_service_auth_refused_total", "counter",
            "Requests and upgrades refused by Host or key.",
            [({"reason": reason}, n) for reason, n in now.auth_refused.items()],
        ),
        *family("loopline_service_unsettled_total", "counter",
            "Responses of killed processes that were closed at start-up.",
            [({}, counters.unsettled)],
        ),
        *family("loopline_service_connections", "gauge", "Open WebSockets and running HTTP requests.",
                [({"transport": t}, n) for t, n in now.connections.items()]),
        *family("loopline_service_running", "gauge", "Responses that run.", [({}, now.running)]),
        *family("loopline_service_draining", "gauge", "1 while the service shuts down.", [({}, int(now.draining))]),
        *family("loopline_service_ledger_pending", "gauge", "Admitted responses not durably settled.",
                [({}, now.ledger_pending)]),
        *head("gen_ai_server_request_duration_seconds", "histogram", "Creation to end of a response."),
        *_histograms("gen_ai_server_request_duration_seconds", "gen_ai_request_model", counters.durations),
        *head("loopline_service_stage_seconds", "histogram", "Time of ended responses by stage."),
        *_histograms("loopline_service_stage_seconds", "stage", counters.stages),
        *family("process_cpu_seconds_total", "counter", "User and system CPU time.", [({}, now.cpu_s)]),
        *family("process_start_time_seconds", "gauge", "Start of the process, Unix time.", [({}, now.started_s)]),
    ]  # fmt: skip
    if now.resident_bytes is not None:
        lines += family("process_resident_memory_bytes", "gauge", "Resident memory.", [({}, now.resident_bytes)])
    return "\n".join(lines) + "\n"


def _histograms(name: str, label: str, histograms: Mapping[str, Histogram]) -> Iterator[str]:
    for value, found in histograms.items():
        within = list(accumulate(found.counts))
        yield from histogram(
            name, {label: value}, zip((*found.bounds, None), within, strict=True), found.sum, within[-1]
        )
