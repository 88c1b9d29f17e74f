"""Items of input and output: typed views of undecoded JSON, lenient for the client and strict for the service."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from agent_core.errors import WireError
from agent_core.wire.codec import UNREADABLE, misfit, read, to_raw
from agent_core.wire.generated.items import *  # noqa: F403
from agent_core.wire.generated.items import (
    CHECKS,
    ITEMS,
    PARTS_CHECK,
    TOOLS_CHECK,
    Item,
    ItemReference,
    Message,
)
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
    return msgspec.json.Decoder(Item)


def item_type(item: AnyItem) -> str:
    """The `type` on the wire; "message" also for a message that came without one."""
    return item.type if isinstance(item, UnknownItem) else str(item.__struct_config__.tag)


def read_item(raw: Raw | bytes) -> AnyItem:
    """Lenient. Raises WireError only for what is no JSON object; unknown or unfit items become UnknownItem."""
    try:
        item: Item = _decoder().decode(raw)
    except UNREADABLE as exc:
        head = read_head(raw)
        if not head.is_object:
            raise misfit(exc) from exc
        kind = _kind_without_type(head)
        try:
            return UnknownItem(head.type, Raw(raw)) if kind is None else read(raw, kind)
        except WireError:
            return UnknownItem(head.type, Raw(raw))
    return item


def read_item_strict(raw: Raw | bytes, path: str) -> Item:
    """Raises WireError whose param is the path of the misfit: `input[3].content[0].text` for the path `input[3]`."""
    item = _decode_strict(raw, path)
    if isinstance(item, Message) and item.role not in ROLES:
        raise WireError(f"{path}.role: expected one of {', '.join(ROLES)}.", param=f"{path}.role")
    if isinstance(item, ItemReference) and not item.id:
        raise WireError(f"{path}.id is missing.", param=f"{path}.id")
    for name, kind in CHECKS.get(item_type(item), {}).items():
        _check(getattr(item, name), kind, f"{path}.{name}")
    return item


def _decode_strict(raw: Raw | bytes, path: str) -> Item:
    try:
        item: Item = _decoder().decode(raw)
    except UNREADABLE as exc:
        head = read_head(raw)
        kind = _kind_without_type(head)
        if kind is not None:
            return read(raw, kind, path)
        if head.is_object and head.type not in ITEMS:
            reason = f"unknown item type {head.type!r}" if head.type else "missing or not a string"
            raise WireError(f"{path}.type: {reason}.", param=f"{path}.type") from exc
        raise misfit(exc, path) from exc
    return item


def _kind_without_type(head: Head) -> type[Any] | None:
    """Clients may leave `type` out of messages and of item references."""
    if "type" in head.fields and bytes(head.fields["type"]) != b"null":
        return None
    if "role" in head.fields:
        return Message
    return ItemReference if set(head.fields) <= {"id", "type"} and head.fields else None


def _check(value: Any, kind: Any, path: str) -> None:
    if value is None or value is UNSET or isinstance(value, str):
        return
    if kind == PARTS_CHECK:
        for index, raw in enumerate(value):
            read_part_strict(raw, f"{path}[{index}]")
    elif kind == TOOLS_CHECK:
        read_tools(to_raw(value), path)
    else:
        read(value if isinstance(value, Raw) else to_raw(value), kind | None, path)
