"""Every piece of context keeps within its bound."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.agent.context.fragments import MAX_TOKENS, Fragment, broken_off, capped, cut, listed, message, tokens_of
from agent_core.responses_server.rendering.tokenizer import Tokenizer

ROOT = Path(__file__).resolve().parents[4]
TOKENIZER = Tokenizer()
PROSE_AND_CODE = [ROOT / "README.md", ROOT / "pyproject.toml", *sorted((ROOT / "agent_core" / "model").glob("*.py"))]


@pytest.mark.parametrize("path", PROSE_AND_CODE, ids=lambda path: path.name)
def test_the_estimate_is_not_below_what_a_tokenizer_counts(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert tokens_of(text) >= len(TOKENIZER.encode(text))


@settings(max_examples=40)
@given(st.text(max_size=400), st.integers(min_value=20, max_value=100))
def test_what_is_cut_is_within_its_bound_and_a_prefix(text: str, bound: int) -> None:
    kept = cut(text, bound)
    assert tokens_of(kept) <= bound
    if kept != text:
        body, _, remark = kept.rpartition("\n")
        assert text.startswith(body)
        assert remark.startswith("[cut here:")


def test_text_is_cut_at_a_line_where_that_loses_little() -> None:
    assert cut("one line\n" * 100, 60).split("\n")[-2] == "one line"
    assert cut("x" * 1000, 60).startswith("x" * 100)


@settings(max_examples=40)
@given(st.lists(st.text(max_size=60), max_size=100))
def test_a_list_keeps_within_its_bound_and_says_what_is_missing(lines: list[str]) -> None:
    lines = [line.replace("\n", " ") for line in lines]
    text = listed("documents", "Open:", lines)
    assert tokens_of(text) <= MAX_TOKENS["documents"]
    shown = text.split("\n")[1:]
    if lines and shown != lines:
        assert shown[-1] == f"… and {len(lines) - len(shown) + 1} more"


def test_each_fragment_has_a_bound() -> None:
    for fragment in get_args(Fragment):
        assert tokens_of(capped(fragment, "word " * 100_000)) <= MAX_TOKENS[fragment]


def test_messages_are_items_of_the_wire() -> None:
    assert json.loads(message("developer", "hé"))["content"] == [{"type": "input_text", "text": "hé"}]
    partial = json.loads(broken_off("so far", "cancelled"))
    assert (partial["role"], partial["status"]) == ("assistant", "incomplete")
    assert partial["content"][0]["text"] == "so far\n[broken off: cancelled]"
