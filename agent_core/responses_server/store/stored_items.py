"""Items of stored responses, by position and by id: for `input_items` and for `item_reference`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Raw

from agent_core.responses_server.conversation.item_ids import input_id, place_of
from agent_core.responses_server.store.port import ResponseStore, StoredResponse, read_record
from agent_core.wire.codec import plain
from agent_core.wire.items import AnyItem, Message, item_type, read_item


async def find_item(store: ResponseStore, item_id: str, owner: str) -> Raw | None:
    """The stored item with this id; None if it is not there for this owner, or never had an id of ours."""
    place = place_of(item_id)
    record = await read_record(store, place.response_id, owner) if place is not None else None
    if place is None or record is None:
        return None
    items = record.output if place.in_output else record.input
    if place.position >= len(items):
        return None
    raw = items[place.position]
    found = plain(raw)
    if place.in_output:
        return raw if found.get("id") == item_id else None
    return raw if input_id(item_type(read_item(raw)), record.id, place.position) == item_id else None


def input_items(chain: Sequence[StoredResponse]) -> list[dict[str, Any]]:
    """Everything that the last response of a chain was made from, oldest first, each item with its id."""
    items: list[dict[str, Any]] = []
    for record in chain:
        items += [_listed(raw, record.id, position) for position, raw in enumerate(record.input)]
        if record is not chain[-1]:
            items += [plain(raw) for raw in record.output]
    return items


def _listed(raw: Raw, response_id: str, position: int) -> dict[str, Any]:
    item = read_item(raw)
    shown = as_shown(item, raw)
    shown["id"] = shown.get("id") or input_id(item_type(item), response_id, position)
    return shown


def as_shown(item: AnyItem, raw: Raw) -> dict[str, Any]:
    """An input item as the API shows it: with its type, and messages with a status and their content as parts."""
    shown: dict[str, Any] = {"type": item_type(item), **plain(raw)}
    if isinstance(item, Message):
        if isinstance(item.content, str):
            kind = {"type": "output_text", "annotations": [], "logprobs": []} if item.role == "assistant" else None
            shown["content"] = [{**(kind or {"type": "input_text"}), "text": item.content}]
        shown["status"] = shown.get("status") or "completed"
    return shown
