"""Faults that other products' users reported, each as a case that must come out right here.

One test per report; its docstring names the report and the right behaviour.
"""

from __future__ import annotations

import pytest

from agent_core.model.timing import CallTimer, Channel, Pace
from agent_core.telemetry import events as ev
from agent_core.telemetry.emitter import Emitter, ListSink
from agent_core.telemetry.rollup.figures import OTHER
from agent_core.telemetry.rollup.prices import Price, PriceTable
from agent_core.telemetry.rollup.rollup import Rollup
from agent_core.telemetry.rollup.usage import normalise_usage
from tests.support.telemetry.scene import MS, HandClock, Scene


def test_cached_tokens_are_not_counted_twice() -> None:
    """langfuse/langfuse#12306, #10592: 130,213 inclusive input tokens were shown as 260,421, and charged so."""
    usage = normalise_usage(
        {
            "input_tokens": 5,
            "cache_read_input_tokens": 128_955,
            "cache_creation_input_tokens": 1_253,
            "output_tokens": 100,
        },
        "exclusive",
    )
    assert usage is not None
    assert (usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens) == (130_213, 128_955, 1_253)
    assert usage.fresh_input_tokens == 5
    scene = Scene()
    scene.start_turn()
    scene.call(
        sent={"model": "m"},
        input_tokens=usage.input_tokens,
        cached_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
    )
    rollup = Rollup(prices=PriceTable("2026-01-01", {"m": Price(3.0, 15.0, 0.3, 3.75)})).fold_all(scene.events)
    (row,) = rollup.call_rows()
    assert rollup.groups.total.input_tokens == 130_213
    assert row.cost_usd == pytest.approx((5 * 3 + 128_955 * 0.3 + 1_253 * 3.75 + 100 * 15) / 1e6)


def test_a_later_zero_clears_an_earlier_count() -> None:
    """BerriAI/litellm#40845: a usage event with 0 left the earlier cache-write count; fresh input became negative."""
    scene = Scene()
    scene.start_turn()
    call = scene.call(input_tokens=100, cached_tokens=0, cache_write_tokens=90, output_tokens=1)
    scene.complete(call, 50, 30, input_tokens=100, cached_tokens=95, cache_write_tokens=0, output_tokens=2)
    rollup = Rollup().fold_all(scene.events)
    (row,) = rollup.call_rows()
    assert (row.input_tokens, row.cached_tokens, row.cache_write_tokens, row.output_tokens) == (100, 95, 0, 2)
    assert not row.usage_suspect
    assert rollup.groups.total.cache_write_tokens == 0


def test_usage_repeated_on_several_events_is_not_summed() -> None:
    """anthropics/claude-code#6805, steipete/CodexBar#1062: the same usage was summed 3 to 8 times."""
    scene = Scene()
    scene.start_turn()
    call = scene.call(input_tokens=582, output_tokens=3)
    for _ in range(7):
        scene.complete(call, 50, 30, ttft_ms=20, deltas=5, input_tokens=582, cached_tokens=800, output_tokens=3)
    total = Rollup().fold_all(scene.events).groups.total
    assert (total.calls, total.input_tokens, total.output_tokens) == (1, 582, 3)
    assert total.sketches["ttft"].count == 1


def test_ttft_is_anchored_on_the_first_delta_and_absent_without_one() -> None:
    """amd/gaia#2911, langfuse/langfuse#3046, #3554: TTFT was 0.0 s on warm runs, or the whole duration."""
    scene = Scene()
    scene.start_turn()
    warm = scene.send()
    scene.emit(ev.CallFirstEvent(**scene.ids(warm), latency_ms=0.0))  # `response.created` comes at once and is no delta
    scene.wait(12)
    scene.delta(warm, 12)
    scene.complete(warm, 12, 0.0, ttft_ms=12.0, deltas=1, output_tokens=1)
    whole = scene.send()
    scene.wait(900)
    scene.complete(whole, 900, ttft_ms=None, deltas=0, input_tokens=5, output_tokens=5)
    first, second = Rollup().fold_all(scene.events).call_rows()
    assert (first.latency_ms, first.ttft_ms) == (0.0, 12.0)
    assert (second.ttft_ms, second.tpot_ms) == (None, None)
    assert second.e2e_rate == pytest.approx(5 / 0.9)


