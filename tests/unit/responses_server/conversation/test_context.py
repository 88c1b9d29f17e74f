"""Contexts: views never change, chains append in place, forks copy."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.responses_server.conversation.context import Context, Joined, View


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.lists(st.integers(0, 9), max_size=4)), max_size=12))
def test_views_are_values(steps: list[tuple[int, list[int]]]) -> None:
    """Whatever is extended, every context ever made still reads as the plain lists that it was made of."""
    made: list[tuple[Context, list[int], list[int]]] = [(Context.empty(), [], [])]
    for parent_index, added in steps:
        parent, items, tokens = made[parent_index % len(made)]
        new_tokens = [10 + value for value in added for _ in range(2)]
        child = parent.extended(added, new_tokens, ())
        made.append((child, items + added, tokens + new_tokens))
        for context, expected_items, expected_tokens in made:
            assert list(context.items) == expected_items
            assert list(context.tokens) == expected_tokens


def test_a_chain_shares_one_buffer() -> None:
    first = Context.empty().extended(["a"], [1], ())
    second = first.extended(["b"], [2], ())
    assert second._buffer is first._buffer
    assert first.extended(["c"], [3], ())._buffer is not first._buffer


def test_calls_are_those_of_the_view() -> None:
    first = Context.empty().extended(["call"], [], [("call_1", 0, 1)])
    second = first.extended(["other"], [], [("call_2", 0, 1)])
    fork = first.extended(["third"], [], [("call_3", 0, 1)])
    assert [first.knows_call(f"call_{n}") for n in (1, 2, 3)] == [True, False, False]
    assert [second.knows_call(f"call_{n}") for n in (1, 2, 3)] == [True, True, False]
    assert [fork.knows_call(f"call_{n}") for n in (1, 2, 3)] == [True, False, True]


def test_calls_with_one_id_wait_for_an_output_each() -> None:
    first = Context.empty().extended(["call", "call"], [], [("c", 0, 1), ("c", 1, 1)])
    second = first.extended(["output"], [], [("c", 0, -1)])
    third = second.extended(["output", "call"], [], [("c", 0, -1), ("c", 1, 1)])
    fork = first.extended(["output", "output"], [], [("c", 0, -1), ("c", 1, -1)])
    assert [view.open_calls("c") for view in (first, second, third, fork)] == [2, 1, 1, 0]
    assert fork.knows_call("c") and not Context.empty().open_calls("c")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers()), st.lists(st.integers()), st.integers(-12, 12), st.slices(8))
def test_sequences_behave_like_lists(first: list[int], second: list[int], index: int, cut: slice) -> None:
    view = View([*first, *second, 99], len(first) + len(second))
    joined = Joined(first, second)
    plain = first + second
    for sequence in (view, joined):
        assert len(sequence) == len(plain)
        assert list(sequence) == plain
        assert list(sequence[cut]) == plain[cut]
        if -len(plain) <= index < len(plain):
            assert sequence[index] == plain[index]
        else:
            with pytest.raises(IndexError):
                sequence[index]
