"""The engine `repair`: the search over program edits of `agent_core.repair` behind the engine port."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator

from agent_core.repair.limits import SearchLimits
from agent_core.repair.replies import Reply, next_reply
from agent_core.responses_server.engine import (
    Capabilities,
    Delta,
    EngineRequest,
    Finish,
    ItemEnd,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)

_ARGUMENT_CHARS = 400
"""Characters of a call's arguments per delta."""


class RepairEngine:
    """A search over program edits with the tests as judge. Keeps nothing of its own between calls."""

    def __init__(self, limits: SearchLimits | None = None) -> None:
        self._limits = limits or SearchLimits()

    @property
    def name(self) -> str:
        return "repair"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(tools=True, chat=False, repair=True)

    async def stream(self, request: EngineRequest) -> AsyncIterator[Delta]:
        reply = await asyncio.to_thread(next_reply, request, self._limits)
        for delta in deltas(reply, request.max_output_tokens):
            yield delta

    async def close(self) -> None:
        return None


def deltas(reply: Reply, max_output_tokens: int | None) -> Iterator[Delta]:
    """The reply in pieces, a few words each. One that is too long ends as `max_output_tokens`, calls left out."""
    room = None if max_output_tokens is None else max_output_tokens * 3
    if room is not None and len(reply.text) + sum(len(call.text) for call in reply.calls) > room:
        if reply.text[:room]:
            yield TextDelta(reply.text[:room])
        yield Finish(reason="max_output_tokens")
        return
    for piece in re.findall(r"\S+\s*(?:\S+\s*){0,3}", reply.text):
        yield TextDelta(piece)
    for position, call in enumerate(reply.calls):
        if position:
            yield ItemEnd()
        yield ToolCallStart(name=call.name, namespace=call.namespace)
        text = call.text
        for at in range(0, len(text), _ARGUMENT_CHARS):
            yield ToolCallDelta(text[at : at + _ARGUMENT_CHARS])
    yield Finish()