def test_ttft_of_a_reasoning_model() -> None:
    """kubernetes-sigs/inference-perf#559: TTFT was null or inflated where reasoning comes first."""
    clock, sink = HandClock(), ListSink()
    timer = CallTimer(clock, Emitter(sink, clock, "h0-1-a"), Pace(), {"call": "c"})
    timer.sent(
        clock.mono_ns(), model="m", transport="websocket", reuse="first", input_items=1, size=1, size_full=1,
        warmup=False, connection=None, lane=None,
    )  # fmt: skip
    told: list[tuple[Channel, int]] = [("reasoning", 80), ("reasoning", 900), ("text", 1_020)]
    for channel, after_ms in told:
        clock.wait(after_ms)
        timer.batch([b""])
        timer.delta(channel, 4)
        timer.settle()
    timer.ended("completed", timer.timing())
    (row,) = Rollup().fold_all(sink.events).call_rows()
    assert (row.ttft_ms, row.visible_ttft_ms, row.channel) == (80.0, 2_000.0, "reasoning")


def test_no_cache_ratio_before_there_is_one() -> None:
    """openai/codex#43615: "Cache 0 %" was shown before any data, and over the session instead of the last call."""
    scene = Scene()
    scene.start_turn()
    scene.send()
    assert Rollup().fold_all(scene.events).call_rows()[-1].cache_ratio is None
    scene.call(input_tokens=100, cached_tokens=None, output_tokens=1)
    rollup = Rollup().fold_all(scene.events)
    assert rollup.call_rows()[-1].cache_ratio is None, "not reported is not 0"
    assert rollup.groups.total.cache_ratio is None
    scene.call(input_tokens=200, cached_tokens=150, output_tokens=1)
    scene.call(input_tokens=0, cached_tokens=0, output_tokens=1)
    rollup = Rollup().fold_all(scene.events)
    assert [row.cache_ratio for row in rollup.call_rows()] == [None, None, 0.75, None]
    assert rollup.groups.total.cache_ratio == 0.75


def test_a_provider_that_counts_cached_tokens_beside_the_input_is_flagged_not_guessed() -> None:
    """langfuse/langfuse#13724: guessing the provider's way of counting from the sizes misfires."""
    scene = Scene()
    scene.start_turn()
    scene.call(input_tokens=5, cached_tokens=128_955, output_tokens=1)
    scene.call(input_tokens=100, cached_tokens=50, output_tokens=1)
    rollup = Rollup().fold_all(scene.events)
    flagged, plain = rollup.call_rows()
    assert (flagged.usage_suspect, flagged.cache_ratio, flagged.cost_usd) == (True, None, None)
    assert (flagged.input_tokens, flagged.cached_tokens) == (5, 128_955), "kept as reported"
    assert not plain.usage_suspect
    assert rollup.groups.total.usage_suspect == 1
    assert rollup.groups.total.cache_ratio == 0.5


def test_a_lost_chain_is_an_outcome_counted_once_and_no_error() -> None:
    """can1357/oh-my-pi#925, PrimeIntellect-ai/prime-agent#2314, openai/codex#42787: `previous_response_not_found` was
    fatal, or repeated each turn."""
    scene = Scene()
    turn = scene.start_turn()
    scene.call(sent={"reuse": "first"})
    call = scene.send(reuse="reused")
    scene.send(call, attempt=2, reuse="not_found", bytes_up=4000)
    scene.complete(call, 40, 10, input_tokens=1, output_tokens=1)
    scene.call()
    scene.finish_turn()
    rollup = Rollup().fold_all(scene.events)
    assert rollup.turns[turn].status == "completed"
    assert dict(rollup.groups.total.reuse) == {"first": 1, "not_found": 1, "reused": 1}
    assert dict(rollup.groups.total.errors) == {}
    summary = rollup.summary()
    assert (summary.calls, summary.reused_calls, summary.full_resends) == (3, 2, 1)


