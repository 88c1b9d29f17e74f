"""What the service remembers of a response that can be continued: the payload of a lane's head.

It belongs to one connection and dies with it. All of it is a cache: the durable store or the client can rebuild it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import Raw

from agent_core.errors import WireError
from agent_core.responses_server.conversation.compaction import effective
from agent_core.responses_server.conversation.context import Context
from agent_core.responses_server.conversation.opening import opened_stored
from agent_core.responses_server.conversation.sealing import Seal
from agent_core.responses_server.engine import EngineTool
from agent_core.responses_server.rendering.renderer import Header
from agent_core.responses_server.request.configuration import UNCHANGED, Configuration
from agent_core.responses_server.request.toolset import NO_TOOLS, ToolSet, tools_in
from agent_core.responses_server.screening.chain import States
from agent_core.responses_server.slices import Share, Slices, in_turns
from agent_core.responses_server.store.port import ResponseStore, StoredResponse, read_chain
from agent_core.wire.items import AnyItem, call_id_of, output_call_id, read_item


@dataclass(frozen=True)
class ChainState:
    """`context`: input and output of the whole chain. `screens` None: the items were not screened yet (from the store).

    `memory` is the own cache of `engine` for this lane. `stored`: the durable store has this response, so a child's
    record may refer to it. `size`: bytes that all of it takes, roughly. `extra`, `update`: tools and settings that came
    as items of the chain.
    """

    response_id: str
    context: Context
    tools: ToolSet
    stored: bool
    header: Header | None = None
    """Instructions and tools as rendered; None: they were not yet."""
    screens: States | None = None
    size: int = 0
    memory: dict[str, Any] = field(default_factory=dict)
    engine: object = None
    extra: tuple[EngineTool, ...] = ()
    update: Configuration = UNCHANGED


ITEM_BYTES = 600
"""What an item takes in memory besides its text, roughly."""


def size_of(*given: Sequence[Raw]) -> int:
    """Bytes that items take in memory, roughly: as structs with their texts, and as tokens of four bytes."""
    return sum(2 * len(raw) + ITEM_BYTES for raws in given for raw in raws)


async def read_remembered(store: ResponseStore, response_id: str, owner: str, seal: Seal) -> ChainState | None:
    """What the durable store has of a response and its ancestors, not rendered and not screened; None if it is not
    there for this owner.
    """
    chain = await read_chain(store, response_id, owner)
    if chain is None:
        return None
    items = effective(await in_turns(_items_of(chain, seal)))
    return ChainState(
        response_id=response_id,
        context=Context.empty().extended(items, (), calls_in(items)),
        tools=NO_TOOLS,
        stored=True,
        extra=await in_turns(_tools_in(items)),
        update=UNCHANGED.behind(items),
        size=size_of(*(raws for record in chain for raws in (record.input, record.output))),
    )


def _items_of(chain: Sequence[StoredResponse], seal: Seal) -> Slices[list[AnyItem]]:
    items: list[AnyItem] = []
    share = Share()
    for record in chain:
        for raw in (*record.input, *record.output):
            items.append(read_item(raw))
            if share.is_used(len(raw)):
                yield
    return (yield from opened_stored(items, seal))


def calls_in(items: Sequence[AnyItem]) -> list[tuple[str, int, int]]:
    """Call id and position of every call (1) and of every output (-1) among `items`."""
    found: list[tuple[str, int, int]] = []
    for at, item in enumerate(items):
        if (called := call_id_of(item)) is not None:
            found.append((called, at, 1))
        elif (answered := output_call_id(item)) is not None:
            found.append((answered, at, -1))
    return found


def _tools_in(items: Sequence[AnyItem]) -> Slices[tuple[EngineTool, ...]]:
    """Tools of items that were checked when they were stored."""
    try:
        return (yield from tools_in(items))
    except WireError:
        return ()
