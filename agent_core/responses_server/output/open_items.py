"""Output items while they grow: what opens them, what each delta is as an event, what closes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from agent_core.responses_server.engine import Logprob, ToolCallStart
from agent_core.wire.codec import to_raw
from agent_core.wire.events import (
    ContentPartAdded,
    ContentPartDone,
    CustomToolCallInputDelta,
    CustomToolCallInputDone,
    FunctionCallArgumentsDelta,
    FunctionCallArgumentsDone,
    OutputTextDelta,
    OutputTextDone,
    ReasoningSummaryPartAdded,
    ReasoningSummaryPartDone,
    ReasoningSummaryTextDelta,
    ReasoningSummaryTextDone,
)
from agent_core.wire.items import (
    AnyItem,
    CustomToolCall,
    FunctionCall,
    Message,
    OutputText,
    Reasoning,
    SummaryText,
    call_id_of,
    item_type,
)

NewId = Callable[[str], str]


class OpenMessage:
    """An assistant message with one text part."""

    def __init__(self, item_id: str, index: int) -> None:
        self._id, self._index = item_id, index
        self._text: list[str] = []
        self._logprobs: list[msgspec.Raw] = []

    @classmethod
    def start(cls, new_id: NewId, index: int) -> OpenMessage:
        return cls(new_id("msg"), index)

    def zero(self) -> Message:
        return Message(role="assistant", content=[], status="in_progress", id=self._id)

    def opening(self) -> list[Any]:
        return [ContentPartAdded(item_id=self._id, output_index=self._index, content_index=0, part=_text_part(""))]

    def delta(self, text: str, logprobs: Sequence[Logprob] = ()) -> list[Any]:
        self._text.append(text)
        raws = [to_raw(logprob) for logprob in logprobs]
        self._logprobs += raws
        return [OutputTextDelta(item_id=self._id, output_index=self._index, content_index=0, delta=text, logprobs=raws)]

    def close(self) -> list[Any]:
        text = "".join(self._text)
        at: dict[str, Any] = {"item_id": self._id, "output_index": self._index, "content_index": 0}
        part = _text_part(text, self._logprobs)
        return [OutputTextDone(text=text, logprobs=self._logprobs, **at), ContentPartDone(part=part, **at)]

    def done(self, status: str) -> Message:
        part = _text_part("".join(self._text), self._logprobs)
        return Message(role="assistant", content=[part], status=status, id=self._id)


class OpenReasoning:
    """A reasoning item with one summary part."""

    def __init__(self, item_id: str, index: int) -> None:
        self._id, self._index = item_id, index
        self._text: list[str] = []

    @classmethod
    def start(cls, new_id: NewId, index: int) -> OpenReasoning:
        return cls(new_id("rs"), index)

    def zero(self) -> Reasoning:
        return Reasoning(id=self._id, summary=[])

    def opening(self) -> list[Any]:
        return [ReasoningSummaryPartAdded(part=_summary_part(""), **self._at())]

    def delta(self, text: str) -> list[Any]:
        self._text.append(text)
        return [ReasoningSummaryTextDelta(delta=text, **self._at())]

    def close(self) -> list[Any]:
        text = "".join(self._text)
        return [
            ReasoningSummaryTextDone(text=text, **self._at()),
            ReasoningSummaryPartDone(part=_summary_part(text), **self._at()),
        ]

    def done(self, status: str) -> Reasoning:
        return Reasoning(id=self._id, summary=[_summary_part("".join(self._text))])

    def _at(self) -> dict[str, Any]:
        return {"item_id": self._id, "output_index": self._index, "summary_index": 0}


class OpenCall:
    """A function call, or a call of a custom tool."""

    def __init__(self, start: ToolCallStart, item_id: str, call_id: str, index: int) -> None:
        self._start, self._id, self._call_id, self._index = start, item_id, call_id, index
        self._custom = start.kind == "custom"
        self._text: list[str] = []

    @classmethod
    def start(cls, start: ToolCallStart, new_id: NewId, index: int) -> OpenCall:
        item_id = new_id("ctc" if start.kind == "custom" else "fc")
        return cls(start, item_id, start.call_id or new_id("call"), index)

    def zero(self) -> FunctionCall | CustomToolCall:
        return self._item("", "in_progress")

    def opening(self) -> list[Any]:
        return []

    def delta(self, text: str) -> list[Any]:
        self._text.append(text)
        kind = CustomToolCallInputDelta if self._custom else FunctionCallArgumentsDelta
        return [kind(item_id=self._id, output_index=self._index, delta=text)]

    def close(self) -> list[Any]:
        text = "".join(self._text)
        at: dict[str, Any] = {"item_id": self._id, "output_index": self._index}
        if self._custom:
            return [CustomToolCallInputDone(input=text, **at)]
        return [FunctionCallArgumentsDone(arguments=text, **at)]

    def done(self, status: str) -> FunctionCall | CustomToolCall:
        return self._item("".join(self._text), status)

    def _item(self, text: str, status: str) -> FunctionCall | CustomToolCall:
        common: dict[str, Any] = {
            "name": self._start.name,
            "namespace": self._start.namespace,
            "call_id": self._call_id,
            "id": self._id,
        }
        if self._custom:
            return CustomToolCall(input=text, **common)
        return FunctionCall(arguments=text, status=status, **common)


OpenItem = OpenMessage | OpenReasoning | OpenCall


def owed_output(call: AnyItem) -> dict[str, Any]:
    """The stub of the output that a call asks its client for: `required_input` of `response.steer.pending`."""
    if isinstance(call, FunctionCall):
        return {"type": "function_call_output", "call_id": call.call_id, "name": call.name}
    return {"type": f"{item_type(call)}_output", "call_id": call_id_of(call)}


def _text_part(text: str, logprobs: Sequence[msgspec.Raw] = ()) -> msgspec.Raw:
    return to_raw(OutputText(text=text, logprobs=list(logprobs)))


def _summary_part(text: str) -> msgspec.Raw:
    return to_raw(SummaryText(text=text))
