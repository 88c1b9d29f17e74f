"""Engine deltas to the event ladder of one response: the one place that makes events for WebSocket, SSE and JSON.

Every frame carries the next sequence number, from 0. Items open with zero values and close complete; the terminal frame
shows exactly the items that were closed. Source: Open Responses spec 2026-04-24 and openai-python's event types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from agent_core.errors import EngineError
from agent_core.responses_server.engines.base import (
    Delta,
    ItemEnd,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from agent_core.responses_server.output.open_items import OpenCall, OpenItem, OpenMessage, OpenReasoning
from agent_core.wire.codec import encode
from agent_core.wire.events import (
    OutputItemAdded,
    OutputItemDone,
    ResponseCompleted,
    ResponseCreated,
    ResponseFailed,
    ResponseIncomplete,
    ResponseInProgress,
    WebsocketTiming,
)
from agent_core.wire.response import IncompleteDetails, Response, ResponseError, Usage


class Frame(NamedTuple):
    """One event, encoded."""

    type: str
    data: bytes


class Ladder:
    """The events of one response. `response` holds what it echoes; its status, output and usage are kept here.

    `stream_id` is written into every event, None for the default lane and for HTTP. `wall_s` gives Unix seconds.
    """

    def __init__(
        self,
        response: Response,
        stream_id: str | None,
        new_id: Callable[[str], str],
        wall_s: Callable[[], int],
    ) -> None:
        self.response = response
        self._stream_id, self._new_id, self._wall_s = stream_id, new_id, wall_s
        self._sequence = 0
        self._open: OpenItem | None = None
        self.items: list[Any] = []
        """Closed output items, typed."""
        self.reasoning_items: set[int] = set()
        """Which of `items` are reasoning."""

    def created(self) -> Frame:
        return self._lifecycle(ResponseCreated)

    def in_progress(self) -> Frame:
        """Sent once at the start, and again to break a silence."""
        return self._lifecycle(ResponseInProgress)

    def delta(self, delta: Delta) -> list[Frame]:
        """Frames for one delta (not Finish). Raises EngineError for one that makes no sense here."""
        match delta:
            case TextDelta(text):
                frames = self._ensure(OpenMessage)
                return [*frames, *self._events(self._opened(OpenMessage).delta(text))]
            case ReasoningDelta(text):
                frames = self._ensure(OpenReasoning)
                return [*frames, *self._events(self._opened(OpenReasoning).delta(text))]
            case ToolCallStart():
                return [*self.close_item(), *self._open_item(OpenCall.start(delta, self._new_id, self._index))]
            case ToolCallDelta(text):
                if not isinstance(self._open, OpenCall):
                    raise EngineError("the engine sent arguments without a call", code="engine_broke_contract")
                return self._events(self._open.delta(text))
            case ItemEnd():
                return self.close_item()
            case _:
                raise EngineError("the engine sent an unknown delta", code="engine_broke_contract")

    def close_item(self, status: str = "completed") -> list[Frame]:
        """Close the open item, if any."""
        item = self._open
        if item is None:
            return []
        self._open = None
        frames = self._events(item.close())
        done = item.done(status)
        raw = msgspec.Raw(encode(done))
        frames += self._events([OutputItemDone(item=raw, output_index=self._index)])
        if isinstance(item, OpenReasoning):
            self.reasoning_items.add(len(self.items))
        self.items.append(done)
        self.response.output.append(raw)
        return frames

    def finish_items(self, *, cut: bool) -> list[Frame]:
        """Close what is open at the end. `cut`: a limit ended it; a half call is dropped, as nobody may run it."""
        if cut and isinstance(self._open, OpenCall):
            self._open = None
            return []
        return self.close_item("incomplete" if cut else "completed")

    def completed(self, usage: Usage) -> Frame:
        self._settle("completed", usage)
        self.response.completed_at = self._wall_s()
        return self._lifecycle(ResponseCompleted)

    def incomplete(self, reason: str, usage: Usage) -> Frame:
        """A limit or a filter ended it; `reason` is max_output_tokens or content_filter."""
        self._settle("incomplete", usage)
        self.response.incomplete_details = IncompleteDetails(reason=reason)
        return self._lifecycle(ResponseIncomplete)

    def cancelled(self, usage: Usage | None) -> Frame:
        """The client ended it. Whatever is open is dropped."""
        self._settle("cancelled", usage)
        return self._lifecycle(ResponseIncomplete)

    def failed(self, code: str, message: str, usage: Usage | None) -> Frame:
        """It broke after it was created. Whatever is open is dropped."""
        self._settle("failed", usage)
        self.response.error = ResponseError(code=code, message=message)
        return self._lifecycle(ResponseFailed)

    def timing(self, metrics: dict[str, Any]) -> Frame:
        return self._events([WebsocketTiming(timing_metrics=metrics)])[0]

    @property
    def _index(self) -> int:
        return len(self.items)

    def _settle(self, status: str, usage: Usage | None) -> None:
        self._open = None
        self.response.status, self.response.usage = status, usage

    def _opened(self, kind: type[Any]) -> Any:
        assert isinstance(self._open, kind)
        return self._open

    def _ensure(self, kind: type[OpenMessage] | type[OpenReasoning]) -> list[Frame]:
        if isinstance(self._open, kind):
            return []
        return [*self.close_item(), *self._open_item(kind.start(self._new_id, self._index))]

    def _open_item(self, item: OpenItem) -> list[Frame]:
        self._open = item
        added = OutputItemAdded(item=msgspec.Raw(encode(item.zero())), output_index=self._index)
        return self._events([added, *item.opening()])

    def _lifecycle(self, kind: type[Any]) -> Frame:
        return self._events([kind(response=self.response)])[0]

    def _events(self, events: list[Any]) -> list[Frame]:
        frames = []
        for event in events:
            event.sequence_number = self._sequence
            event.stream_id = self._stream_id
            self._sequence += 1
            frames.append(Frame(event.__struct_config__.tag, encode(event)))
        return frames
