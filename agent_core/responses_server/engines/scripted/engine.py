"""The `scripted` engine: plays a rollout file, or behaves in one fixed way without one. A test double and a load.

Without a file: if a function tool may be called and the last item is no tool output, it calls the first one with
arguments that its schema accepts; else it answers with text (JSON where `text.format` asks for it). It also calls where
the client demands it, custom tools included, whose input then fits their grammar. Model `scripted:slow` streams its
text over three seconds. It can be steered: at any delta it stops, and the next response begins like any other.

With a file it is strict: a call that the file does not foresee fails, and `close` fails if a step was never played.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, TypeVar

import msgspec

from agent_core.clock import Clock
from agent_core.errors import EngineError
from agent_core.responses_server.engine import (
    Capabilities,
    Delta,
    EngineRequest,
    EngineTool,
    Finish,
    ItemEnd,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from agent_core.responses_server.engines.scripted.pattern_text import pattern_text
from agent_core.responses_server.engines.scripted.schema_values import Bounds, TooMuch, example
from agent_core.responses_server.engines.scripted.script import (
    Expectation,
    Output,
    Rollout,
    ScriptedCall,
    ScriptedCustomCall,
    Step,
)
from agent_core.wire.items import FunctionCall, Message, Reasoning, call_id_of, item_type, output_call_id, text_of

T = TypeVar("T")

SLOW_S = 3.0
INLINE_STEPS, INLINE_CHARS = 500, 20_000
"""What is made on the event loop: about a millisecond."""
GRAMMAR_WORK = 10
"""Characters that a character of a grammar counts for."""
ANSWER = (
    "This answer comes from the scripted engine. It is no language model: it says the same words to everyone, "
    "so that clients and tests can rely on every one of them."
)

_WORD = re.compile(r"\s*\S+\s*")
_MEMORY = "scripted"


class ScriptedEngine:
    """Plays `rollout`; None: the built-in behaviour."""

    name = "scripted"

    def __init__(self, rollout: Rollout | None, clock: Clock) -> None:
        self._rollout, self._clock = rollout, clock
        self._played: set[int] = set()

    @property
    def capabilities(self) -> Capabilities:
        window = self._rollout.context_tokens if self._rollout is not None else None
        return Capabilities(
            tools=True, chat=True, steer=True, custom_tools=True, json_output=True, context_tokens=window
        )

    async def stream(self, request: EngineRequest) -> AsyncIterator[Delta]:
        pace = _Pace(self._clock)
        if self._rollout is None:
            step = await self._built_in(request, pace)
        else:
            step = self._next(self._rollout, request, pace)
        await pace.wait(step.delay_ms / 1000)
        for output in step.output:
            async for delta in self._play(output, pace):
                yield delta
        yield Finish(reason=step.finish)

    async def close(self) -> None:
        """Raises EngineError if the rollout was not played to its end."""
        steps = len(self._rollout.steps) if self._rollout is not None else 0
        missing = sorted(set(range(steps)) - self._played)
        if missing:
            raise EngineError(f"rollout steps {missing} were never played", code="rollout_unconsumed")

    async def _built_in(self, request: EngineRequest, pace: _Pace) -> Step:
        tool = callable_tool(request)
        if tool is not None:
            return Step(output=(await _made(lambda bounds: _call_of(tool, bounds), f"the tool '{tool.name[:80]}'"),))
        text = await _made(lambda bounds: _text_for(request.text_format, bounds), "text.format")
        if request.model.endswith(":slow"):
            pace.tokens_per_s = len(_WORD.findall(text)) / SLOW_S
        return Step(output=(Output(text=text),))

    def _next(self, rollout: Rollout, request: EngineRequest, pace: _Pace) -> Step:
        index = turns_spoken(request.items, request.memory)
        if index >= len(rollout.steps):
            message = f"the rollout has {len(rollout.steps)} steps, this is call {index + 1} of a conversation"
            raise EngineError(message, code="rollout_unexpected_call")
        step = rollout.steps[index]
        _check_expectation(step.expect, request, index)
        self._played.add(index)
        pace.tokens_per_s = rollout.tokens_per_s if step.tokens_per_s is None else step.tokens_per_s
        return step

    async def _play(self, output: Output, pace: _Pace) -> AsyncIterator[Delta]:
        if output.pause_ms is not None:
            await pace.wait(output.pause_ms / 1000)
        elif output.fail is not None:
            raise EngineError(output.fail.message, code=output.fail.code)
        elif output.text is not None:
            async for word in pace.words(output.text):
                yield TextDelta(word)
            yield ItemEnd()
        elif output.reasoning is not None:
            async for word in pace.words(output.reasoning):
                yield ReasoningDelta(word)
            yield ItemEnd()
        elif output.reasoning_text is not None:
            async for word in pace.words(output.reasoning_text):
                yield ReasoningDelta(word, plain=True)
            yield ItemEnd()
        elif output.function_call is not None:
            call = output.function_call
            yield ToolCallStart(name=call.name, namespace=call.namespace, call_id=call.call_id)
            async for word in pace.words(call.text):
                yield ToolCallDelta(word)
            yield ItemEnd()
        elif output.custom_tool_call is not None:
            custom = output.custom_tool_call
            yield ToolCallStart(name=custom.name, kind="custom", namespace=custom.namespace, call_id=custom.call_id)
            async for word in pace.words(custom.input):
                yield ToolCallDelta(word)
            yield ItemEnd()


class _Pace:
    """Keeps a rate against the clock, so that late wake-ups are caught up and the mean holds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.tokens_per_s = 0.0
        self._due_ns = clock.mono_ns()

    async def wait(self, delay_s: float) -> None:
        self._due_ns = self._clock.mono_ns() + int(delay_s * 1e9)
        if delay_s > 0:
            await self._clock.sleep(delay_s)

    async def words(self, text: str) -> AsyncIterator[str]:
        """The words of `text`, each when it is due; together they are `text`."""
        for word in _WORD.findall(text) or ([text] if text else []):
            if self.tokens_per_s > 0:
                self._due_ns += int(1e9 / self.tokens_per_s)
                ahead_s = (self._due_ns - self._clock.mono_ns()) / 1e9
                if ahead_s > 0:
                    await self._clock.sleep(ahead_s)
            yield word


