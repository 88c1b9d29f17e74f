"""What each emitter's records tell, by its table."""

from __future__ import annotations

from typing import Any

import pytest

from agent_core.telemetry import events as ev
from dashboard.hub.ingest.otlp.emitters import EMITTERS, emitter_of
from dashboard.hub.ingest.otlp.mapping import Report, exporter_of, read_reports
from tests.support.hub.otlp import SECRET, export_body, records_of, reports_of, signal_of, span, traces

FIGURES = ("model", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "ttft_ms", "response_id")


def calls(reports: list[Report]) -> list[ev.CallReported]:
    return [event for report in reports for event in report.events if isinstance(event, ev.CallReported)]


def figures(name: str) -> list[tuple[Any, ...]]:
    found = calls(reports_of(export_body(name), signal_of(name)))
    return [tuple(getattr(call, field) for field in FIGURES) for call in found]


def test_codex_tells_its_calls_in_logs() -> None:
    assert figures("codex-0.171-logs.json") == [
        ("scripted", 7418, 0, 0, 0, None, None),
        ("scripted", 8107, 7418, 0, 6, 5.0, None),
        ("scripted", 8176, 8127, 0, 3, 7.0, None),
    ]
    reports = reports_of(export_body("codex-0.171-logs.json"), "logs")
    assert [call.warmup for call in calls(reports)] == [True, False, False]
    assert " ".join(report.kind for report in reports) == "request call begin request call tool request call"


def test_codex_tells_the_end_of_a_turn_and_no_tokens_in_traces() -> None:
    (end,) = reports_of(export_body("codex-0.171-traces.json"), "traces")
    (begin,) = [one for one in reports_of(export_body("codex-0.171-logs.json"), "logs") if one.kind == "begin"]
    assert (end.kind, end.turn, end.session) == ("end", begin.turn, begin.session)
    assert [type(event) for event in end.events] == [ev.TurnFinished]


def test_copilot_tells_its_calls_in_spans_and_its_sums_once() -> None:
    assert figures("copilot-1.0.102-traces.json") == [
        ("scripted", 10442, None, None, 11, pytest.approx(18.26, abs=0.01), "resp_59bb8a3815b371f5451f4984"),
        ("scripted", 10494, 10466, None, 3, pytest.approx(9.43, abs=0.01), "resp_5972b82c87b100491de25209"),
    ]
    reports = reports_of(export_body("copilot-1.0.102-traces.json"), "traces")
    assert sorted(report.kind for report in reports) == ["call", "call", "end", "tool"]
    assert len({report.turn for report in reports}) == 1
    assert [call.reuse for call in calls(reports)] == [None, "reused"]
    assert reports_of(export_body("copilot-1.0.102-metrics.json"), "metrics") == []


def test_claude_code_by_its_documentation_counts_input_beside_the_cache() -> None:
    assert figures("made-claude-logs.json") == [
        ("claude-sonnet-4-5", 12 + 20_400 + 900, 20_400, 900, 210, None, "req_011"),
        ("claude-sonnet-4-5", None, None, None, None, None, None),
        ("claude-sonnet-4-5", 8 + 21_300 + 300, 21_300, 300, 95, None, "req_012"),
    ]
    found = calls(reports_of(export_body("made-claude-logs.json"), "logs"))
    assert [(call.status, call.error_code, call.cost_usd) for call in found] == [
        ("completed", None, 0.0126),
        ("failed", "529", None),
        ("completed", None, 0.0081),
    ]


def test_conventions_in_general_show_calls_with_what_they_say() -> None:
    assert figures("made-conventions-traces.json") == [
        ("gpt-4o-2024-08-06", 320, None, None, 41, None, "chatcmpl-1"),
        ("gpt-4o", 410, 256, None, 50, None, None),
        ("text-embedding-3-small", 12, None, None, None, None, None),
    ]


@pytest.mark.parametrize("name", ["codex-0.171-logs.json", "copilot-1.0.102-traces.json", "made-claude-logs.json"])
def test_no_text_of_a_conversation_is_in_what_is_read(name: str) -> None:
    assert SECRET in str(export_body(name))
    assert SECRET not in repr(reports_of(export_body(name), signal_of(name)))


def test_values_that_cannot_be_are_rejected_and_the_rest_taken() -> None:
    chat = {"gen_ai__operation__name": "chat"}
    body = traces(
        [
            span(1, 1, 9, 0, 5, **chat),
            {**span(1, 2, 9, 0, 5, **chat), "endTimeUnixNano": "0"},
            {**span(1, 3, 9, 0, 5, **chat), "endTimeUnixNano": "99999999999999999999"},
            span(1, 4, 9, 0, 5, gen_ai__usage__input_tokens=1 << 70, **chat),
        ]
    )
    read = read_reports(records_of(body, "traces"))
    assert (sum(map(len, read.reports.values())), read.rejected) == (1, 3)


def test_a_figure_that_cannot_be_right_is_kept_as_it_was_told() -> None:
    body = traces([span(1, 1, 9, 0, 5, gen_ai__operation__name="chat", gen_ai__usage__input_tokens=-4)])
    assert [call.input_tokens for call in calls(reports_of(body, "traces"))] == [-4]


def test_who_exports_is_told_by_service_and_instance() -> None:
    one = exporter_of({"service.name": "team/bot", "service.version": "2", "host.name": "a", "project": "shop"})
    assert (one.client, one.project) == ("team-bot/2", "shop")
    assert one.source == exporter_of({"service.name": "team/bot", "host.name": "b"}).source
    assert one.source != exporter_of({"service.name": "team/bot", "service.instance.id": "7"}).source
    assert exporter_of({}).client == "unknown"


def test_every_table_cites_its_source() -> None:
    assert [emitter_of(name).name for name in ("codex_exec", "github-copilot", "claude-code", "x", "")] == [
        "codex", "copilot", "claude", "genai", "genai",
    ]  # fmt: skip
    assert all(len(emitter.source) > 20 for emitter in EMITTERS)
