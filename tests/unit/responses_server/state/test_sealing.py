"""Sealed texts: back as they were, or None."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.responses_server.state.sealing import seal, unseal

_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=50, deadline=None)
@given(_values)
def test_what_is_sealed_comes_back(value: Any) -> None:
    assert unseal("compaction", seal("compaction", value)) == value


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=40), st.integers(0, 200), st.characters())
def test_nothing_else_is_taken(text: str, at: int, char: str) -> None:
    """Neither other texts nor damaged ones; never an exception."""
    assert unseal("reasoning", text) is None
    sealed = seal("reasoning", "the whole of it")
    at = 5 + at % (len(sealed) - 5)
    damaged = sealed[:at] + char + sealed[at + 1 :]
    assert unseal("reasoning", damaged) in (None, "the whole of it")
    assert unseal("reasoning", sealed[:at]) is None


def test_kinds_and_shapes_are_kept_apart() -> None:
    assert unseal("compaction", seal("reasoning", "x")) is None
    assert unseal("reasoning", seal("reasoning", {"a": 1}), str) is None


def test_a_small_text_can_not_unpack_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_core.responses_server.state.sealing.MAX_BYTES", 10_000)
    assert unseal("reasoning", seal("reasoning", "x" * 9_000)) is not None
    assert unseal("reasoning", seal("reasoning", "x" * 11_000)) is None
