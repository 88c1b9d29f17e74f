"""The sampling step: an engine's deltas as frames, within the request's limits on tokens and calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Literal

from agent_core.errors import EngineError
from agent_core.responses_server.engine import (
    Delta,
    Engine,
    EngineRequest,
    Finish,
    ItemEnd,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from agent_core.responses_server.output.event_builder import EventBuilder, Frame
from agent_core.responses_server.pipeline.active import Cut
from agent_core.responses_server.rendering.tokenizer import Tokenizer
from agent_core.responses_server.request.calling import Calling
from agent_core.responses_server.stages import Stages

DELTAS_PER_TURN = 64
"""Deltas of an engine that never waits after which the event loop gets a turn, so that other lanes go on."""

Steered = Literal["steered"]
STEERED: Steered = "steered"


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


class CallGuard:
    """Keeps an engine to what it may call. `begun`: calls that were let through."""

    def __init__(self, calling: Calling) -> None:
        self._calling = calling
        self._names = {(tool.kind, tool.namespace, tool.name) for tool in calling.tools}
        self._passing_over = False
        self.begun = 0

    def admits(self, delta: Delta) -> bool:
        """False for the deltas of a call above the limit: it is ignored, as the protocol says of `max_tool_calls`.

        Raises EngineError for a call that the client has ruled out.
        """
        if isinstance(delta, ToolCallStart):
            if self._calling.is_bound and (delta.kind, delta.namespace, delta.name) not in self._names:
                raise EngineError("The model called a tool that tool_choice rules out.", code="tool_choice_broken")
            limit = self._calling.at_most
            self._passing_over = limit is not None and self.begun >= limit
            self.begun += not self._passing_over
        elif self._passing_over and not isinstance(delta, ToolCallDelta | ItemEnd):
            self._passing_over = False
        return not self._passing_over

    def check_end(self, finish: Finish) -> None:
        """Raises EngineError if a call was demanded and none was made."""
        if self._calling.must and not self.begun and finish.reason == "stop":
            raise EngineError("The model did not call the tool that tool_choice demands.", code="tool_choice_broken")


async def sample(
    engine: Engine,
    request: EngineRequest,
    ladder: EventBuilder,
    budget: Budget,
    guard: CallGuard,
    cut: Cut,
    stages: Stages,
    send: Callable[[Sequence[Frame]], Awaitable[None]],
) -> Finish | Steered:
    """Run the engine to its end, or to where it is cut; a response that has begun a call is never cut.

    Raises EngineError; on cancellation the engine's iterator is closed.
    """
    start_ns = stages.now_ns()
    stream = engine.stream(request)
    count = 0
    try:
        while not (cut.wanted and not guard.begun):
            delta = await _next(stream, cut, guard)
            if delta is None:
                break
            if count == 0:
                stages.add("engine_ttft", stages.now_ns() - start_ns)
            if isinstance(delta, Finish):
                guard.check_end(delta)
                return delta
            if not guard.admits(delta):
                continue
            if not budget.allows(delta):
                return Finish(reason="max_output_tokens")
            frames = ladder.delta(delta)
            if frames:
                await send(frames)
            count += 1
            if count % DELTAS_PER_TURN == 0:
                await asyncio.sleep(0)
        return STEERED
    finally:
        stages.add("engine", stages.now_ns() - start_ns)
        await _close(stream)


async def _next(stream: AsyncIterator[Delta], cut: Cut, guard: CallGuard) -> Delta | None:
    """The next delta, None if the wait for it was cut short."""
    if not guard.begun:
        cut.begin()
    try:
        return await anext(stream)
    except StopAsyncIteration:
        raise EngineError("The engine stopped without an end.", code="engine_broke_contract") from None
    except asyncio.CancelledError:
        if cut.took():
            return None
        raise
    finally:
        cut.end()


async def _close(stream: AsyncIterator[Delta]) -> None:
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()
