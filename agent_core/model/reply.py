"""Reads one attempt's events: what the agent sees of them, and how the attempt ended.

Owns the response's event order (`ResponseStream`) and hands deltas on as they come. A frame that is no event raises
WireError, a contradiction ProtocolError: the attempt is then void.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import msgspec

from agent_core.clock import utc_now
from agent_core.errors import LooplineError, Retry, ServiceError
from agent_core.model.port import (
    CallItem,
    ItemDone,
    ItemStarted,
    ReasoningDelta,
    TextDelta,
    ToolArgumentsDelta,
    Usage,
)
from agent_core.model.timing import CallTimer, Channel
from agent_core.protocol.reconcile import FOREIGN
from agent_core.protocol.response_stream import TERMINAL, Kind, ResponseStream
from agent_core.telemetry.rollup.usage import TokenUsage, normalise_usage
from agent_core.text import Joiner, sound_json
from agent_core.wire import events as wire
from agent_core.wire.errors import to_exception


def _text(event: Any) -> CallItem:
    return TextDelta(event.delta)


def _reasoning(event: Any) -> CallItem:
    return ReasoningDelta(event.delta)


def _arguments(event: Any) -> CallItem:
    return ToolArgumentsDelta(event.item_id, event.delta)


DELTAS: Final[Mapping[type, tuple[Channel, Callable[[Any], CallItem]]]] = {
    wire.OutputTextDelta: ("text", _text),
    wire.RefusalDelta: ("text", _text),
    wire.ReasoningTextDelta: ("reasoning", _reasoning),
    wire.ReasoningSummaryTextDelta: ("reasoning", _reasoning),
    wire.FunctionCallArgumentsDelta: ("tool_arguments", _arguments),
    wire.CustomToolCallInputDelta: ("tool_arguments", _arguments),
    wire.McpCallArgumentsDelta: ("tool_arguments", _arguments),
}
"""Events that carry a piece of what the model says: its channel, and what the agent gets."""


class _ItemHead(msgspec.Struct):
    type: str = ""
    id: str | None = None
    name: str | None = None
    call_id: str | None = None


class _Ending(msgspec.Struct):
    class Body(msgspec.Struct):
        usage: dict[str, Any] | None = None

    response: Body


_item_head: Final = msgspec.json.Decoder(_ItemHead)
_ending: Final = msgspec.json.Decoder(_Ending)


class Reply:
    """One attempt. `claims` tells whether an event with a response id (or none) belongs to it or is an earlier tail;
    `running` is told once the response runs; `earlier`: see `ResponseStream`."""

    def __init__(
        self,
        timer: CallTimer,
        claims: Callable[[str | None], bool],
        running: Callable[[], None],
        *,
        earlier: Collection[str] = (),
    ) -> None:
        self._timer, self._claims, self._running = timer, claims, running
        self._stream = ResponseStream(earlier)
        self._half: Joiner | None = None
        """Where half a character waits."""
        self.usage: TokenUsage | None = None
        """As the service told it, None if it did not."""
        self.failure: LooplineError | None = None
        """What ended the attempt, if that was an error."""

    @property
    def begun(self) -> bool:
        """Whether a response showed: from then on its partial output must be voided before a repetition."""
        return self._stream.begun

    def ended(self) -> bool:
        return self._stream.terminal is not None

    @property
    def response_id(self) -> str | None:
        return self._stream.response_id

    @property
    def item_ids(self) -> set[str]:
        return self._stream.item_ids

    def read(self, data: bytes) -> CallItem | None:
        """Take one frame; what the agent sees of it, None for nothing. Raises WireError and ProtocolError."""
        event: Any = wire.read_event(data)
        delta = DELTAS.get(type(event))
        if delta is not None:
            before = self._stream.begun
            if self._stream.feed(event) is Kind.ASIDE:
                return None
            if not before:
                self._timer.event()
            if self._half is not None or not event.delta.isascii():
                event = self._joined(event)
            self._timer.delta(delta[0], len(event.delta))
            return delta[1](event)
        return self._read_other(event, data)

    @property
    def oddities(self) -> Collection[str]:
        """Names of what was strange and did no harm."""
        return self._stream.oddities

    def status(self) -> str:
        """The response's own status after its end: completed, incomplete or cancelled."""
        end = self._stream.terminal
        if isinstance(end, wire.ResponseIncomplete):
            return "cancelled" if end.response.status == "cancelled" else "incomplete"
        return "completed"

    def items(self) -> list[bytes]:
        """The authoritative output items. Raises ProtocolError where the response left one unfinished."""
        return self._stream.output()

    def finish_reason(self, items: list[bytes]) -> str:
        end = self._stream.terminal
        if isinstance(end, wire.ResponseIncomplete):
            details = end.response.incomplete_details
            return (details.reason if details is not None else None) or self.status()
        return "tool_calls" if any(_asks_for_output(item) for item in items) else "stop"

    def port_usage(self) -> Usage | None:
        usage = self.usage
        if usage is None:
            return None
        return Usage(
            input_tokens=usage.input_tokens,
            cached_tokens=usage.cached_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            output_tokens=usage.output_tokens,
            reasoning_tokens=usage.reasoning_tokens,
        )

    def _joined(self, event: Any) -> Any:
        """A delta whose text is Unicode: half a character waits for the next delta of its item."""
        self._half = self._half or Joiner()
        event = msgspec.structs.replace(event, delta=self._half.feed(event.delta))
        if not self._half.waits:
            self._half = None
        return event

    def _read_other(self, event: wire.ServerEvent, data: bytes) -> CallItem | None:
        response = getattr(event, "response", None)
        if response is not None and not self._claims(response.id or None):
            self._stream.note(FOREIGN)
            return None
        before = self._stream.begun
        kind = self._stream.feed(event)
        if self._stream.begun and not before:
            self._timer.event()
        if kind in TERMINAL:
            self._end(event, data)
        elif kind is Kind.ASIDE and not isinstance(event, wire.WebsocketTiming):
            return None
        elif isinstance(event, wire.OutputItemAdded):
            head = _head(bytes(event.item))
            return ItemStarted(head.id or "", head.type, head.name)
        elif isinstance(event, wire.ReasoningSummaryPartAdded) and event.summary_index:
            return ReasoningDelta("\n\n")
        elif isinstance(event, wire.OutputItemDone):
            return ItemDone(sound_json(bytes(event.item)))
        elif isinstance(event, wire.ResponseInProgress):
            self._running()
        elif isinstance(event, wire.WebsocketTiming):
            self._timer.metrics(event.timing_metrics)
        return None

    def _end(self, event: wire.ServerEvent, data: bytes) -> None:
        if isinstance(event, wire.ErrorEvent):
            self.failure = to_exception(event, utc_now())
            return
        self.usage = _usage(data)
        if isinstance(event, wire.ResponseFailed):
            error = event.response.error
            self.failure = (
                to_exception(error, utc_now())
                if error is not None
                else ServiceError("the response failed without a reason", code="server_error", retry=Retry.BACKOFF)
            )


def _usage(data: bytes) -> TokenUsage | None:
    """Read anew and loosely: what a service leaves out of its usage is unknown, not 0."""
    try:
        return normalise_usage(_ending.decode(data).response.usage)
    except msgspec.DecodeError:
        return None


def _head(raw: bytes) -> _ItemHead:
    try:
        return _item_head.decode(raw)
    except msgspec.DecodeError:
        return _ItemHead()


def _asks_for_output(raw: bytes) -> bool:
    head = _head(raw)
    return head.type in ("function_call", "custom_tool_call") or (
        head.call_id is not None and head.type.endswith("_call")
    )
