"""What the pipeline hands its results to: a shell for WebSocket, SSE or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agent_core.errors import LooplineError
from agent_core.protocol.lanes import Head, Outcome
from agent_core.responses_server.output.event_builder import Frame
from agent_core.responses_server.state.chain import ChainState


class Sink(Protocol):
    """Of one response. `refuse` or `end` is called exactly once, last. All raise ConnectionLost if nobody is there."""

    async def send(self, frames: Sequence[Frame]) -> None:
        """Events, in order."""

    async def end(self, frames: Sequence[Frame], outcome: Outcome, head: Head[ChainState] | None) -> None:
        """The last events, the terminal one at their end. `head`: what can be continued, where `outcome` is DONE."""

    async def refuse(self, error: LooplineError) -> None:
        """Nothing was created: tell the error in place of any event."""
