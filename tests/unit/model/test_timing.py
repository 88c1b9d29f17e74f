"""Figures of a call, with a clock that stands still unless it is moved."""

from __future__ import annotations

from typing import Any

import pytest

from agent_core.errors import ConnectionLost
from agent_core.model.timing import CallTimer, Pace
from agent_core.telemetry import events as ev
from agent_core.telemetry.emitter import Emitter, ListSink
from agent_core.telemetry.rollup.sketch import GAP_ERROR, Sketch
from agent_core.telemetry.rollup.usage import TokenUsage


class StandingClock:
    def __init__(self) -> None:
        self.now_ns = 1_000_000_000

    def wall_ns(self) -> int:
        return self.now_ns

    def mono_ns(self) -> int:
        return self.now_ns

    async def sleep(self, delay_s: float) -> None:
        raise AssertionError("a timer never sleeps")

    def move(self, ms: float) -> None:
        self.now_ns += int(ms * 1e6)


class Bench:
    """A timer whose create was just sent."""

    def __init__(self, pace: Pace | None = None) -> None:
        self.clock, self.sink = StandingClock(), ListSink()
        ids = {"session": "sess_1", "turn": "turn_1", "call": "call_1"}
        self.timer = CallTimer(self.clock, Emitter(self.sink, self.clock, "test"), pace or Pace(), ids)
        self.send()

    def send(self) -> None:
        self.timer.sent(
            self.clock.mono_ns(),
            model="m",
            transport="websocket",
            reuse="reused",
            input_items=1,
            size=100,
            size_full=900,
            warmup=False,
            connection="conn_1",
            lane=None,
        )

    def batch(self, *deltas: tuple[Any, int], after_ms: float = 0.0) -> None:
        self.clock.move(after_ms)
        self.timer.batch([b"x" * 10] * len(deltas))
        for channel, chars in deltas:
            self.timer.delta(channel, chars)
        self.timer.settle()

    def only(self, kind: type[ev.Event]) -> list[Any]:
        return [event for event in self.sink.events if isinstance(event, kind)]

    def end(self, usage: TokenUsage | None = None, **fields: Any) -> ev.CallCompleted:
        self.timer.ended(fields.pop("status", "completed"), self.timer.timing(), usage=usage, **fields)
        (event,) = self.only(ev.CallCompleted)
        assert isinstance(event, ev.CallCompleted)
        return event


def test_first_delta_of_any_channel_is_ttft_and_the_first_that_shows_is_visible_ttft() -> None:
    bench = Bench()
    bench.batch(("reasoning", 4), after_ms=100)
    bench.batch(("reasoning", 4), after_ms=50)
    bench.batch(("text", 4), after_ms=50)
    bench.batch(("text", 4), after_ms=25)
    end = bench.end()
    assert (end.ttft_ms, end.visible_ttft_ms, end.inference_ms, end.duration_ms) == (100, 200, 125, 225)
    first, visible = bench.only(ev.CallFirstDelta)
    assert (first.channel, first.latency_ms, first.ttft_ms, first.visible_ttft_ms) == ("reasoning", 100, 100, None)
    assert (visible.channel, visible.latency_ms, visible.ttft_ms, visible.visible_ttft_ms) == ("text", 200, 100, 200)


def test_a_call_without_deltas_has_no_ttft_and_no_inference() -> None:
    """Figures that were not measured are absent, never 0."""
    end = Bench().end()
    assert (end.ttft_ms, end.visible_ttft_ms, end.inference_ms, end.chunk_gaps) == (None, None, None, None)
    assert (end.deltas, end.input_tokens, end.cached_tokens, end.output_tokens) == (0, None, None, None)


def test_the_services_own_timing_wins() -> None:
    bench = Bench()
    bench.batch(("text", 4), after_ms=10)
    bench.timer.metrics({"engine_service_total_ms": 321, "engine_service_ttft_total_ms": 5.5, "engine_ids": "x"})
    end = bench.end()
    assert end.inference_ms == 321
    assert end.service_stages_ms == {"engine_service_total_ms": 321.0, "engine_service_ttft_total_ms": 5.5}