def test_made_up_model_names_do_not_make_series_without_end() -> None:
    """BerriAI/litellm#39136, #12159: every mistyped model name minted a series that was never collected."""
    scene = Scene()
    for number in range(10_000):
        scene.complete(scene.send(model=f"typo-{number}"), 1, error_code=f"code-{number}", status="failed")
    scene.call(sent={"model": "gpt-5"})
    groups = Rollup(max_models=20, max_turns=50).fold_all(scene.events).groups
    assert len(groups.models) == 22
    assert groups.models[OTHER].calls == 10_000 - 20
    assert groups.models["gpt-5"].calls == 1
    assert len(groups.total.errors) <= 65
    assert sum(groups.total.errors.values()) == 10_000


def test_hidden_reasoning_does_not_make_an_absurd_rate() -> None:
    """chenyme/grok2api#949: billed tokens divided by a tail of 64 to 243 ms gave 23,609 tokens/s."""
    scene = Scene()
    scene.start_turn()
    scene.call(ttft_ms=9_000, decode_ms=100, output_tokens=2_361, reasoning_tokens=2_300)
    scene.call(ttft_ms=900, decode_ms=100, output_tokens=400, reasoning_tokens=None)
    scene.call(ttft_ms=400, decode_ms=500, output_tokens=401, reasoning_tokens=None)
    scene.call(ttft_ms=500, decode_ms=2_000, output_tokens=2_361, reasoning_tokens=2_300)
    hidden, short_tail, fair, unseen = Rollup().fold_all(scene.events).call_rows()
    assert (hidden.decode_rate, short_tail.decode_rate, unseen.decode_rate) == (None, None, None)
    assert hidden.rate == pytest.approx(2_361 / 9.1)
    assert short_tail.rate == pytest.approx(400.0)
    assert fair.rate == pytest.approx(800.0)


def test_a_step_too_short_to_time_leaves_the_reading() -> None:
    """MoonshotAI/kimi-code#3666: the rate blinked to nothing on short steps."""
    from agent_core.telemetry.rollup.live import LiveRate

    rate = LiveRate(0)
    assert rate.rate(1 * MS) is None
    rate.sample(100 * MS, 50)
    assert rate.rate(100 * MS) == pytest.approx(500.0)
    assert LiveRate(0).rate(10 * MS) is None


def test_a_running_bar_grows_between_events() -> None:
    """Azure/Durable-Task-Scheduler#38: a running bar stood at 0 until the next event."""
    scene = Scene()
    scene.start_turn()
    scene.start_tool()
    rollup = Rollup().fold_all(scene.events)
    now_ns = scene.clock.wall_ns() + 700 * MS
    assert rollup.turn_now(scene.turn, now_ns).stages_ms["client_tool"] == 700.0
    assert rollup.turn_now(scene.turn, now_ns).duration_ms == 700.0
    assert rollup.turns[scene.turn].duration_ms == 0.0, "the look ahead is a copy"


def test_times_keep_their_microseconds() -> None:
    """langfuse/langfuse#14725: truncating to milliseconds lost updates."""
    from agent_core.telemetry.codec import decode_event, encode_event
    from agent_core.telemetry.rollup.axis import parse_time_ns

    scene = Scene()
    scene.wait(0.001)
    scene.start_session()
    event = decode_event(encode_event(scene.events[0]))
    assert event is not None
    assert event.time.endswith(".000001Z")
    assert parse_time_ns(event.time) == scene.clock.wall_ns()
