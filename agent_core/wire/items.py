"""Items of input and output: typed views of undecoded JSON, lenient for the client and strict for the service."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from agent_core.errors import WireError
from agent_core.wire.bounds import MAX_PARTS, require_few
from agent_core.wire.codec import UNREADABLE, decoder, misfit, read, require_sound, to_raw
from agent_core.wire.generated.items import *  # noqa: F403
from agent_core.wire.generated.items import CHECKS, ITEMS, PARTS_CHECK, TOOLS_CHECK, Item, ItemReference, Message
from agent_core.wire.head import Head, read_head
from agent_core.wire.item_text import call_id_of as call_id_of
from agent_core.wire.item_text import output_call_id as output_call_id
from agent_core.wire.item_text import text_of as text_of
from agent_core.wire.parts import *  # noqa: F403
from agent_core.wire.parts import read_part_strict
from agent_core.wire.tools import read_tools
from agent_core.wire.unknown import UnknownItem as UnknownItem

AnyItem = Item | UnknownItem

ROLES = ("user", "assistant", "system", "developer")


@cache
def _decoder() -> msgspec.json.Decoder[Any]:
    return decoder(Item)


def item_type(item: AnyItem) -> str:
    """The `type` on the wire; "message" also for a message that came without one."""
    return item.type if isinstance(item, UnknownItem) else str(item.__struct_config__.tag)


def read_item(raw: Raw | bytes) -> AnyItem:
    """Lenient: unknown and unfit items become UnknownItem. Raises WireError only for what is no JSON object."""
    try:
        item: AnyItem = _decoder().decode(raw)
    except UNREADABLE as exc:
        head = read_head(raw)
        if not head.is_object:
            raise misfit(exc) from exc
        kind = _kind(head)
        try:
            return UnknownItem(head.type, Raw(raw)) if kind is None else head.read_as(kind)
        except WireError:
            return UnknownItem(head.type, Raw(raw))
    return item


def read_item_strict(raw: Raw | bytes, path: str) -> Item:
    """Raises WireError whose param is the path of the misfit: `input[3].content[0].text` for the path `input[3]`.

    Unknown fields pass; unknown kinds of items, content and tools do not. What passes can be decoded and encoded by
    anyone (`codec.require_sound`).
    """
    item = _decode_strict(raw, path)
    if isinstance(item, Message) and item.role not in ROLES:
        raise WireError(f"{path}.role: expected one of {', '.join(ROLES)}.", param=f"{path}.role")
    if isinstance(item, ItemReference) and not item.id:
        raise WireError(f"{path}.id is missing.", param=f"{path}.id")
    for name, kind in CHECKS.get(item_type(item), {}).items():
        _check(getattr(item, name), kind, f"{path}.{name}")
    require_sound(raw, path)
    return item


def _decode_strict(raw: Raw | bytes, path: str) -> Item:
    try:
        item: Item = _decoder().decode(raw)
    except UNREADABLE as exc:
        head = read_head(raw)
        if not head.is_object:
            raise misfit(exc, path) from exc
        kind = _kind(head)
        if kind is None:
            raise WireError(f"{path}.type: {head.type_fault('item type')}.", param=f"{path}.type") from exc
        return head.read_as(kind, path)
    return item


def _kind(head: Head) -> type[Item] | None:
    """The struct for an object that its `type` names, or that is plain without: messages and item references."""
    if head.has("type"):
        return ITEMS.get(head.type)
    if head.has("role"):
        return Message
    return ItemReference if head.has("id") and set(head.fields) <= {"id", "type"} else None


def _check(value: Any, kind: Any, path: str) -> None:
    if value is None or value is UNSET or isinstance(value, str):
        return
    if kind == PARTS_CHECK:
        require_few(path, len(value), MAX_PARTS, "parts")
        for index, raw in enumerate(value):
            read_part_strict(raw, f"{path}[{index}]")
    elif kind == TOOLS_CHECK:
        read_tools(to_raw(value), path)
    else:
        read(value if isinstance(value, Raw) else to_raw(value), kind | None, path)
