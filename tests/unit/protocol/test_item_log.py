"""Rolling digests stand for prefixes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.protocol.item_log import EMPTY_DIGEST, Items, roll, roll_all

raws = st.lists(st.binary(max_size=8), max_size=6)


@given(raws, raws)
def test_equal_digests_mean_equal_prefixes(left: list[bytes], right: list[bytes]) -> None:
    a, b = Items(left), Items(right)
    for n in range(min(len(a), len(b)) + 1):
        assert (a.digest(n) == b.digest(n)) == (left[:n] == right[:n])


@given(raws, raws)
def test_a_digest_can_be_continued_without_the_items_behind_it(head: list[bytes], tail: list[bytes]) -> None:
    assert roll_all(Items(head).digest(len(head)), tail) == Items(head + tail).digest(len(head) + len(tail))


def test_item_borders_are_part_of_the_digest() -> None:
    assert roll_all(EMPTY_DIGEST, [b"ab", b"c"]) != roll_all(EMPTY_DIGEST, [b"a", b"bc"])
    assert roll(EMPTY_DIGEST, b"") != EMPTY_DIGEST


def test_raw_gives_the_items_from_an_index_on_and_digest_refuses_what_is_not_there() -> None:
    log = Items([b"1", b"2", b"3"])
    assert log.raw(1) == [b"2", b"3"]
    assert log.raw(3) == []
    with pytest.raises(IndexError):
        log.digest(4)
    with pytest.raises(IndexError):
        log.digest(-1)
