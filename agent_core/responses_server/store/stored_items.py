"""Items of stored responses, by position and by id: for `input_items` and for `item_reference`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import Raw, Struct

from agent_core.errors import WireError
from agent_core.responses_server.conversation.item_ids import input_id, place_of
from agent_core.responses_server.slices import Share, Slices
from agent_core.responses_server.store.port import ResponseStore, StoredResponse, bytes_of, read_record
from agent_core.wire.codec import plain, read
from agent_core.wire.items import AnyItem, Message, item_type, read_item

MAX_REFERRED_BYTES = 64 * 1024 * 1024
"""Of the stored responses that the references of one request lead to, each counted once, and of the items together."""
BYTES_PER_PAGE = 16 * 1024 * 1024
"""After which a page of a list ends before its limit."""


class References:
    """Looks up what one request refers to. Each stored response is read once, and all that is read is bounded."""

    def __init__(self, store: ResponseStore, owner: str) -> None:
        self._store, self._owner = store, owner
        self._records: dict[str, StoredResponse | None] = {}
        self._left = MAX_REFERRED_BYTES

    async def find(self, item_id: str, path: str) -> Raw | None:
        """The stored item with this id; None if it is not there for this owner, or never had an id of ours.

        Others get their turn meanwhile. Raises WireError for `path` if it leads to too much.
        """
        place = place_of(item_id)
        record = await self._record(place.response_id, path) if place is not None else None
        if place is None or record is None:
            return None
        items = record.output if place.in_output else record.input
        if place.position >= len(items):
            return None
        raw = items[place.position]
        self._take(len(raw), path)
        await asyncio.sleep(0)
        if place.in_output:
            return raw if _id_of(raw) == item_id else None
        return raw if input_id(item_type(read_item(raw)), record.id, place.position) == item_id else None

    async def _record(self, response_id: str, path: str) -> StoredResponse | None:
        if response_id not in self._records:
            record = await read_record(self._store, response_id, self._owner)
            self._take(bytes_of(record) if record is not None else 0, path)
            self._records[response_id] = record
        return self._records[response_id]

    def _take(self, size: int, path: str) -> None:
        self._left -= size
        if self._left < 0:
            message = f"The references up to this one lead to more than {MAX_REFERRED_BYTES} bytes; send items instead."
            raise WireError(message, param=path)


def input_page(
    chain: Sequence[StoredResponse], *, limit: int, newest_first: bool, after: str | None
) -> Slices[tuple[list[dict[str, Any]], bool]]:
    """A page of everything that the last response of a chain was made from, each item with its id, and whether there
    is more.

    `after`: the id of the item before it. A page has one item at least, if there is one, and ends before `limit` where
    its items are large. Raises WireError if no item has this id. Only the items of the page are read as a whole.
    """
    parts = [part for record in chain for part in (_Part(record, False), _Part(record, True))][:-1]
    if newest_first:
        parts.reverse()
    page: list[dict[str, Any]] = []
    size, share = 0, Share()
    for part in parts:
        raws = part.record.output if part.in_output else part.record.input
        order = range(len(raws) - 1, -1, -1) if newest_first else range(len(raws))
        for position in order:
            raw = raws[position]
            if after is not None:
                if share.is_used(len(raw)):
                    yield
                if part.id_of(raw, position) == after:
                    after = None
                continue
            if page and (len(page) == limit or size + len(raw) > BYTES_PER_PAGE):
                return page, True
            page.append(plain(raw) if part.in_output else _listed(raw, part.record.id, position))
            size += len(raw)
            if share.is_used(len(raw)):
                yield
        yield
    if after is not None:
        raise WireError("No item with this id is in the list.", param="after")
    return page, False


class _Part(NamedTuple):
    """The input or the output of a stored response."""

    record: StoredResponse
    in_output: bool

    def id_of(self, raw: Raw, position: int) -> str | None:
        """The id that the item at `position` is listed with."""
        own = _id_of(raw)
        return own if own or self.in_output else input_id(item_type(read_item(raw)), self.record.id, position)


class _Id(Struct):
    id: str | None = None


def _id_of(raw: Raw) -> str | None:
    """The id that an item came with."""
    return read(raw, _Id).id


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
