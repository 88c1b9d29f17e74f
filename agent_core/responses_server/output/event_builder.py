"""Engine deltas to the event ladder of one response: the one place that makes events for WebSocket, SSE and JSON.

Every frame carries the next sequence number, from 0. Items open with zero values and close complete; the terminal frame
shows exactly the items that were closed. Source: Open Responses spec 2026-04-24 and openai-python's event types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from agent_core.errors import EngineError
from agent_core.responses_server.conversation.sealing import Seal
from agent_core.responses_server.engine import Delta, ItemEnd, ReasoningDelta, TextDelta, ToolCallDelta, ToolCallStart
from agent_core.responses_server.output.long_response import Paused, ResponseDone
from agent_core.responses_server.output.open_items import OpenCall, OpenItem, OpenMessage, OpenReasoning
from agent_core.wire.codec import encode
from agent_core.wire.errors import retry_headers
from agent_core.wire.events import (
    CompactionCompacting,
    OutputItemAdded,
    OutputItemDone,
    ResponseCompleted,
    ResponseCreated,
    ResponseFailed,
    ResponseIncomplete,
    ResponseInProgress,
    SteerAccepted,
    SteerFailed,
    SteerPending,
    WebsocketTiming,
)
from agent_core.wire.generated.types import RefusedSteer, Steer, SteerError
from agent_core.wire.items import Compaction, Reasoning, text_of
from agent_core.wire.response import IncompleteDetails, Response, ResponseError, Usage


class Frame(NamedTuple):
    """One event, encoded."""

    type: str
    data: bytes


class EventBuilder:
    """The events of one response. `response` holds what it echoes; its status, output and usage are kept here.

    `stream_id` is written into every event, None for the default lane and for HTTP. `wall_s` gives Unix seconds.
    `seal`: reasoning items carry their text sealed by it as well; None: they do not.
    """

    def __init__(
        self,
        response: Response,
        stream_id: str | None,
        new_id: Callable[[str], str],
        wall_s: Callable[[], int],
        *,
        seal: Seal | None = None,
    ) -> None:
        self.response = response
        self._stream_id, self._new_id, self._wall_s = stream_id, new_id, wall_s
        self._seal = seal
        self._sequence = 0
        self._shown = 0
        self._open: OpenItem | None = None
        self.items: list[Any] = []
        """Closed output items, typed."""
        self._dropped: list[Any] = []

    @property
    def unfinished(self) -> list[Any]:
        """What was begun and did not end: it is in no output, but it was produced."""
        return [*self._dropped, *([self._open.done("incomplete")] if self._open is not None else [])]

    def created(self) -> Frame:
        return self._lifecycle(ResponseCreated)

    def in_progress(self) -> Frame:
        """Sent once at the start, and again to break a silence."""
        return self._lifecycle(ResponseInProgress)

    def delta(self, delta: Delta) -> list[Frame]:
        """Frames for one delta (not Finish). Raises EngineError for one that makes no sense here."""
        match delta:
            case TextDelta(text, logprobs):
                frames = self._ensure(OpenMessage)
                return [*frames, *self._events(self._opened(OpenMessage).delta(text, logprobs))]
            case ReasoningDelta(text, plain):
                frames = self._ensure(OpenReasoning)
                return [*frames, *self._events(self._opened(OpenReasoning).delta(text, plain=plain))]
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
        if self._seal is not None and isinstance(done, Reasoning):
            done.encrypted_content = self._seal.seal("reasoning", text_of(done))
        return [*frames, self._done(done)]

    def compaction(self, content: str) -> list[Frame]:
        """A compaction item as a whole. `content`: what it holds, sealed."""
        item = Compaction(id=self._new_id("cmp"), encrypted_content="")
        opening = [
            OutputItemAdded(item=msgspec.Raw(encode(item)), output_index=self._index),
            CompactionCompacting(item_id=item.id or "", output_index=self._index),
        ]
        frames = self._events(opening)
        item.encrypted_content = content
        return [*frames, self._done(item)]

    def finish_items(self, *, cut: bool) -> list[Frame]:
        """Close what is open at the end. `cut`: a limit ended it; a half call is dropped, as nobody may run it."""
        if cut and isinstance(self._open, OpenCall):
            self._drop()
            return []
        return self.close_item("incomplete" if cut else "completed")

    def completed(self, usage: Usage) -> Frame:
        self._settle("completed", usage)
        self.response.completed_at = self._wall_s()
        return self._lifecycle(ResponseCompleted)

    def incomplete(self, reason: str, usage: Usage) -> Frame:
        """Something ended it early; `reason` is max_output_tokens, content_filter or steered."""
        self._settle("incomplete", usage)
        self.response.incomplete_details = IncompleteDetails(reason=reason)
        return self._lifecycle(ResponseIncomplete)

    def cancelled(self, usage: Usage | None) -> Frame:
        """The client ended it. Whatever is open is dropped."""
        self._settle("cancelled", usage)
        return self._lifecycle(ResponseIncomplete)

    def failed(self, code: str, message: str, usage: Usage | None, retry_after_s: float | None = None) -> Frame:
        """It broke after it was created. Whatever is open is dropped. `retry_after_s`: the pause asked for, if any."""
        self._settle("failed", usage)
        self.response.error = ResponseError(code=code, message=message, headers=retry_headers(retry_after_s))
        return self._lifecycle(ResponseFailed)

    def paused(self) -> Frame:
        """`response.done` of a rollout: what was said since the last one, and the outputs of its calls are awaited."""
        output = self.response.output[self._shown :]
        self._shown = len(self.response.output)
        return self._events([ResponseDone(response=Paused(id=self.response.id, output=output))])[0]

    def timing(self, metrics: dict[str, Any]) -> Frame:
        return self._events([WebsocketTiming(timing_metrics=metrics)])[0]

    def steer_accepted(self, steer_id: str) -> Frame:
        return self._events([SteerAccepted(steer=self._steer(steer_id))])[0]

    def steer_pending(self, steer_id: str, required_input: list[msgspec.Raw]) -> Frame:
        """Follows the terminal frame: the input waits for the outputs that `required_input` stands for."""
        reason = "waiting_for_required_input"
        return self._events([SteerPending(reason=reason, required_input=required_input, steer=self._steer(steer_id))])[
            0
        ]

    def steer_failed(self, error: SteerError, refused: RefusedSteer) -> Frame:
        return self._events([SteerFailed(error=error, steer=refused)])[0]

    def _steer(self, steer_id: str) -> Steer:
        return Steer(id=steer_id, previous_response_id=self.response.id)

    @property
    def _index(self) -> int:
        return len(self.items)

    def _done(self, item: Any) -> Frame:
        raw = msgspec.Raw(encode(item))
        frame = self._events([OutputItemDone(item=raw, output_index=self._index)])[0]
        self.items.append(item)
        self.response.output.append(raw)
        return frame

    def _drop(self) -> None:
        self._dropped, self._open = self.unfinished, None

    def _settle(self, status: str, usage: Usage | None) -> None:
        self._drop()
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
