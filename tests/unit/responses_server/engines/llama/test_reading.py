from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.responses_server.engine import (
    Delta,
    EngineTool,
    ItemEnd,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from agent_core.responses_server.engines.chat_turns import FlatTools
from agent_core.responses_server.engines.llama.call_format import HERMES
from agent_core.responses_server.engines.llama.reading import Reader

TOOLS = FlatTools([EngineTool(name="read", parameters={}), EngineTool(name="go", namespace="car", parameters={})])
NO_TOOLS = FlatTools([])
CALL = HERMES.spelled([("read", '{"path": "a}b\\"{"}')])
TWO = HERMES.spelled([("read", '{"path": "x"}'), ("car__go", "{}")])


def read(text: str, *, tools: FlatTools = TOOLS, thinking: bool = False, cuts: tuple[int, ...] = ()) -> list[Delta]:
    reader = Reader(HERMES, tools, thinking=thinking)
    deltas: list[Delta] = []
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    for start, end in zip(edges, edges[1:], strict=False):
        deltas += reader.feed(text[start:end])
    return joined(deltas + reader.finish())


def joined(deltas: list[Delta]) -> list[Delta]:
    """Neighbouring pieces of one kind as one."""
    done: list[Delta] = []
    for delta in deltas:
        last = done[-1] if done else None
        if isinstance(delta, TextDelta) and isinstance(last, TextDelta):
            done[-1] = TextDelta(last.text + delta.text)
        elif isinstance(delta, ReasoningDelta) and isinstance(last, ReasoningDelta):
            done[-1] = ReasoningDelta(last.text + delta.text)
        elif isinstance(delta, ToolCallDelta) and isinstance(last, ToolCallDelta):
            done[-1] = ToolCallDelta(last.text + delta.text)
        else:
            done.append(delta)
    return done


def test_plain_text() -> None:
    assert read("Hello. ") == [TextDelta("Hello. ")]


def test_a_call_with_brackets_and_quotes_in_its_arguments() -> None:
    assert read(CALL) == [ToolCallStart(name="read"), ToolCallDelta('{"path": "a}b\\"{"}'), ItemEnd()]


def test_blank_between_text_and_a_call_belongs_to_neither() -> None:
    assert read("I look.\n" + CALL)[:2] == [TextDelta("I look."), ToolCallStart(name="read")]


def test_calls_in_a_row_keep_their_namespaces() -> None:
    assert read(TWO) == [
        ToolCallStart(name="read"),
        ToolCallDelta('{"path": "x"}'),
        ItemEnd(),
        ToolCallStart(name="go", namespace="car"),
        ToolCallDelta("{}"),
        ItemEnd(),
    ]


def test_reasoning_comes_before_the_answer() -> None:
    assert read("<think>\nhm\n</think>\n\nYes.") == [ReasoningDelta("hm"), TextDelta("Yes.")]
    assert read("hm</think>Yes.", thinking=True) == [ReasoningDelta("hm"), TextDelta("Yes.")]


def test_without_tools_a_call_is_text() -> None:
    assert read(CALL, tools=NO_TOOLS) == [TextDelta(CALL)]


@pytest.mark.parametrize("text", ["<tool_call>", "a <tool", "<thin", "x\n \n"])
def test_what_only_looked_like_a_mark_is_not_lost(text: str) -> None:
    assert read(text) == [TextDelta(text)]


def test_arguments_are_passed_on_while_they_grow() -> None:
    reader = Reader(HERMES, TOOLS, thinking=False)
    reader.feed(HERMES.head + "read" + HERMES.between)
    assert reader.feed('{"path": "lo') == [ToolCallDelta('{"path": "lo')]
    assert not reader.is_complete


def test_half_a_call_is_not_the_end() -> None:
    reader = Reader(HERMES, TOOLS, thinking=False)
    reader.feed(CALL[:-25])
    assert not reader.is_complete
    assert reader.calls == 0


TEXTS = st.sampled_from(
    ["Hello there.", "One\n\n" + CALL, TWO, "<think>\na\n\nb</think>\n\nend", "<think>x</think>" + CALL, "a < b <tool"]
)


@given(TEXTS, st.lists(st.integers(0, 400), max_size=12).map(tuple))
@settings(max_examples=200)
def test_where_the_text_is_cut_changes_nothing(text: str, cuts: tuple[int, ...]) -> None:
    assert read(text, cuts=cuts) == read(text)