def callable_tool(request: EngineRequest) -> EngineTool | None:
    """The tool that the built-in behaviour calls; None: it answers.

    That is the first function tool; a custom one, and a call after a tool's output, only if a call is demanded.
    """
    if request.must_call:
        return next(iter(request.tools), None)
    if request.items and output_call_id(request.items[-1]) is not None:
        return None
    return next((tool for tool in request.tools if tool.kind == "function"), None)


async def _made(make: Callable[[Bounds], T], whose: str) -> T:
    """What `make` gives: here if it is little, else in a thread. Raises EngineError for what is too much."""
    try:
        try:
            return make(Bounds(INLINE_STEPS, INLINE_CHARS))
        except TooMuch:
            return await asyncio.to_thread(make, Bounds())
    except TooMuch:
        message = f"The schema of {whose} can't be filled in: its smallest value is too large, or has no end."
        code = "invalid_text_format" if whose == "text.format" else "invalid_tool_schema"
        raise EngineError(message, code=code) from None


def _call_of(tool: EngineTool, bounds: Bounds) -> Output:
    """A call with arguments, or input, that the tool takes. Raises TooMuch."""
    if tool.kind == "function":
        arguments = msgspec.json.encode(example(tool.parameters or {}, bounds)).decode()
        return Output(function_call=ScriptedCall(tool.name, arguments, namespace=tool.namespace))
    text = "example"
    if tool.format is not None:
        if tool.format.syntax == "lark":
            raise EngineError(
                f"The input of {tool.name!r} follows a Lark grammar, which is not filled in here: play it from a "
                "script (`loopline serve --rollout FILE`).",
                code="grammar_unreadable",
            )
        bounds.write(GRAMMAR_WORK * len(tool.format.definition))
        text = pattern_text(tool.format.definition)
    return Output(custom_tool_call=ScriptedCustomCall(tool.name, text, namespace=tool.namespace))


def turns_spoken(items: Sequence[Any], memory: dict[str, Any]) -> int:
    """How often the model spoke in this context: runs of items that it made. `memory` keeps the count."""
    seen, spoken, speaking = memory.get(_MEMORY, (0, 0, False))
    if seen > len(items):
        seen, spoken, speaking = 0, 0, False
    for item in items[seen:]:
        made = _made_by_model(item)
        spoken += made and not speaking
        speaking = made
    memory[_MEMORY] = (len(items), spoken, speaking)
    return int(spoken)


def _made_by_model(item: Any) -> bool:
    if isinstance(item, Message):
        return item.role == "assistant"
    return isinstance(item, Reasoning | FunctionCall) or call_id_of(item) is not None


def _check_expectation(expect: Expectation, request: EngineRequest, index: int) -> None:
    last = request.items[-1] if request.items else None
    kind = item_type(last) if last is not None else None
    wrong = None
    if expect.last is not None and expect.last != kind:
        wrong = f"its last item is {kind}, not {expect.last}"
    elif expect.contains is not None and (last is None or expect.contains not in text_of(last)):
        wrong = "its last item does not contain the expected text"
    elif expect.model is not None and expect.model != request.model:
        wrong = "it asks for another model"
    if wrong is not None:
        raise EngineError(f"step {index} of the rollout expects another call: {wrong}", code="rollout_mismatch")


def _text_for(text_format: dict[str, Any] | None, bounds: Bounds) -> str:
    kind = (text_format or {}).get("type")
    if kind == "json_schema":
        return msgspec.json.encode(example((text_format or {}).get("schema") or {}, bounds)).decode()
    return "{}" if kind == "json_object" else ANSWER
