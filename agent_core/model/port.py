"""The model port: what the agent's loop knows of a model.

The loop hands over a `CallRequest` and gets a stream of typed items, the last of them a `CallResult`. Which transport
is used, whether only new items are sent, and what is repeated after a fault are decided behind this port.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Literal, Protocol

import msgspec

from agent_core.protocol.item_log import ItemLog, Items
from agent_core.telemetry.events import Reuse, TransportKind

__all__ = [
    "CallItem",
    "CallRequest",
    "CallResult",
    "CallStarted",
    "CallTiming",
    "FellBack",
    "ItemDone",
    "ItemLog",
    "ItemStarted",
    "Items",
    "Model",
    "ReasoningDelta",
    "Reconnecting",
    "Restarted",
    "TextDelta",
    "ToolArgumentsDelta",
    "Usage",
]


class CallRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One call. Build it anew for each call; the parts may (and, for speed, should) be the same objects as last time.

    `tools` is a JSON array, encoded once. `items` is the whole conversation so far; only the items that are in it
    when the call starts are part of the call. `options` are further fields of `response.create` by their wire names
    (`tool_choice`, `parallel_tool_calls`, `reasoning`, `max_output_tokens`, `context_management`, `prompt_cache_key`,
    …); `store` is false and `include` is `["reasoning.encrypted_content"]` unless they say otherwise. `call` and
    `turn` are the telemetry ids.
    """

    model: str
    instructions: str
    tools: bytes
    items: ItemLog
    options: Mapping[str, Any] = msgspec.field(default_factory=dict)
    call: str | None = None
    turn: str | None = None


class CallStarted(msgspec.Struct, frozen=True):
    """A request is on its way. Comes once per attempt: `attempt` counts from 1, `reuse` says what became of the
    chain. `back`: the first one over WebSocket after a time on HTTP."""

    attempt: int
    reuse: Reuse
    transport: TransportKind
    back: bool = False


class ItemStarted(msgspec.Struct, frozen=True):
    """The model began an output item of wire type `kind`; `name` is the tool's name for a call of a tool, else
    None."""

    item_id: str
    kind: str
    name: str | None


class TextDelta(msgspec.Struct, frozen=True):
    """A piece of the answer (or of a refusal)."""

    text: str


class ReasoningDelta(msgspec.Struct, frozen=True):
    """A piece of reasoning or of its summary; a blank line alone parts two summaries of one item."""

    text: str


class ToolArgumentsDelta(msgspec.Struct, frozen=True):
    """A piece of the arguments (or free-form input) of the tool call in the item `item_id`."""

    item_id: str
    text: str


class ItemDone(msgspec.Struct, frozen=True):
    """An output item is complete; `raw` is it, encoded. It counts only once `CallResult` lists it: `Restarted` voids
    it."""

    raw: bytes


class Reconnecting(msgspec.Struct, frozen=True):
    """The request failed on the way and is tried again after `delay_s` seconds: try `number` of at most `limit`.

    `cause` is an error code (`connection_lost`, `service_unreachable`, `rate_limit_exceeded`, …).
    """

    number: int
    limit: int
    delay_s: float
    cause: str


class FellBack(msgspec.Struct, frozen=True):
    """HTTP takes over, because of the error code `cause`. WebSocket is tried again after `again_after_s` seconds; 0:
    this call only, the socket is fine."""

    cause: str
    again_after_s: float


class Restarted(msgspec.Struct, frozen=True):
    """Everything since `CallStarted` is void (deltas, items): the response broke off and is asked for again in
    full."""

    cause: str


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of a call, counted inclusively: `cached_tokens` and `cache_write_tokens` are part of `input_tokens`,
    `reasoning_tokens` of `output_tokens`. None = the service did not say."""

    input_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None


class CallTiming(msgspec.Struct, frozen=True, kw_only=True):
    """How long the call took, in milliseconds. `ttft_ms` is from the last send to the first delta of any channel, and
    `visible_ttft_ms` to the first of text or tool arguments; None where there was none."""

    duration_ms: float
    ttft_ms: float | None = None
    visible_ttft_ms: float | None = None
    inference_ms: float | None = None


class CallResult(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a call that has an answer.

    `items` are the authoritative output items in order, encoded: append exactly these bytes to the history, and the
    next call sends only what follows them. `status` is "incomplete" where the service stopped early; `finish_reason`
    is then its reason (`max_output_tokens`, `content_filter`, …), else `tool_calls` if an item asks the client for an
    output, else `stop`.
    """

    response_id: str
    status: Literal["completed", "incomplete"]
    items: list[bytes]
    finish_reason: str
    usage: Usage | None
    """None: the service told none."""
    attempts: int
    reuse: Reuse
    transport: TransportKind
    bytes_up: int
    """Of the create frames of all attempts."""
    timing: CallTiming


CallItem = (
    CallStarted
    | ItemStarted
    | TextDelta
    | ReasoningDelta
    | ToolArgumentsDelta
    | ItemDone
    | Reconnecting
    | FellBack
    | Restarted
    | CallResult
)


class Model(Protocol):
    """One conversation's way to a model. Calls of one Model run one after the other."""

    def call(self, request: CallRequest) -> AsyncGenerator[CallItem, None]:
        """Run one call and stream it; the last item is a `CallResult`.

        Wrap it in `contextlib.aclosing`: leaving the block early, or being cancelled, cancels the call at the service
        and leaves the connection fit for the next call. Raises, when nothing more can be tried: AuthError,
        ServiceUnreachable, HandshakeRefused, ConnectionLost, MessageTooLarge, ServiceError, ProtocolError.
        """

    async def prewarm(self, request: CallRequest) -> bool:
        """Open the connection and hand over instructions, tools and the items so far, without sampling anything.

        Best effort: True if the next call can continue from it. Raises nothing but CancelledError; whatever is wrong
        shows in the first call.
        """

    async def compact(self, request: CallRequest) -> list[bytes] | None:
        """Let the service shorten the conversation: items that stand for all of it, encoded.

        None where the service can't (it has no such endpoint) or did not. Raises nothing but CancelledError.
        """

    def lane(self, name: str, *, fork: bool = False) -> Model:
        """A conversation beside this one, for a sub-task; close it when that is done.

        `fork`: it may go on from this conversation's last response, if its items begin with the same ones. Raises
        UsageError for what can be no lane's name, for one that is in use, and on a lane itself.
        """

    async def close(self) -> None:
        """Close the connection; bounded to about a second. Calls after it raise."""
