"""Output items while they grow: what opens them, what each delta is as an event, what closes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

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
    ReasoningTextDelta,
    ReasoningTextDone,
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
from agent_core.wire.parts import ReasoningText

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
    """A reasoning item: one part of summary, one of plain reasoning, or both; each begins with its first piece."""

    def __init__(self, item_id: str, index: int) -> None:
        self._id, self._index = item_id, index
        self._summary: list[str] = []
        self._plain: list[str] = []

    @classmethod
    def start(cls, new_id: NewId, index: int) -> OpenReasoning:
        return cls(new_id("rs"), index)

    def zero(self) -> Reasoning:
        return Reasoning(id=self._id, summary=[])

    def opening(self) -> list[Any]:
        return []

    def delta(self, text: str, *, plain: bool = False) -> list[Any]:
        pieces, at = (self._plain, self._at("content")) if plain else (self._summary, self._at("summary"))
        begun: list[Any] = []
        if not pieces and plain:
            begun = [ContentPartAdded(part=_plain_part(""), **at)]
        elif not pieces:
            begun = [ReasoningSummaryPartAdded(part=_summary_part(""), **at)]
        pieces.append(text)
        return [*begun, ReasoningTextDelta(delta=text, **at) if plain else ReasoningSummaryTextDelta(delta=text, **at)]

    def close(self) -> list[Any]:
        closing: list[Any] = []
        if self._summary:
            text, at = "".join(self._summary), self._at("summary")
            closing += [ReasoningSummaryTextDone(text=text, **at)]
            closing += [ReasoningSummaryPartDone(part=_summary_part(text), **at)]
        if self._plain:
            text, at = "".join(self._plain), self._at("content")
            closing += [ReasoningTextDone(text=text, **at), ContentPartDone(part=_plain_part(text), **at)]
        return closing

    def done(self, status: str) -> Reasoning:
        return Reasoning(
            id=self._id,
            summary=[_summary_part("".join(self._summary))] if self._summary else [],
            content=[_plain_part("".join(self._plain))] if self._plain else None,
        )

    def _at(self, part: Literal["summary", "content"]) -> dict[str, Any]:
        return {"item_id": self._id, "output_index": self._index, f"{part}_index": 0}


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


def _plain_part(text: str) -> msgspec.Raw:
    return to_raw(ReasoningText(text=text))
