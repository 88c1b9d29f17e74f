from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.responses_server.engine import Delta, ItemEnd, TextDelta, ToolCallDelta, ToolCallStart
from agent_core.responses_server.engines.upstream.interleaved import Interleaved


def start(name: str) -> ToolCallStart:
    return ToolCallStart(name=name, call_id=name)


def test_the_oldest_item_is_passed_on_as_it_grows() -> None:
    items = Interleaved()
    assert items.open_call("a", start("a")) == [start("a")]
    assert items.arguments("a", '{"x"') == [ToolCallDelta('{"x"')]
    assert items.open_call("b", start("b")) == []
    assert items.arguments("b", "{}") == []
    assert items.arguments("a", ": 1}") == [ToolCallDelta(": 1}")]
    assert items.close("a") == [ItemEnd(), start("b"), ToolCallDelta("{}")]
    assert items.close("b") == [ItemEnd()]
    assert items.count == 2


def test_an_item_that_ends_early_waits_for_its_turn() -> None:
    items = Interleaved()
    items.open_call("a", start("a"))
    items.open_call("b", start("b"))
    items.arguments("b", "{}")
    assert items.close("b") == []
    assert items.close("a") == [ToolCallDelta("{}"), ItemEnd(), start("b"), ToolCallDelta("{}"), ItemEnd()]


@pytest.mark.parametrize("arguments", ["{", "[1]", '{"a": }', "nonsense", "{} {}", '"text"'])
def test_a_call_whose_arguments_are_no_object_closes_last(arguments: str) -> None:
    items = Interleaved()
    items.open_call("a", start("read"))
    items.arguments("a", arguments)
    assert items.close("a") == []
    assert items.broken == "read"
    assert items.end(cut=False) == [ItemEnd()]


def test_a_call_that_a_limit_cut_off_stays_open_and_is_no_fault() -> None:
    items = Interleaved()
    items.open_call("a", start("a"))
    items.arguments("a", "{}")
    items.open_call("b", start("b"))
    items.arguments("b", '{"x": ')
    assert items.end(cut=True) == [ItemEnd(), start("b"), ToolCallDelta('{"x": ')]


def test_text_that_a_limit_cut_off_stays_open() -> None:
    items = Interleaved()
    items.text("t", "half a sen")
    assert items.end(cut=True) == []


def test_the_input_of_a_free_form_tool_is_any_text() -> None:
    items = Interleaved()
    items.open_call("a", ToolCallStart(name="patch", kind="custom"))
    items.arguments("a", "*** Begin")
    assert items.close("a") == [ItemEnd()]


def test_pieces_for_unknown_calls_and_second_ends_are_dropped() -> None:
    items = Interleaved()
    assert items.arguments("nobody", "{}") == []
    items.text("t", "hi")
    assert items.close("t") == [ItemEnd()]
    assert items.close("t") == []


@given(st.lists(st.tuples(st.integers(0, 3), st.text("ab", min_size=1, max_size=3)), max_size=25))
@settings(max_examples=100)
def test_every_item_comes_whole_and_in_order(pieces: list[tuple[int, str]]) -> None:
    items = Interleaved()
    deltas: list[Delta] = []
    for key, text in pieces:
        deltas += items.text(key, text)
    deltas += items.close_all()
    texts = [""]
    for delta in deltas:
        if isinstance(delta, TextDelta):
            texts[-1] += delta.text
        else:
            texts.append("")
    order = list(dict.fromkeys(key for key, _ in pieces))
    assert texts[:-1] == ["".join(text for each, text in pieces if each == key) for key in order]
