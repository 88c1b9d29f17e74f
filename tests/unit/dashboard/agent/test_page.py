"""The reducer of a conversation: events in, blocks out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent_core.turns.events import (
    ApprovalEnded,
    InputTaken,
    Notice,
    ReasoningDelta,
    ReasoningDone,
    TextDelta,
    TextVoided,
    ToolBegan,
    ToolEnded,
    TurnUndone,
)
from dashboard.agent.conversation.blocks import Asked, Block, Ended, Said, Thought, Tool, Undone, You
from dashboard.agent.conversation.page import Conversation
from tests.support.terminal.conversation_page import ANSWER, OF, asked, began, deltas, done, shown, story, turn_ended

MARKDOWN = st.lists(
    st.sampled_from(
        ["word ", "\n", "\n\n", "```\n", "```python\n", "- item\n", "    code\n", "# head\n", "`x`", "日本", "1. a\n"]
    ),
    max_size=60,
).map("".join)


def page(*events: object) -> Conversation:
    conversation = Conversation()
    for event in events:
        conversation.apply(event)  # type: ignore[arg-type]
    conversation.refresh()
    return conversation


def said(blocks: list[Block]) -> list[str]:
    return [block.text for block in blocks if isinstance(block, Said)]


def test_a_whole_turn() -> None:
    conversation = page(*story())
    kinds = [type(block).__name__ for block in conversation.blocks]
    assert kinds[0] == "You" and kinds[-4:] == ["Tool", "Tool", "Tool", "Asked"] and "PlanList" in kinds
    assert [approval.approval_id for approval in conversation.open_approvals] == ["appr_1"]
    conversation.apply(turn_ended())
    assert not conversation.open_approvals and conversation.running is None
    assert isinstance(last := conversation.blocks[-1], Ended) and last.calls == 4


@given(MARKDOWN, st.integers(1, 9))
def test_however_it_streams_the_page_reads_the_same(text: str, size: int) -> None:
    at_once, streamed = page(began(), done(text)), Conversation()
    streamed.apply(began())
    for number, delta in enumerate(deltas(text, size)):
        streamed.apply(delta)
        if number % 3 == 0:
            streamed.refresh()
    streamed.apply(done(text))
    streamed.refresh()
    assert "".join(shown(streamed.blocks)).replace(" ", "") == "".join(shown(at_once.blocks)).replace(" ", "")


def test_what_was_read_is_not_drawn_anew() -> None:
    conversation = page(began())
    seen: list[Block] = []
    for delta in deltas(ANSWER, 5):
        conversation.apply(delta)
        changed = conversation.refresh()
        stays = max(0, len(seen) - 1)
        assert conversation.blocks[:stays] == seen[:stays] and changed >= stays
        seen = list(conversation.blocks)
    finished = [block for block in seen if isinstance(block, Said) and not block.open]
    conversation.apply(done(ANSWER))
    assert [block for block in conversation.blocks if block in finished] == finished


def test_the_whole_text_stands_for_deltas_that_said_something_else() -> None:
    conversation = page(began(), *deltas("one two"), done("something else"))
    assert said(conversation.blocks) == ["something else"]


def test_words_between_deltas_do_not_double_the_text() -> None:
    steered = InputTaken(input_id="i1", text="also this", fate="steered", **OF)
    conversation = page(
        began(), *deltas("first half "), steered, *deltas("second half"), done("first half second half")
    )
    assert said(conversation.blocks) == ["first half ", "second half"]


def test_a_reply_that_breaks_off_is_taken_away() -> None:
    conversation = page(began(), *deltas("half an ans"), TextVoided(cause="connection lost", **OF), *deltas("whole"))
    assert said(conversation.blocks) == ["whole"]


def test_reasoning_is_one_folded_line() -> None:
    conversation = page(began(), ReasoningDelta(text="first I ", **OF), ReasoningDelta(text="look", **OF))
    assert [block.text for block in conversation.blocks if isinstance(block, Thought)] == ["first I look"]
    conversation.apply(ReasoningDone(duration_ms=4_000, text="", **OF))
    (thought,) = (block for block in conversation.blocks if isinstance(block, Thought))
    assert (thought.text, thought.seconds) == ("first I look", 4.0)
    assert "  thought for 4.00 s ▸" in shown(conversation.blocks)
    assert "  first I look" in shown(conversation.blocks, opened=[thought.key])
    assert not any(isinstance(block, Thought) for block in page(began(), ReasoningDone(duration_ms=9, **OF)).blocks)


def test_a_delta_costs_an_append() -> None:
    conversation = page(began())
    conversation.apply(TextDelta(text="x", **OF))
    before = list(conversation.blocks)
    for _ in range(5000):
        conversation.apply(TextDelta(text="word ", **OF))
    assert conversation.blocks == before
    conversation.refresh()
    assert len(said(conversation.blocks)[-1]) == 25_001


def test_what_was_allowed_here_is_told_by_its_tool_alone() -> None:
    for decision, by, kept in (("allow", "tui", False), ("allow", "lsp", True), ("deny", "tui", True)):
        conversation = page(began(), asked())
        conversation.apply(ApprovalEnded(approval_id="appr_1", decision=decision, by=by, **OF))  # type: ignore[arg-type]
        assert any(isinstance(block, Asked) for block in conversation.blocks) == kept


def test_a_tool_is_one_block_from_begin_to_end() -> None:
    conversation = page(began(), ToolBegan(tool_call_id="c", name="read", arguments="{}", **OF))
    end = ToolEnded(
        tool_call_id="c", name="read", status="ok", summary="", diff="", files_changed=(), duration_ms=1, **OF
    )
    conversation.apply(end)
    tools = [block for block in conversation.blocks if isinstance(block, Tool)]
    assert len(tools) == 1 and tools[0].status == "ok" and tools[0].arguments == "{}"


def test_undone_and_put_back() -> None:
    undone = TurnUndone(restored=("a.py",), conflicts=(), undo_id="undo_1", **OF)
    conversation = page(began(), turn_ended(), undone)
    assert conversation.last_turn == "turn_1" and conversation.last_undo == "undo_1"
    conversation.apply(
        TurnUndone(session_id="sess_1", turn_id="undo_1", restored=("a.py",), conflicts=(), undo_id="undo_2")
    )
    first, second = (block for block in conversation.blocks if isinstance(block, Undone))
    assert not first.again and second.again


def test_a_message_that_waits_shows_when_its_turn_begins() -> None:
    conversation = Conversation()
    conversation.say("[paste 1: 900 lines]", "turn_1", waits=True)
    assert conversation.blocks == []
    conversation.apply(began("all 900 lines"))
    assert [block.text for block in conversation.blocks if isinstance(block, You)] == ["[paste 1: 900 lines]"]


def test_why_a_turn_failed_is_told_once() -> None:
    why = Notice(severity="error", text="nothing answers (check it)")
    told = page(began(), why, turn_ended("failed", "nothing answers")).blocks
    assert [getattr(block, "text", "") for block in told[-2:]] == ["nothing answers (check it)", ""]
    [*_, ended] = page(began(), turn_ended("failed", "nothing answers")).blocks
    assert isinstance(ended, Ended) and ended.text == "nothing answers"
