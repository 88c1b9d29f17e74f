"""The sampling step: an engine's deltas as frames, within the request's token limit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from agent_core.errors import EngineError
from agent_core.responses_server.engines.base import (
    Delta,
    Engine,
    EngineRequest,
    Finish,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)
from agent_core.responses_server.output.ladder import Frame, Ladder
from agent_core.responses_server.stages import Stages
from agent_core.responses_server.tokenizer import Tokenizer

DELTAS_PER_TURN = 64
"""Deltas of an engine that never waits after which the event loop gets a turn, so that other lanes go on."""


class Budget:
    """What is left of `max_output_tokens`; None: no limit."""

    def __init__(self, limit: int | None, tokenizer: Tokenizer) -> None:
        self._left, self._tokenizer = limit, tokenizer

    def allows(self, delta: Delta) -> bool:
        """Whether the delta still fits; it is charged if it does."""
        if self._left is None or not isinstance(delta, TextDelta | ReasoningDelta | ToolCallDelta):
            return True
        cost = len(self._tokenizer.encode(delta.text))
        if cost > self._left:
            return False
        self._left -= cost
        return True


async def sample(
    engine: Engine,
    request: EngineRequest,
    ladder: Ladder,
    budget: Budget,
    stages: Stages,
    send: Callable[[Sequence[Frame]], Awaitable[None]],
) -> Finish:
    """Run the engine to its end. Raises EngineError; on cancellation the engine's iterator is closed."""
    start_ns = stages.now_ns()
    stream = engine.stream(request)
    count = 0
    try:
        async for delta in stream:
            if count == 0:
                stages.add("engine_ttft", stages.now_ns() - start_ns)
            if isinstance(delta, Finish):
                return delta
            if not budget.allows(delta):
                return Finish(reason="max_output_tokens")
            frames = ladder.delta(delta)
            if frames:
                await send(frames)
            count += 1
            if count % DELTAS_PER_TURN == 0:
                await asyncio.sleep(0)
        raise EngineError(f"The engine '{engine.name}' stopped without an end.", code="engine_broke_contract")
    finally:
        stages.add("engine", stages.now_ns() - start_ns)
        await _close(stream)


async def _close(stream: AsyncIterator[Delta]) -> None:
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()
