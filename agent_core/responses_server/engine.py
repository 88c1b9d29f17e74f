"""The engine port: rendered tokens and structured items in, typed deltas out.

An engine is asked for one response at a time per lane and yields deltas; `output/event_builder.py` turns them into the
events of the protocol, so no engine knows an event name. Kinds may alternate: a change of kind closes the open item and
opens the next. An engine is cancelled by closing its iterator; it must stop within a second.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What `GET /v1/models` says of a model. What an engine can't do is refused before it is asked.

    `steer`: it may be stopped between two deltas and go on with new input. `custom_tools`: it calls free-form tools,
    within their grammar. `json_output`: it keeps to a `text.format` that is not plain text. `context_tokens`: rendered
    tokens that its context holds, None for no limit. `own_tokens`: it counts with a tokenizer of its own, and so it
    keeps to `max_output_tokens` itself; what the service rendered says nothing of what it reused. `logprobs`: it gives
    the log probabilities of what it says. `takes_tokens`: it works on `EngineRequest.tokens`.
    """

    tools: bool
    chat: bool
    repair: bool = False
    steer: bool = False
    custom_tools: bool = False
    json_output: bool = False
    context_tokens: int | None = None
    own_tokens: bool = False
    logprobs: bool = False
    takes_tokens: bool = False


class TopLogprob(msgspec.Struct, frozen=True):
    """A token that could have been said, with its log probability and its bytes."""

    token: str
    logprob: float
    bytes: tuple[int, ...] = ()


class Logprob(msgspec.Struct, frozen=True):
    """A token that was said, and the likeliest ones in its place."""

    token: str
    logprob: float
    bytes: tuple[int, ...] = ()
    top_logprobs: tuple[TopLogprob, ...] = ()


class TextDelta(msgspec.Struct, frozen=True):
    """`logprobs`: of the tokens that `text` is, where they were asked for."""

    text: str
    logprobs: tuple[Logprob, ...] = ()


class ReasoningDelta(msgspec.Struct, frozen=True):
    """A piece of a reasoning summary; `plain`: of the reasoning itself, where a model lets it be seen."""

    text: str
    plain: bool = False


class ToolCallStart(msgspec.Struct, frozen=True, kw_only=True):
    """Opens a function call (`kind` "function") or a free-form one ("custom").

    `call_id` None: the service makes one.
    """

    name: str
    kind: Literal["function", "custom"] = "function"
    namespace: str | None = None
    call_id: str | None = None


class ToolCallDelta(msgspec.Struct, frozen=True):
    """A piece of the open call's arguments (JSON text) or input."""

    text: str


class ItemEnd(msgspec.Struct, frozen=True):
    """Closes the open item without a change of kind (two messages, two tool calls in a row)."""


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    """Ends the response; nothing follows.

    `cached_tokens` = input tokens that the engine did not process again; None where it does not know. `output_tokens`
    and `reasoning_tokens` None: the service counts what was emitted with its own tokenizer.
    """

    reason: Literal["stop", "max_output_tokens", "content_filter"] = "stop"
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None


Delta = TextDelta | ReasoningDelta | ToolCallStart | ToolCallDelta | ItemEnd | Finish


class Grammar(msgspec.Struct, frozen=True, kw_only=True):
    """What the input of a custom tool must match as a whole."""

    syntax: Literal["lark", "regex"]
    definition: str


class EngineTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that an engine may call.

    `parameters`: JSON Schema of a function's arguments, None for a custom tool. `format`: grammar of a custom tool's
    input, None for any text.
    """

    name: str
    kind: Literal["function", "custom"] = "function"
    namespace: str | None = None
    description: str = ""
    parameters: dict[str, Any] | None = None
    format: Grammar | None = None


class EngineRequest(msgspec.Struct, kw_only=True):
    """One response to sample.

    `items` is the whole context, oldest first, as structured items (`wire.items`); those from `first_new` on are new in
    this call. `tokens` is the same context rendered, for engines that take it: for all
    others rendering may go on behind them. `memory` belongs to the lane, dies with it, and may hold what the
    engine keeps between calls: it must only ever be a cache of what `items` says.

    `tools` are those that `tool_choice` leaves, none for "none"; `must_call`: one of them has to be called.
    `max_tool_calls`: most calls in this response, None for no limit (1 where calls may not be parallel). `text_format`,
    `reasoning` and `verbosity` as the client set them, latest configuration update included.

    `offered`: all tools of the conversation, whatever `tool_choice` leaves of them; a model that is shown these sees
    the same beginning in every call. `cache_key`: calls with the same one probably share a beginning; None if it was
    not given. `top_logprobs`: how many alternatives to tell with each token's log probability, None for none of all.

    `spent`: counts so far. An engine that knows them puts them here as it goes on, for a response that ends before its
    `Finish`; what is None the service counts by what was said.
    """

    response_id: str
    model: str
    instructions: str | None
    items: Sequence[Any]
    first_new: int
    tokens: Sequence[int]
    tools: Sequence[EngineTool]
    tool_choice: Any
    parallel_tool_calls: bool
    memory: dict[str, Any]
    max_output_tokens: int | None = None
    temperature: float | None = None
    """None: the engine's own."""
    top_p: float | None = None
    """None: the engine's own."""
    text_format: dict[str, Any] | None = None
    reasoning: dict[str, Any] | None = None
    verbosity: str | None = None
    must_call: bool = False
    max_tool_calls: int | None = None
    offered: Sequence[EngineTool] = ()
    cache_key: str | None = None
    top_logprobs: int | None = None
    spent: Finish = Finish()


class Engine(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    def stream(self, request: EngineRequest) -> AsyncIterator[Delta]:
        """Yield deltas, the last of them `Finish`. Raises EngineError with a cause the user can act on."""

    async def close(self) -> None:
        """Free what the engine holds. Called once, at shutdown."""


@runtime_checkable
class StartingEngine(Protocol):
    """An engine with something to do before the first call."""

    def start(self) -> None:
        """Begin in the background, once the event loop runs. Never waits, never raises."""


@runtime_checkable
class WarmingEngine(Protocol):
    """An engine that can get ready for a call without answering it."""

    async def warm(self, request: EngineRequest) -> Finish:
        """Do what a call that starts like this one would else wait for. Raises EngineError.

        The counts of the result are those of the warm-up; there is no output.
        """
