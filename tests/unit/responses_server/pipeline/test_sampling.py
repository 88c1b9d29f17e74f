"""Sampling: limits on tokens and calls, and a cut that ends an engine between two deltas."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec
import pytest

from agent_core.clock import SystemClock
from agent_core.errors import EngineError
from agent_core.responses_server.conversation.item_ids import maker
from agent_core.responses_server.engine import (
    Capabilities,
    Delta,
    EngineRequest,
    EngineTool,
    Finish,
    ItemEnd,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from agent_core.responses_server.output.event_builder import EventBuilder, Frame
from agent_core.responses_server.pipeline.active import Cut
from agent_core.responses_server.pipeline.sampling import STEERED, Budget, CallGuard, sample
from agent_core.responses_server.rendering.tokenizer import Tokenizer
from agent_core.responses_server.request.calling import Calling
from agent_core.responses_server.stages import Stages
from agent_core.wire.response import Response

TOKENIZER = Tokenizer()
READ = EngineTool(name="read")
FREE = Calling(choice="auto", tools=(READ,))


class Playing:
    """An engine that yields what it was given; a number is a pause in seconds."""

    name = "playing"
    capabilities = Capabilities(tools=True, chat=True)

    def __init__(self, *script: Delta | float) -> None:
        self._script = script
        self.closed = False
        self.waiting = asyncio.Event()

    async def stream(self, request: EngineRequest) -> AsyncIterator[Delta]:
        try:
            for step in self._script:
                if isinstance(step, float):
                    self.waiting.set()
                    await asyncio.sleep(step)
                else:
                    yield step
        finally:
            self.closed = True

    async def close(self) -> None:
        return


def request() -> EngineRequest:
    return EngineRequest(
        response_id="resp_1",
        model="m",
        instructions=None,
        items=(),
        first_new=0,
        tokens=(),
        tools=(),
        tool_choice="auto",
        parallel_tool_calls=True,
        memory={},
    )


class Sampled:
    """One run; `result` is what `sample` returned."""

    def __init__(self, engine: Playing, calling: Calling = FREE, limit: int | None = None) -> None:
        self.engine, self.guard, self.cut = engine, CallGuard(calling), Cut()
        self.ladder = EventBuilder(Response(id="resp_1"), None, maker("resp_1"), lambda: 0)
        self._budget = Budget(limit, TOKENIZER)
        self.frames: list[Frame] = []

    async def send(self, frames: Sequence[Frame]) -> None:
        self.frames += frames

    async def run(self) -> Any:
        stages = Stages(SystemClock())
        return await sample(self.engine, request(), self.ladder, self._budget, self.guard, self.cut, stages, self.send)

    @property
    def items(self) -> list[Any]:
        self.ladder.finish_items(cut=False)
        return [msgspec.json.decode(raw) for raw in self.ladder.response.output]


def calls(*names: str) -> list[Delta]:
    found: list[Delta] = []
    for name in names:
        found += [ToolCallStart(name=name), ToolCallDelta("{}"), ItemEnd()]
    return found


async def test_an_engine_runs_to_its_end() -> None:
    run = Sampled(Playing(TextDelta("a "), *calls("read", "read"), TextDelta("b"), Finish()))
    assert await run.run() == Finish()
    assert [item["type"] for item in run.items] == ["message", "function_call", "function_call", "message"]
    assert run.engine.closed


async def test_an_engine_without_an_end_broke_its_contract() -> None:
    with pytest.raises(EngineError) as caught:
        await Sampled(Playing(TextDelta("a"))).run()
    assert caught.value.code == "engine_broke_contract"


async def test_calls_above_the_limit_are_passed_over() -> None:
    limited = Calling(choice="auto", tools=(READ,), at_most=1)
    run = Sampled(Playing(*calls("read", "read", "read"), TextDelta("b"), Finish()), limited)
    assert await run.run() == Finish()
    assert [item["type"] for item in run.items] == ["function_call", "message"]


@pytest.mark.parametrize("choice", ["none", {"type": "function", "name": "read"}])
async def test_a_call_that_is_ruled_out_is_an_error(choice: Any) -> None:
    bound = Calling(choice=choice, tools=() if choice == "none" else (READ,))
    with pytest.raises(EngineError) as caught:
        await Sampled(Playing(*calls("write"), Finish()), bound).run()
    assert caught.value.code == "tool_choice_broken"


async def test_a_call_that_is_demanded_has_to_come() -> None:
    must = Calling(choice="required", tools=(READ,), must=True)
    assert await Sampled(Playing(*calls("read"), Finish()), must).run() == Finish()
    with pytest.raises(EngineError) as caught:
        await Sampled(Playing(TextDelta("no"), Finish()), must).run()
    assert caught.value.code == "tool_choice_broken"
    cut = Finish(reason="max_output_tokens")
    assert await Sampled(Playing(TextDelta("no"), cut), must).run() == cut


async def test_the_budget_ends_it() -> None:
    run = Sampled(Playing(*[TextDelta("word ")] * 9, Finish()), limit=5)
    assert (await run.run()).reason == "max_output_tokens"
    assert run.engine.closed


async def test_a_cut_interrupts_an_engine_that_is_waited_for() -> None:
    run = Sampled(Playing(TextDelta("a "), 30.0, TextDelta("b"), Finish()))
    task = asyncio.create_task(run.run())
    async with asyncio.timeout(10):
        await run.engine.waiting.wait()
        run.cut.ask()
        assert await task == STEERED
    assert run.engine.closed
    assert run.items[0]["content"][0]["text"] == "a "
    assert not task.cancelling()


async def test_a_cut_before_the_start_leaves_the_engine_out() -> None:
    run = Sampled(Playing(TextDelta("a"), Finish()))
    run.cut.ask()
    assert await run.run() == STEERED
    assert run.frames == []


async def test_a_response_that_has_begun_a_call_is_not_cut() -> None:
    run = Sampled(Playing(ToolCallStart(name="read"), 0.05, ToolCallDelta("{}"), Finish()))
    task = asyncio.create_task(run.run())
    async with asyncio.timeout(10):
        await run.engine.waiting.wait()
        run.cut.ask()
        assert await task == Finish()


async def test_a_cancel_together_with_a_cut_is_a_cancel() -> None:
    run = Sampled(Playing(TextDelta("a"), 30.0, Finish()))
    task = asyncio.create_task(run.run())
    async with asyncio.timeout(10):
        await run.engine.waiting.wait()
        run.cut.ask()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert run.engine.closed
