"""The list of a session's turns: it says what the events said, whoever began them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.clock import SystemClock
from agent_core.errors import UsageError
from agent_core.hosting.queue import TurnList
from agent_core.turns import events as told
from agent_core.turns.views import TurnView


def make() -> TurnList:
    return TurnList("s", SystemClock())


def test_a_turn_is_queued_runs_and_ends() -> None:
    turns = make()
    turn = turns.add("fix it\nand more", "")
    assert (turn.status, turn.title, turns.title) == ("queued", "fix it", "fix it")
    turns.note(told.TurnBegan(session_id="s", turn_id=turn.turn_id, title="fix it"))
    assert turns.open == [turn] and turn.status == "running"
    turns.note(turns.ended(turn, "completed", "done"))
    assert (turn.status, turn.text, turns.open) == ("completed", "done", [])


def test_a_turn_that_another_process_started_is_known_by_its_first_event() -> None:
    turns = make()
    turns.note(told.TurnBegan(session_id="s", turn_id="t9", title="elsewhere"))
    assert turns.known("t9").status == "running" and turns.title == "elsewhere"
    with pytest.raises(UsageError) as unknown:
        turns.known("nope")
    assert unknown.value.code == "unknown_turn"


def test_a_running_turn_is_not_undone_and_an_undoing_can_be() -> None:
    turns = make()
    turn = turns.add("x", "")
    with pytest.raises(UsageError) as running:
        turns.check_undo(turn.turn_id)
    assert running.value.code == "turn_running"
    turns.note(turns.ended(turn, "failed", ""))
    turns.check_undo(turn.turn_id)
    undone = told.TurnUndone(session_id="s", turn_id=turn.turn_id, restored=("a",), conflicts=(), undo_id="undo_1")
    turns.note(undone)
    turns.check_undo("undo_1")
    assert turns.knows("undo_1") and turns.get("undo_1") is None


def test_what_is_taken_over_stands_for_the_same_turns() -> None:
    turns = make()
    turns.merge(
        [TurnView(turn_id="a", title="a", task="a", started=""), TurnView(turn_id="b", title="b", task="b", started="")]
    )
    theirs = TurnView(turn_id="a", title="a", task="all of a", started="", status="completed")
    turns.merge([theirs])
    assert [turn.turn_id for turn in turns] == ["b", "a"] and turns.latest is theirs


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["began", "completed", "failed", "cancelled"])), max_size=30)
)
def test_the_last_word_on_a_turn_counts(words: list[tuple[int, str]]) -> None:
    turns, expected = make(), dict[str, str]()
    for number, word in words:
        turn_id = f"t{number}"
        if word == "began":
            turns.note(told.TurnBegan(session_id="s", turn_id=turn_id, title="x"))
            expected[turn_id] = "running"
        elif (known := turns.get(turn_id)) is not None:
            turns.note(turns.ended(known, word, ""))  # type: ignore[arg-type]
            expected[turn_id] = word
    assert {turn.turn_id: turn.status for turn in turns} == expected
