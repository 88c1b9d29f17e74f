"""Ids of stored items: made by position, found again by it."""

from __future__ import annotations

import msgspec
import pytest

from agent_core.clock import new_id
from agent_core.responses_server.conversation.item_ids import Place, input_id, maker, place_of
from agent_core.responses_server.slices import at_once
from agent_core.responses_server.store.port import MemoryStore, StoredResponse
from agent_core.responses_server.store.stored_items import References, input_page

RESPONSE = new_id("resp")


def raw(**fields: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(fields))


def test_output_ids_tell_their_place() -> None:
    make = maker(RESPONSE)
    made = [make("msg"), make("call"), make("fc"), make("cmp")]
    assert [place_of(each) for each in made] == [
        Place(RESPONSE, True, 0),
        None,
        Place(RESPONSE, True, 1),
        Place(RESPONSE, True, 2),
    ]


def test_input_ids_tell_their_place() -> None:
    assert place_of(input_id("message", RESPONSE, 3)) == Place(RESPONSE, False, 3)
    assert place_of(input_id("shell_call", RESPONSE, 0)) == Place(RESPONSE, False, 0)


@pytest.mark.parametrize("other", ["", "msg_1", "msg_xyz", f"msg_{'a' * 24}", f"msg_{'a' * 24}o", f"MSG_{'a' * 24}o1"])
def test_other_ids_have_none(other: str) -> None:
    assert place_of(other) is None


async def test_items_are_found_by_their_own_id_and_owner_only() -> None:
    make = maker(RESPONSE)
    said = raw(type="message", role="assistant", content=[], id=make("msg"))
    asked = raw(role="user", content="go")
    store = MemoryStore()
    store.put(
        StoredResponse(
            id=RESPONSE, parent=None, created_at=0, input=(asked,), output=(said,), response=b"{}", owner="me"
        )
    )
    hexed = RESPONSE.removeprefix("resp_")
    assert await References(store, "me").find(f"msg_{hexed}o0", "") == said
    assert await References(store, "me").find(f"msg_{hexed}i0", "") == asked
    for item_id, owner in (
        (f"msg_{hexed}o0", "you"),
        (f"rs_{hexed}o0", "me"),
        (f"fc_{hexed}i0", "me"),
        (f"msg_{hexed}o1", "me"),
        (f"msg_{'a' * 24}o0", "me"),
        ("msg_1", "me"),
    ):
        assert await References(store, owner).find(item_id, "") is None


def test_listed_items_have_ids_types_and_parts() -> None:
    inputs = (
        raw(role="user", content="go"),
        raw(role="assistant", content="so"),
        raw(type="function_call", call_id="c", name="f", arguments="{}", id="fc_mine"),
    )
    record = StoredResponse(id=RESPONSE, parent=None, created_at=0, input=inputs, output=(), response=b"{}")
    (asked, said, call), _ = at_once(input_page([record], limit=9, newest_first=False, after=None))
    assert asked["content"] == [{"type": "input_text", "text": "go"}]
    assert said["content"] == [{"type": "output_text", "annotations": [], "logprobs": [], "text": "so"}]
    assert (asked["type"], asked["status"]) == ("message", "completed")
    assert place_of(asked["id"]) == Place(RESPONSE, False, 0)
    assert call["id"] == "fc_mine"
