"""One attempt timed at its source."""

from __future__ import annotations

import pytest

from agent_core.telemetry.calltimer import PROGRESS_NS, CallTimer, FirstDelta, TokenEstimate
from agent_core.telemetry.sketch import GAP_ERROR, Sketch
from tests.support.telemetry import MS

S = 1_000_000_000


def test_text_first() -> None:
    timer = CallTimer(5 * MS)
    assert timer.latency_ms(9 * MS) == 4.0
    assert timer.delta("text", 8, 25 * MS) == FirstDelta("text", 20.0, 20.0, 20.0)
    assert timer.delta("text", 8, 35 * MS) is None
    timing = timer.finish(45 * MS)
    assert (timing.duration_ms, timing.ttft_ms, timing.visible_ttft_ms, timing.inference_ms) == (40.0, 20.0, 20.0, 10.0)
    assert (timing.deltas, timing.clamped) == (2, 0)
    assert Sketch(GAP_ERROR, timing.chunk_gaps).quantile(1.0) == pytest.approx(10.0, rel=GAP_ERROR)


def test_reasoning_counts_for_ttft_and_the_first_visible_delta_is_told_apart() -> None:
    timer = CallTimer(0)
    assert timer.delta("reasoning", 4, 10 * MS) == FirstDelta("reasoning", 10.0, 10.0, None)
    assert timer.delta("reasoning", 4, 20 * MS) is None
    assert timer.delta("tool_arguments", 4, 90 * MS) == FirstDelta("tool_arguments", 90.0, 10.0, 90.0)
    assert timer.delta("text", 4, 95 * MS) is None
    timing = timer.finish(100 * MS)
    assert (timing.ttft_ms, timing.visible_ttft_ms) == (10.0, 90.0)


def test_an_answer_that_does_not_stream_has_no_ttft_and_no_inference_time() -> None:
    timing = CallTimer(0).finish(300 * MS)
    assert (timing.duration_ms, timing.ttft_ms, timing.visible_ttft_ms, timing.inference_ms) == (
        300.0,
        None,
        None,
        None,
    )
    assert (timing.deltas, timing.chunk_gaps) == (0, None)


def test_the_engines_own_time_wins() -> None:
    timer = CallTimer(0)
    timer.delta("text", 1, 10 * MS)
    timer.delta("text", 1, 30 * MS)
    assert timer.finish(40 * MS, engine_ms=33.5).inference_ms == 33.5


def test_negative_spans_are_zero_and_counted() -> None:
    timer = CallTimer(10 * MS)
    timer.delta("text", 1, 8 * MS)
    timing = timer.finish(5 * MS, engine_ms=-1.0)
    assert (timing.duration_ms, timing.ttft_ms, timing.inference_ms) == (0.0, 0.0, 0.0)
    assert timing.clamped >= 3


def test_samples_come_at_most_four_times_a_second() -> None:
    timer = CallTimer(0)
    samples = []
    for tick in range(2_000):
        now_ns = tick * MS
        timer.delta("text", 4, now_ns)
        sample = timer.progress(now_ns)
        if sample is not None:
            samples.append((now_ns, sample))
    assert len(samples) == 7
    assert all(later - earlier >= PROGRESS_NS for (earlier, _), (later, _) in zip(samples, samples[1:], strict=False))
    last_ns, last = samples[-1]
    assert last.output_tokens_est == last_ns // MS + 1
    assert last.rate_est == pytest.approx(1000, rel=0.01)


def test_no_sample_before_the_first_delta() -> None:
    assert CallTimer(0).progress(10 * S) is None


def test_the_estimate_learns_from_the_last_finished_call() -> None:
    estimate = TokenEstimate()
    first = CallTimer(0, estimate)
    first.delta("text", 300, MS)
    assert estimate.tokens(300) == 75
    first.learn(output_tokens=150, reasoning_tokens=50)
    assert estimate.tokens(300) == 100, "50 reasoning tokens were not among the 300 characters"
    second = CallTimer(0, estimate)
    second.delta("reasoning", 100, MS)
    second.delta("text", 200, 2 * MS)
    second.learn(output_tokens=150, reasoning_tokens=50)
    assert estimate.tokens(300) == 150


def test_an_absurd_count_does_not_spoil_the_estimate() -> None:
    estimate = TokenEstimate()
    estimate.learn(10, 1_000_000, None, reasoning_seen=False)
    assert estimate.tokens(100) == 200
    estimate.learn(10, None, None, reasoning_seen=False)
    estimate.learn(0, 5, None, reasoning_seen=False)
    assert estimate.tokens(100) == 200
