"""Compaction: what is kept, what is shortened, and that every way to send it back says the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.responses_server.conversation.compaction import (
    DIGEST_CHARS,
    Compacted,
    Digest,
    OpenedCompaction,
    compact,
    effective,
    open_calls,
)
from agent_core.responses_server.conversation.opening import opened
from agent_core.responses_server.conversation.sealing import Sealer
from agent_core.responses_server.slices import at_once
from agent_core.wire.codec import encode
from agent_core.wire.items import AnyItem, Compaction, call_id_of, item_type, output_call_id, read_item, text_of

SEAL = Sealer(b"s" * 32).of("test")


def item(**fields: Any) -> AnyItem:
    return read_item(msgspec.json.encode(fields))


def user(text: str) -> AnyItem:
    return item(type="message", role="user", content=text)


def said(text: str) -> AnyItem:
    return item(type="message", role="assistant", content=text)


def call(call_id: str) -> AnyItem:
    return item(type="function_call", name="read", arguments='{"path":"a"}', call_id=call_id)


def output(call_id: str, text: str = "ok") -> AnyItem:
    return item(type="function_call_output", call_id=call_id, output=text)


def sealed(items: list[AnyItem]) -> Compaction:
    return Compaction(encrypted_content=made_of(items).sealed(SEAL))


def made_of(items: Sequence[AnyItem]) -> Compacted:
    return at_once(compact(items))


def opened_(items: Sequence[AnyItem]) -> list[AnyItem]:
    return at_once(opened(items, SEAL))


def test_messages_are_kept_and_the_rest_shortened() -> None:
    items = [
        item(role="system", content="rules"),
        user("task"),
        said("ok " * 900),
        call("c1"),
        output("c1", "x" * 5000),
        said("done"),
        user("next"),
    ]
    made = made_of(items)
    assert [text_of(each) for each in made.messages] == ["rules", "task", "next"]
    assert made.tail == []
    assert made.shortened == 4
    lines = made.digest.splitlines()
    assert lines[1].startswith("assistant: ok ok")
    assert lines[2] == 'called read: {"path":"a"}'
    assert lines[3].startswith("it answered (5000 characters): xxx")
    assert len(made.digest) < 1500


def test_what_must_be_answered_is_kept_whole() -> None:
    made = made_of([user("task"), call("c1"), output("c1", "old"), call("c2"), call("c3"), output("c3", "x" * 5000)])
    assert [call_id_of(each) or output_call_id(each) for each in made.tail] == ["c2", "c3", "c3"]
    (content,) = opened_([sealed([user("task"), call("c2")])])
    assert isinstance(content, OpenedCompaction)
    assert open_calls(content) == ["c2"]


def test_settings_and_tools_that_came_as_items_are_kept() -> None:
    tool = {"type": "function", "name": "find", "parameters": {}}
    items = [
        item(type="configuration_update", reasoning={"effort": "low"}),
        item(type="additional_tools", role="developer", tools=[tool]),
        item(type="tool_search_call", call_id="t1", arguments={}),
        item(type="tool_search_output", call_id="t1", tools=[tool]),
        said("x"),
    ]
    assert [item_type(each) for each in made_of(items).messages] == ["configuration_update", *["additional_tools"] * 2]


def test_a_digest_is_taken_up_by_the_next_and_stays_bounded() -> None:
    items: list[AnyItem] = [user("task")]
    for number in range(300):
        items = [*items, said(f"step {number} " + "words " * 40), user(f"and {number}?")]
        if number % 20 == 19:
            items = made_of(items).items
    digest = next(each for each in items if isinstance(each, Digest))
    text = text_of(digest)
    assert len(text) < DIGEST_CHARS + 500
    assert "step 299" in text
    assert "earlier lines left out" in text
    assert sum(isinstance(each, Digest) for each in items) == 1
    assert made_of([user("a"), digest, user("b")]).shortened == 0


def test_triggers_do_not_count() -> None:
    items = [user("a"), item(type="compaction_trigger")]
    assert effective(items) == items[:1]
    assert effective(items[:1]) is not None
    plain = [user("a")]
    assert effective(plain) is plain


_items = st.lists(
    st.sampled_from([user("a"), user("b"), said("c"), call("c1"), output("c1"), item(type="reasoning", summary=[])]),
    min_size=1,
    max_size=8,
)


@settings(max_examples=120, deadline=None)
@given(_items, st.data())
def test_whatever_of_the_old_items_is_sent_again_the_same_counts(items: list[AnyItem], data: st.DataObject) -> None:
    """The messages may be there or not, in any selection; all else before a compaction never counts twice."""
    newest = sealed(items)
    again = [each for each in items if data.draw(st.booleans())]
    behind = [said("reply"), user("more")]
    found = effective(opened_([*again, newest, *behind]))
    assert sorted(map(encode, found)) == sorted(map(encode, [*made_of(items).items, *behind]))
    assert [encode(each) for each in found[-2:]] == [encode(each) for each in behind]


@pytest.mark.parametrize("role", ["user", "developer"])
def test_a_message_that_the_compaction_does_not_know_is_kept(role: str) -> None:
    extra = item(type="message", role=role, content="new rules")
    found = effective(opened_([extra, user("task"), sealed([user("task"), said("x")])]))
    assert [text_of(each) for each in found][:2] == ["new rules", "task"]


def test_the_newest_compaction_counts() -> None:
    first = sealed([user("one"), said("x")])
    middle = effective(opened_([first, said("y"), user("two")]))
    second = sealed(list(middle))
    found = effective(opened_([user("one"), said("x"), first, said("y"), user("two"), second]))
    assert [text_of(each) for each in found][:2] == ["one", "two"]
    assert "assistant: x" in text_of(found[2])
    assert "assistant: y" in text_of(found[2])


def test_of_long_items_only_the_ends_are_looked_at() -> None:
    """A line is made from as much text, however long the item is."""
    long = made_of([user("task"), output("c1", "begin " + "x" * 3_000_000 + " end"), said("y"), user("z")])
    assert "begin xxx" in long.digest
    assert "xxx end" in long.digest
    assert len(long.digest) < 1_000
