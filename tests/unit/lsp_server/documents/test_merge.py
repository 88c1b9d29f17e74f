from __future__ import annotations

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from lsp_server.documents import merge
from lsp_server.documents.merge import Hunk, apply, carried_over, hunks, placed, survives

LINES = st.lists(st.sampled_from(["a\n", "bb\n", "ccc\r\n", "d\r", "é😀\n", "\n"]), max_size=12).map("".join)
texts = st.one_of(LINES, st.text("ab\n\r", max_size=20))


@given(old=texts, new=texts)
@settings(max_examples=300, deadline=None)
def test_hunks_make_the_new_text_and_cut_no_line_end_in_two(old: str, new: str) -> None:
    found = hunks(old, new)
    assert apply(old, found) == new
    for before, after in zip(found, found[1:], strict=False):
        assert before.end <= after.start
    for hunk, (start, end) in zip(found, placed(found), strict=True):
        assert new[start:end] == hunk.text
        for text, offsets in ((old, (hunk.start, hunk.end)), (new, (start, end))):
            assert not any(text[offset - 1 : offset + 1] == "\r\n" for offset in offsets if offset)


@given(old=texts, new=texts, between=st.integers(0, 12))
@settings(max_examples=200, deadline=None)
def test_texts_compared_in_stretches_come_out_the_same(old: str, new: str, between: int) -> None:
    common = "".join(f"common {number}\n" for number in range(between))
    old, new = f"{old}\n{common}{new}", f"{new}\n{common}{old}"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"LONG": 8, "AHEAD": (2, 9), "ANCHOR": 10}.items():
            patch.setattr(merge, name, value)
        found = hunks(old, new)
    assert apply(old, found) == new
    for before, after in zip(found, found[1:], strict=False):
        assert before.end <= after.start


def test_changes_far_apart_in_a_large_text_stay_apart() -> None:
    lines = [f"line {number} of many, with some words in it\n" for number in range(90_000)]
    new = lines[:]
    new[7:9], new[44_000:44_000], new[88_000] = ["changed\n"], ["inserted\n", "lines\n"], "the last\n"
    old_text, new_text = "".join(lines), "".join(new)
    found = hunks(old_text, new_text)
    assert apply(old_text, found) == new_text
    assert len(found) == 3 and max(hunk.end - hunk.start for hunk in found) < 100
    typed = hunks(old_text, old_text.replace("line 20000 ", "line 20000 typed "))
    assert carried_over(found, typed) is not None


edits = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5), st.text("xy\n", max_size=4)), max_size=3)


def _hunks_of(text: str, given_edits: list[tuple[int, int, str]]) -> list[Hunk]:
    found: list[Hunk] = []
    for at, gone, new in sorted(given_edits):
        start = min(at, len(text))
        end = min(start + gone, len(text))
        if (not found or start > found[-1].end) and text[start:end] != new:
            found.append(Hunk(start, end, new))
    return found


@given(text=st.text("abc\n", max_size=40), mine=edits, theirs=edits)
@settings(max_examples=300, deadline=None)
def test_carried_over_changes_keep_both_sides(
    text: str, mine: list[tuple[int, int, str]], theirs: list[tuple[int, int, str]]
) -> None:
    ours, others = _hunks_of(text, mine), _hunks_of(text, theirs)
    moved = carried_over(ours, others)
    touch = any(a.start <= b.end and b.start <= a.end for a in ours for b in others)
    if moved is None:
        assert touch
        return
    assert not touch
    # in either order the same text comes out, with every new piece in it
    both = apply(apply(text, others), moved)
    back = carried_over(others, ours)
    assert back is not None and apply(apply(text, ours), back) == both


typing = st.lists(st.tuples(st.integers(0, 40), st.text("uv", min_size=1, max_size=4)), max_size=3)


@given(text=st.text("abc\n", min_size=1, max_size=40), mine=edits, theirs=typing)
@example(text="\n\n", mine=[(0, 1, "")], theirs=[(1, "u")])
@settings(max_examples=300, deadline=None)
def test_an_edit_that_was_not_made_is_never_taken_for_made(
    text: str, mine: list[tuple[int, int, str]], theirs: list[tuple[int, str]]
) -> None:
    """Whatever the user typed instead, as long as it was not the very same."""
    ours = _hunks_of(text, mine)
    expected = apply(text, ours)
    assume(expected != text)
    typed = apply(text, _hunks_of(text, [(at, 0, word) for at, word in theirs]))
    assert not survives(ours, text, expected, typed)


def test_typing_elsewhere_lets_an_edit_survive_and_in_its_place_it_does_not() -> None:
    base = "one\ntwo\nthree\n"
    ours = hunks(base, "one\nTWO\nthree\n")
    expected = "one\nTWO\nthree\n"
    assert survives(ours, base, expected, "zero\none\nTWO\nthree\nfour\n")
    assert not survives(ours, base, expected, "one\ntwo\nthree\n")
    assert not survives(ours, base, expected, "one\nTxO\nthree\n")
    assert not survives(ours, base, expected, "one\nthree\n")


def test_a_deletion_that_was_not_made_is_not_hidden_by_equal_characters() -> None:
    base = "cc\nc\ncbc"
    ours = [Hunk(5, 7, "")]
    assert not survives(ours, base, apply(base, ours), base + "y")
    assert survives(ours, base, apply(base, ours), "y" + apply(base, ours))


def test_a_long_stretch_is_one_replacement() -> None:
    old = "".join(f"line {number}\n" for number in range(2_000))
    new = "".join(f"other {number}\n" for number in range(2_000))
    assert len(hunks(old, new)) == 1 and apply(old, hunks(old, new)) == new
