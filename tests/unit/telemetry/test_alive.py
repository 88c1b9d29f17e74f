"""A source says that it lives, every 15 s while something runs and never else."""

from __future__ import annotations

from agent_core.telemetry import events as ev
from agent_core.telemetry.alive import ALIVE_S, Heart, Pulse
from agent_core.telemetry.emitter import Emitter, FanOut, ListSink
from agent_core.telemetry.rollup.running import Running
from tests.support.telemetry.scene import HandClock, Scene


def beating() -> tuple[HandClock, Emitter, ListSink, Heart]:
    clock, kept, pulse = HandClock(), ListSink(), Pulse()
    emitter = Emitter(FanOut((kept, pulse)), clock, "h000000-1-aaaaaa")
    return clock, emitter, kept, Heart(pulse, emitter, clock)


def signs(kept: ListSink) -> int:
    return sum(isinstance(event, ev.SourceAlive) for event in kept.events)


def test_every_fifteen_seconds_while_a_turn_runs_and_no_more_often() -> None:
    clock, emitter, kept, heart = beating()
    heart.beat()
    assert signs(kept) == 0, "nothing runs"
    emitter.emit(ev.TurnStarted(session="s", turn="t"))
    for _ in range(60):
        clock.wait(1000)
        assert 0 < heart.beat() <= ALIVE_S
    assert signs(kept) == 4
    emitter.emit(ev.TurnFinished(turn="t", status="completed", duration_ms=1, stages_ms={}, calls=0, tools=0))
    clock.wait(60_000)
    heart.beat()
    assert signs(kept) == 4
    (first, *_) = (event for event in kept.events if isinstance(event, ev.SourceAlive))
    assert (first.source, first.seq) == ("h000000-1-aaaaaa", 2)


def test_a_call_outside_of_turns_counts_too() -> None:
    clock, emitter, kept, heart = beating()
    sent = {"model": "m", "transport": "http", "attempt": 1, "reuse": "first", "input_items": 1, "bytes_up": 1}
    emitter.emit(ev.CallSent(call="c", **sent))  # type: ignore[arg-type]
    clock.wait(16_000)
    heart.beat()
    emitter.emit(ev.CallCompleted(call="c", status="completed", duration_ms=16_000))
    clock.wait(16_000)
    heart.beat()
    assert signs(kept) == 1


def test_the_thread_ends_at_once_whether_or_not_something_runs() -> None:
    for runs in (False, True):
        _, emitter, _, heart = beating()
        if runs:
            emitter.emit(ev.TurnStarted(session="s", turn="t"))
        heart.start()
        heart.close()
        assert not heart._thread.is_alive()


def test_a_sign_of_life_is_no_activity() -> None:
    scene, running = Scene(), Running()
    scene.start_turn()
    scene.wait(40)
    scene.send()
    scene.wait(5_000)
    scene.emit(ev.SourceAlive())
    for event in scene.events:
        running.fold(event)
    (call, turn) = running.interruptions()
    assert isinstance(turn, ev.TurnFinished)
    assert turn.duration_ms == 40
    assert (call.seq, turn.seq) == (4, 5)
