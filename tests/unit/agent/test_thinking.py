"""What is told of a model's reasoning: where it begins, what parts it, what ends it."""

from __future__ import annotations

from agent_core.agent.thinking import Thinking
from agent_core.model.port import CallItem, ItemStarted, ReasoningDelta, Restarted, TextDelta, ToolArgumentsDelta
from agent_core.turns.events import ReasoningDelta as Told
from agent_core.turns.events import ReasoningDone, TurnEvent
from tests.support.model.session import JumpingClock

REASONING = ItemStarted("rs_1", "reasoning", None)
MESSAGE = ItemStarted("msg_1", "message", None)


def told(*items: CallItem | float) -> list[TurnEvent]:
    """The events of a call; a number lets seconds pass."""
    clock = JumpingClock()
    thinking = Thinking("s", "t", clock)
    events: list[TurnEvent] = []
    for item in items:
        if isinstance(item, float):
            clock.jump(item)
        else:
            events += thinking.of(item)
    return [*events, *thinking.end()]


def ends(events: list[TurnEvent]) -> list[ReasoningDone]:
    return [event for event in events if isinstance(event, ReasoningDone)]


def test_it_ends_with_the_answer_and_says_how_long_it_took() -> None:
    events = told(REASONING, 1.5, ReasoningDelta("look "), ReasoningDelta("first"), 0.5, MESSAGE, 9.0, TextDelta("yes"))
    assert [event.text for event in events if isinstance(event, Told)] == ["look ", "first"]
    (done,) = ends(events)
    assert done.text == "look first" and 2_000 <= done.duration_ms < 9_000


def test_items_of_reasoning_that_follow_each_other_are_one_with_a_blank_line_between() -> None:
    (done,) = ends(told(REASONING, ReasoningDelta("a"), REASONING, ReasoningDelta("b"), ToolArgumentsDelta("fc", "{")))
    assert done.text == "a\n\nb"


def test_reasoning_between_two_calls_is_told_apart() -> None:
    events = told(ReasoningDelta("a"), ToolArgumentsDelta("fc_1", "{"), REASONING, ReasoningDelta("b"), MESSAGE)
    assert [done.text for done in ends(events)] == ["a", "b"]


def test_thoughts_that_are_kept_from_us_have_a_time_and_no_text() -> None:
    (done,) = ends(told(REASONING, 3.0, MESSAGE))
    assert done.text == "" and done.duration_ms >= 3_000


def test_a_call_that_starts_anew_leaves_nothing_of_it() -> None:
    (done,) = ends(
        told(REASONING, ReasoningDelta("void"), Restarted("connection_lost"), ReasoningDelta("kept"), MESSAGE)
    )
    assert done.text == "kept"


def test_a_call_that_breaks_off_ends_it_as_well() -> None:
    assert [done.text for done in ends(told(ReasoningDelta("half")))] == ["half"]


def test_without_reasoning_there_is_nothing_to_tell() -> None:
    assert told(MESSAGE, TextDelta("yes")) == []
