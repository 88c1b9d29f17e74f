"""What is kept of a conversation between its calls: a cache of what its items say, in the server's own words."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import msgspec
from msgspec import Raw

from agent_core.clock import new_id
from agent_core.responses_server.engine import EngineRequest
from agent_core.transport.websocket import WebSocket
from agent_core.wire.items import AnyItem, Reasoning, call_id_of, read_item

MEMORY: Final = "upstream"


class Span(msgspec.Struct, frozen=True):
    """`count` items from position `start` on are what a response of the server became; `raws` are its own items.

    They carry what has no place in ours, such as encrypted reasoning, and cost no cache of the server's.
    """

    start: int
    count: int
    raws: list[Raw]

    def stands_for(self, items: Sequence[AnyItem], at: int) -> bool:
        """Whether the span begins at `at` and the same calls are there."""
        if at != self.start or self.start + self.count > len(items):
            return False
        ours = [call_id_of(item) for item in items[at : at + self.count]]
        theirs = [call_id_of(read_item(raw)) for raw in self.raws]
        return [each for each in ours if each] == [each for each in theirs if each]


def span_of(start: int, count: int, raws: list[Raw]) -> Span | None:
    """None where our own items say all that the server's do."""
    sealed = any(isinstance(item := read_item(raw), Reasoning) and item.encrypted_content for raw in raws)
    return Span(start, count, raws) if sealed else None


class LaneSocket:
    """An open socket, and the response on it that can be continued (None: none), with a digest of its settings."""

    def __init__(self, socket: WebSocket) -> None:
        self.socket = socket
        self.previous: str | None = None
        self.fields = b""


class LaneMemory:
    """`key`: for the server's prompt cache, so that the calls of a conversation meet. `socket`: see `socket.py`."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.spans: list[Span] = []
        self.slot: int | None = None
        self.socket: LaneSocket | None = None


def lane_memory(request: EngineRequest) -> LaneMemory:
    """Of the request's lane; new where its memory is empty."""
    memory = request.memory.get(MEMORY)
    if not isinstance(memory, LaneMemory):
        key = request.cache_key
        known = blake2b(key.encode(), digest_size=16).hexdigest() if key is not None else new_id("lane")
        memory = request.memory[MEMORY] = LaneMemory(known)
    return memory
