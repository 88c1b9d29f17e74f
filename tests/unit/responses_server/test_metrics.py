"""Counters and the text that Prometheus reads."""

from __future__ import annotations

import re

from agent_core.responses_server.metrics.counters import SECONDS, Counters, Histogram
from agent_core.responses_server.metrics.exposition import Now, exposition
from agent_core.wire.response import InputTokensDetails, OutputTokensDetails, Usage

LINE = re.compile(r'(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{([a-z_]+="([^"\\]|\\.)*",?)+\})? -?[0-9.e+-]+)', re.ASCII)


def now(**changes: object) -> Now:
    fields: dict[str, object] = {
        "connections": {"websocket": 2, "http": 0},
        "running": 1,
        "draining": False,
        "ledger_pending": 3,
        "limited": {('na"me\n', "requests"): 4},
        "auth_refused": {"key": 5, "host": 0},
        "resident_bytes": 4096,
        "cpu_s": 0.25,
        "started_s": 1_800_000_000.5,
    }
    return Now(**{**fields, **changes})  # type: ignore[arg-type]


def usage(given: int, said: int) -> Usage:
    return Usage(
        input_tokens=given,
        output_tokens=said,
        input_tokens_details=InputTokensDetails(cached_tokens=2),
        output_tokens_details=OutputTokensDetails(reasoning_tokens=1),
    )


def counted() -> Counters:
    counters = Counters(lambda: {"scripted", "repair"})
    for model in ("scripted", "scripted:slow", "x" * 5_000, "y"):
        counters.settled(model, "completed", "", usage(10, 5), 0.3, {"engine": 0.2, "state": 0.00001})
    counters.settled("scripted", "failed", "engine_failed", None, 100.0, {})
    counters.refused("made up by a client")
    return counters


def test_labels_are_bounded() -> None:
    counters = counted()
    assert counters.responses == {("scripted", "completed"): 2, ("scripted", "failed"): 1, ("other", "completed"): 2}
    assert counters.errors == {"engine_failed": 1, "other": 1}
    for name in range(1_000):
        counters.settled(str(name), "completed", str(name), usage(1, 1), 0.1, {"engine": 0.1})
    assert len(counters.responses) == 3
    assert len(counters.errors) == 2
    assert len(counters.durations) == 2


def test_a_histogram_adds_up() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 99.0):
        histogram.add(value)
    assert histogram.counts == [2, 1, 1]
    assert histogram.sum == 102.0


def test_every_line_is_one_that_prometheus_reads() -> None:
    text = exposition(counted(), now())
    assert text.endswith("\n")
    lines = text.splitlines()
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    assert 'loopline_service_limited_total{key="na\\"me\\n",limit="requests"} 4' in lines
    assert 'loopline_service_tokens_total{gen_ai_request_model="scripted",kind="input"} 20' in lines
    assert 'gen_ai_server_request_duration_seconds_bucket{gen_ai_request_model="scripted",le="+Inf"} 3' in lines
    assert 'gen_ai_server_request_duration_seconds_count{gen_ai_request_model="scripted"} 3' in lines
    assert 'loopline_service_stage_seconds_bucket{stage="state",le="5e-05"} 4' in lines
    assert "process_resident_memory_bytes 4096" in lines


def test_each_metric_is_declared_once_and_buckets_only_grow() -> None:
    lines = exposition(counted(), now()).splitlines()
    declared = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(declared) == len(set(declared))
    pattern = re.compile(
        r'gen_ai_server_request_duration_seconds_bucket\{gen_ai_request_model="scripted",le="(.+)"\} (.+)'
    )
    found = [match.groups() for line in lines if (match := pattern.fullmatch(line))]
    assert [le for le, _ in found] == [str(b) if b < 0.001 or b % 1 else str(int(b)) for b in SECONDS] + ["+Inf"]
    counts = [int(count) for _, count in found]
    assert counts == sorted(counts)


def test_what_is_not_known_is_absent() -> None:
    assert "resident_memory" not in exposition(Counters(lambda: ()), now(resident_bytes=None))
