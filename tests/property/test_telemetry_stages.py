"""The five stages add up to the turn exactly, at the source and in the roll-up, over random interleavings."""

from __future__ import annotations

from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.telemetry import events as ev
from agent_core.telemetry.rollup.rollup import Rollup
from agent_core.telemetry.rollup.running import Running
from agent_core.telemetry.rollup.stages import STAGES, ms_to_ns
from tests.support.telemetry.scene import MS, Scene

Kind = Literal["call", "tool", "approval"]
Span = tuple[Kind, str, int, int, int]
"""Kind, id, start, end and inference, in ms from the turn's start."""

spans = st.lists(
    st.tuples(
        st.sampled_from(["call", "call", "tool", "tool", "approval"]),
        st.integers(0, 60),
        st.integers(0, 40),
        st.integers(0, 60),
    ),
    max_size=14,
).map(
    lambda drawn: [
        (kind, f"{kind}_{number}", start, start + length, inference)
        for number, (kind, start, length, inference) in enumerate(drawn)
    ]
)
tails = st.integers(0, 20)


def by_instants(drawn: list[Span], duration: int) -> dict[str, int]:
    """The rule, spelt out: look at each millisecond and ask what runs."""
    split: dict[str, int] = dict.fromkeys(STAGES, 0)
    for instant in range(duration):
        running = {kind for kind, _, start, end, _ in drawn if start <= instant < end}
        split[
            "api_overhead" if "call" in running
            else "client_tool" if "tool" in running
            else "approval" if "approval" in running
            else "client_other"
        ] += 1  # fmt: skip
    asked = sum(min(end - start, inference) for kind, _, start, end, inference in drawn if kind == "call")
    split["inference"] = min(split["api_overhead"], asked)
    split["api_overhead"] -= split["inference"]
    return split


def begin(scene: Scene, kind: Kind, name: str) -> None:
    if kind == "call":
        scene.send(name)
    elif kind == "tool":
        scene.start_tool("read", name)
    else:
        scene.open_approval(name)


def play(drawn: list[Span], duration: int) -> Scene:
    """Emit the spans in the order of time; what ends and starts at one instant ends first."""
    scene = Scene()
    scene.start_session()
    scene.start_turn()
    moments = [(end, 0, "end", span) for span in drawn for end in [span[3]]]
    moments += [(start, 1, "start", span) for span in drawn for start in [span[2]]]
    now = 0
    for at, order, what, (kind, name, start, end, inference) in sorted(moments):
        if start == end and order == 0:
            continue
        scene.wait(at - now)
        now = at
        if what == "start":
            begin(scene, kind, name)
        if what == "end" or start == end:
            if kind == "call":
                scene.complete(name, end - start, inference)
            elif kind == "tool":
                scene.finish_tool(name, end - start)
            else:
                scene.resolve_approval(name, end - start)
    scene.wait(duration - now)
    return scene


@settings(max_examples=150, deadline=None)
@given(spans, tails)
def test_source_and_roll_up_split_a_turn_by_the_rule(drawn: list[Span], tail: int) -> None:
    duration = max((end for _, _, _, end, _ in drawn), default=0) + tail
    expected = {stage: ms * MS for stage, ms in by_instants(drawn, duration).items()}
    scene = play(drawn, duration)
    turn = scene.turn
    scene.finish_turn()

    assert scene.stages.stages_ns() == expected
    assert sum(expected.values()) == duration * MS == scene.stages.duration_ns()
    row = Rollup().fold_all(scene.events).turns[turn]
    assert row.stages_ns == expected
    assert sum(row.stages_ns.values()) == row.duration_ns == duration * MS

    told = scene.events[-1]
    assert isinstance(told, ev.TurnFinished)
    wrong = ev.TurnFinished(
        **{field: getattr(told, field) for field in ("source", "seq", "time", "mono_ns", "session", "turn")},
        status="completed",
        duration_ms=told.duration_ms,
        stages_ms={"inference": told.duration_ms + 1.0},
        calls=0,
        tools=0,
    )
    own = Rollup().fold_all([*scene.events[:-1], wrong]).turns[turn]
    assert own.stages_ns == expected, "a split that does not add up is replaced by the one of the events"


@settings(max_examples=80, deadline=None)
@given(spans, tails, st.integers(0, 40))
def test_a_turn_cut_off_anywhere_still_adds_up(drawn: list[Span], tail: int, cut: int) -> None:
    duration = max((end for _, _, _, end, _ in drawn), default=0) + tail
    scene = play(drawn, duration)
    seen = scene.events[: 2 + cut]
    running = Running()
    for event in seen:
        running.fold(event)
    ends = running.interruptions()
    rollup = Rollup().fold_all([*seen, *ends])
    row = rollup.turns[scene.turn]
    assert row.status == "interrupted"
    assert row.duration_ns == seen[-1].mono_ns - seen[1].mono_ns
    assert sum(row.stages_ns.values()) == row.duration_ns
    assert all(ns >= 0 for ns in row.stages_ns.values())
    assert not [call for call in rollup.calls.values() if call.running]
    finished = ends[-1]
    assert isinstance(finished, ev.TurnFinished)
    assert sum(ms_to_ns(ms) for ms in finished.stages_ms.values()) == row.duration_ns
    assert [event.seq for event in ends] == [seen[-1].seq + 1 + number for number in range(len(ends))]


@settings(max_examples=60, deadline=None)
@given(spans, st.data())
def test_a_running_turn_adds_up_at_every_look(drawn: list[Span], data: st.DataObject) -> None:
    duration = max((end for _, _, _, end, _ in drawn), default=0)
    scene = play(drawn, duration)
    rollup = Rollup()
    for event in scene.events:
        rollup.fold(event)
        if scene.turn in rollup.turns:
            now_ns = rollup.axis.place(event, settled=False)
            assert now_ns is None, "an event is placed once"
            ahead_ns = data.draw(st.integers(0, 5)) * MS
            row = rollup.turns[scene.turn]
            later = rollup.turn_now(scene.turn, row.started_ns + row.duration_ns + ahead_ns)
            assert later.duration_ns == row.duration_ns + ahead_ns
            assert sum(later.stages_ns.values()) == later.duration_ns
