"""Sealed items as they come in: authenticated, and what counts of them read, once.

All of them are authenticated, since a forged one is told. Of compactions only the newest is unpacked: what stands
before it is in it. Reasoning is unpacked where it says its text in no other way. What a request makes us unpack is
bounded as a whole, by the sizes in the seals, before the first byte of it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agent_core.errors import WireError
from agent_core.responses_server.conversation.compaction import CompactionContent, OpenedCompaction, newest_compaction
from agent_core.responses_server.conversation.sealing import MAX_BYTES, Kind, Seal, Sealed, claims_ours, is_former
from agent_core.responses_server.slices import Share, Slices
from agent_core.wire.codec import to_raw
from agent_core.wire.items import AnyItem, Compaction, Reasoning, ReasoningText, read_item

SLICE_CHARS = 256 * 1024
"""Sealed characters that are authenticated before others get their turn: some tenths of a millisecond."""


def opened(items: Sequence[AnyItem], seal: Seal) -> Slices[list[AnyItem]]:
    """The items with what was sealed in them, as far as it counts.

    Raises WireError for a seal that is not of this owner and service. What another service has sealed into reasoning
    is passed over: it says nothing here.
    """
    made, budget, chars = list(items), _Budget(), 0
    newest = newest_compaction(items)
    for at, item in enumerate(items):
        if isinstance(item, Compaction | Reasoning):
            chars += len(item.encrypted_content or "")
            if chars > SLICE_CHARS:
                chars = 0
                yield
        if isinstance(item, Compaction):
            sealed = seal.check("compaction", item.encrypted_content)
            if sealed is None:
                raise _not_ours("compaction", at)
            if at == newest:
                budget.take(sealed, at)
                made[at] = yield from _opened_compaction(item, sealed, at)
        elif isinstance(item, Reasoning) and item.encrypted_content is not None:
            made[at] = yield from _opened_reasoning(item, item.encrypted_content, seal, budget, at)
    return made


def opened_stored(items: Sequence[AnyItem], seal: Seal) -> Slices[list[AnyItem]]:
    """The same for items that were checked when they were stored; one that can't be opened any more stays shut."""
    made = list(items)
    newest = newest_compaction(items)
    item = items[newest] if newest is not None else None
    if newest is None or not isinstance(item, Compaction):
        return made
    sealed = seal.check("compaction", item.encrypted_content)
    if sealed is not None and sealed.size <= MAX_BYTES:
        made[newest] = yield from _opened_compaction(item, sealed, newest)
    return made


class _Budget:
    """What may still be unpacked for a request, in bytes."""

    def __init__(self) -> None:
        self._left = MAX_BYTES

    def take(self, sealed: Sealed, at: int) -> None:
        self._left -= sealed.size
        if self._left < 0:
            message = f"What is sealed in the input unpacks to more than {MAX_BYTES} bytes; send less of it at once."
            raise WireError(message, param=f"input[{at}].encrypted_content")


def _opened_compaction(item: Compaction, sealed: Sealed, at: int) -> Slices[OpenedCompaction]:
    content: CompactionContent | None = yield from sealed.unpack(CompactionContent)
    if content is None:
        raise _not_ours("compaction", at)
    return OpenedCompaction(
        id=item.id,
        encrypted_content=item.encrypted_content,
        messages=(yield from _read(content.messages)),
        digest=content.digest,
        tail=(yield from _read(content.tail)),
    )


def _opened_reasoning(item: Reasoning, text: str, seal: Seal, budget: _Budget, at: int) -> Slices[AnyItem]:
    said = bool(item.summary or item.content)
    if not claims_ours("reasoning", text) or (said and is_former("reasoning", text)):
        return item
    sealed = seal.check("reasoning", text)
    if sealed is None:
        raise _not_ours("reasoning", at)
    if said:
        return item
    budget.take(sealed, at)
    thought: str | None = yield from sealed.unpack(str)
    if thought is None:
        raise _not_ours("reasoning", at)
    return msgspec.structs.replace(item, content=[to_raw(ReasoningText(text=thought))])


def _read(raws: Sequence[msgspec.Raw]) -> Slices[list[AnyItem]]:
    items: list[AnyItem] = []
    share = Share()
    for raw in raws:
        items.append(read_item(raw))
        if share.is_used(len(raw)):
            yield
    return items


def _not_ours(kind: Kind, at: int) -> WireError:
    instead = "send the items that it stands for" if kind == "compaction" else "leave it out"
    message = f"This {kind} was not sealed by this service for this key, or was changed; {instead}."
    return WireError(message, param=f"input[{at}].encrypted_content")