@pytest.mark.parametrize("strange", [None, "1", -1])
def test_a_strange_engine_time_is_not_believed(strange: object) -> None:
    bench = Bench()
    bench.batch(("text", 4), after_ms=10)
    bench.batch(("text", 4), after_ms=7)
    bench.timer.metrics({"engine_service_total_ms": strange})
    assert bench.end().inference_ms == 7


def test_every_attempt_is_told_and_the_last_one_counts() -> None:
    bench = Bench()
    bench.batch(("text", 4), after_ms=10)
    bench.clock.move(1000)
    bench.send()
    bench.batch(("text", 4), ("text", 4), after_ms=30)
    end = bench.end()
    assert [event.attempt for event in bench.only(ev.CallSent)] == [1, 2]
    assert (end.ttft_ms, end.deltas, end.bytes_down, end.duration_ms) == (30, 2, 30, 1040)
    assert bench.timer.bytes_up == 200
    (sent, _) = bench.only(ev.CallSent)
    assert (sent.bytes_up, sent.bytes_full, sent.connection, sent.call, sent.turn) == (
        100,
        900,
        "conn_1",
        "call_1",
        "turn_1",
    )


def test_gaps_between_deltas_are_counted_those_of_one_batch_as_none() -> None:
    bench = Bench()
    bench.batch(("text", 1), after_ms=10)
    bench.batch(("text", 1), ("text", 1), ("text", 1), after_ms=20)
    bench.batch(("text", 1), after_ms=40)
    sketch = Sketch(GAP_ERROR, bench.end().chunk_gaps)
    assert sketch.count == 4
    assert sketch.quantile(0.0) == 0
    assert sketch.quantile(1.0) == pytest.approx(40, rel=GAP_ERROR)


def test_progress_comes_at_most_four_times_a_second() -> None:
    bench = Bench()
    for _ in range(1000):
        bench.batch(("text", 8), after_ms=4)
    progress = bench.only(ev.CallProgress)
    assert 14 <= len(progress) <= 16
    assert progress[-1].output_tokens_est == pytest.approx(2000, rel=0.1)
    assert progress[-1].rate_est == pytest.approx(500, rel=0.05)


def test_the_rate_is_that_of_the_last_seconds() -> None:
    bench = Bench()
    for _ in range(100):
        bench.batch(("text", 40), after_ms=100)
    for _ in range(60):
        bench.batch(("text", 4), after_ms=100)
    assert bench.only(ev.CallProgress)[-1].rate_est == pytest.approx(10, rel=0.1)


def test_characters_per_token_are_learnt_from_finished_calls() -> None:
    pace = Pace()
    first = Bench(pace)
    first.batch(("text", 600), after_ms=300)
    first.end(TokenUsage(output_tokens=200, reasoning_tokens=0))
    second = Bench(pace)
    second.batch(("text", 300), after_ms=10)
    second.batch(("text", 300), after_ms=300)
    assert second.only(ev.CallProgress)[-1].output_tokens_est == 200


def test_hidden_reasoning_teaches_nothing() -> None:
    """chenyme/grok2api#949: billed tokens that were never streamed made rates of 23,609 tokens a second."""
    pace = Pace()
    bench = Bench(pace)
    bench.batch(("text", 600), after_ms=300)
    bench.end(TokenUsage(output_tokens=5000, reasoning_tokens=4900))
    assert pace.chars_per_token == 4.0


def test_a_call_that_ends_amid_a_batch_counts_what_came() -> None:
    bench = Bench()
    bench.clock.move(30)
    bench.timer.batch([b"x"])
    bench.timer.delta("text", 4)
    end = bench.end(status="cancelled")
    assert (end.ttft_ms, end.inference_ms, end.deltas) == (30, 0, 1)


def test_a_failed_call_says_what_failed() -> None:
    end = Bench().end(status="failed", error=ConnectionLost("gone"), response_id="resp_1")
    assert (end.status, end.error_code, end.response_id) == ("failed", "connection_lost", "resp_1")
