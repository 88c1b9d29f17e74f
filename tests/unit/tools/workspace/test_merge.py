"""Three-way merges: theirs come in, ours are never lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.tools.workspace.merge import Clash, merge

BASE = "a\nb\nc\nd\ne\n"


@pytest.mark.parametrize(
    ("ours", "theirs", "expected", "clashes"),
    [
        (BASE, "A\nb\nc\nd\ne\n", "A\nb\nc\nd\ne\n", ()),
        ("a\nb\nc\nd\nE\n", "A\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n", ()),
        ("x\na\nb\nc\nd\ne\n", "a\nb\nc\nD\ne\n", "x\na\nb\nc\nD\ne\n", ()),
        ("a\nb\nc\nd\ne\nx\n", "b\nc\nd\ne\n", "b\nc\nd\ne\nx\n", ()),
        ("a\nb\nC\nd\ne\n", "a\nb\nX\nd\ne\n", "a\nb\nC\nd\ne\n", (Clash(3, 3),)),
        ("a\nb\nX\nd\ne\n", "a\nb\nX\nd\ne\n", "a\nb\nX\nd\ne\n", ()),
        ("a\nb\nC\nd\ne\n", "A\nb\nX\nd\ne\n", "A\nb\nC\nd\ne\n", (Clash(3, 3),)),
        ("a\nb\nC\nd\ne\n", "a\nb\nc\nD\ne\n", "a\nb\nC\nd\ne\n", (Clash(3, 4),)),
        ("", "A\nb\nc\nd\ne\n", "", (Clash(1, 0),)),
        ("a\r\nb\n", "a\n", "a\r\nb\n", (Clash(1, 2),)),
        ("a\nb\nc\nd\ne", "A\nb\nc\nd\ne\n", "A\nb\nc\nd\ne", ()),
    ],
)
def test_merge(ours: str, theirs: str, expected: str, clashes: tuple[Clash, ...]) -> None:
    found = merge(BASE, ours, theirs)
    assert (found.text, found.clashes) == (expected, clashes)


LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "é\u2028x"]), max_size=12)


@settings(max_examples=200, deadline=None)
@given(LINES, st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2), st.integers(0, 2)), max_size=4), LINES)
def test_every_line_that_we_added_is_still_there(
    base: list[str], edits: list[tuple[int, int, int]], theirs: list[str]
) -> None:
    ours = list(base)
    added = []
    for number, (at, _, come) in enumerate(edits):
        new = [f"ours-{number}-{index}" for index in range(come)]
        ours[min(at, len(ours)) : min(at, len(ours))] = new
        added += new
    found = merge(_text(base), _text(ours), _text(theirs))
    assert set(added) <= set(found.text.split("\n"))
    assert merge(_text(base), _text(base), _text(theirs)).text == _text(theirs)
    assert merge(_text(base), _text(ours), _text(base)).text == _text(ours)


def _text(lines: list[str]) -> str:
    return "".join(line + "\n" for line in lines)
