"""The Responses API as a server has it: request bodies from requests, deltas from events. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Raw

from agent_core.clock import utc_now
from agent_core.errors import ConnectionLost, EngineError, ServiceError
from agent_core.protocol.reconcile import same
from agent_core.responses_server.engine import Delta, EngineRequest, Finish, ToolCallStart
from agent_core.responses_server.engines.chat_turns import FlatTools, flat_name
from agent_core.responses_server.engines.upstream.interleaved import Interleaved
from agent_core.responses_server.engines.upstream.lane import Span
from agent_core.responses_server.engines.upstream.offer import Offer, offer
from agent_core.responses_server.engines.upstream.settings import UpstreamSettings
from agent_core.wire import events as ev
from agent_core.wire.codec import encode, to_raw
from agent_core.wire.errors import to_exception
from agent_core.wire.items import (
    AdditionalTools,
    AnyItem,
    ConfigurationUpdate,
    CustomToolCall,
    CustomToolCallOutput,
    FunctionCall,
    FunctionCallOutput,
    Message,
    Reasoning,
    read_item,
    text_of,
)
from agent_core.wire.response import Response

_OURS = (Message, FunctionCall, FunctionCallOutput, CustomToolCall, CustomToolCallOutput)
"""Items whose ids are ours: a server would look for them among its own."""


def response_body(request: EngineRequest, settings: UpstreamSettings, cache_key: str | None) -> dict[str, Any]:
    """All fields of a create but `input`. Nothing is stored at the server."""
    offered = offer(request, settings)
    text = {"format": request.text_format, "verbosity": request.verbosity}
    fields: dict[str, Any] = {
        "instructions": request.instructions,
        "max_output_tokens": request.max_output_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "text": {name: value for name, value in text.items() if value is not None} or None,
        "reasoning": request.reasoning,
        # Without it a server that keeps nothing could not go on from its own reasoning.
        "include": ["reasoning.encrypted_content"] if request.reasoning else None,
        "prompt_cache_key": cache_key if settings.cache_key else None,
        **_tool_fields(request, offered),
    }
    return {
        **settings.extra,
        "model": settings.model,
        "stream": True,
        "store": False,
        **{name: value for name, value in fields.items() if value is not None},
    }


def input_items(items: Sequence[AnyItem], start: int, spans: Sequence[Span]) -> list[Raw]:
    """Items from `start` on as a server takes them; where it is known how it had written them itself, like that."""
    raws: list[Raw] = []
    at = start
    while at < len(items):
        span = next((span for span in spans if span.stands_for(items, at)), None)
        if span is not None:
            raws += span.raws
            at += span.count
            continue
        item = items[at]
        at += 1
        if not isinstance(item, Reasoning | AdditionalTools | ConfigurationUpdate):
            raws.append(_theirs(item))
    return raws


def _theirs(item: AnyItem) -> Raw:
    if isinstance(item, FunctionCall):
        item = msgspec.structs.replace(item, name=flat_name(item.namespace, item.name), namespace=None)
    if isinstance(item, _OURS):
        item = msgspec.structs.replace(item, id=None)
        if not isinstance(item, CustomToolCall | CustomToolCallOutput):
            item = msgspec.structs.replace(item, status=None)
    return to_raw(item)


def _tool_fields(request: EngineRequest, offered: Offer) -> dict[str, Any]:
    if not offered.tools.by_name:
        return {}
    choice: Any = offered.choice
    if offered.named is not None:
        choice = {"type": offered.tools.by_name[offered.named].kind, "name": offered.named}
    return {
        "tools": [_tool(name, offered.tools) for name in offered.tools.by_name],
        "tool_choice": choice,
        "parallel_tool_calls": request.max_tool_calls != 1,
    }


def _tool(name: str, tools: FlatTools) -> dict[str, Any]:
    tool = tools.by_name[name]
    if tool.kind == "function":
        parameters = tool.parameters or {"type": "object", "properties": {}}
        function = {"type": "function", "name": name, "description": tool.description}
        return {**function, "parameters": parameters, "strict": False}
    shape = {"type": "grammar", **msgspec.to_builtins(tool.format)} if tool.format is not None else {"type": "text"}
    return {"type": "custom", "name": name, "description": tool.description, "format": shape}


class ResponsesReader:
    """One response's events, in either transport. `raws` are the items as they came.

    `limit`: the response's `max_output_tokens`; llama.cpp calls a response completed that was cut off there.
    """

    def __init__(self, tools: FlatTools, limit: int | None = None) -> None:
        self._tools, self._limit = tools, limit
        self._items = Interleaved()
        self._finish: Finish | None = None
        self.response_id = ""
        self.raws: list[Raw] = []

    patience_s: float | None = None
    """Of this API the last event tells that it is the last."""

    @property
    def complete(self) -> bool:
        return self._finish is not None

    def end(self, *, done: bool, orderly: bool) -> list[Delta]:
        """Raises ConnectionLost: the response had no end of its own."""
        raise ConnectionLost("the answer ended before the response did")

    def finish(self) -> Finish:
        assert self._finish is not None
        return self._finish

    @property
    def count(self) -> int:
        """How many items of ours the response became."""
        return self._items.count

    def read(self, data: bytes) -> list[Delta]:
        """The deltas of one event. Raises ServiceError, AuthError, EngineError or WireError for failures."""
        event = ev.read_event(data)
        match event:
            case ev.OutputTextDelta() | ev.RefusalDelta():
                return self._items.text(_key(event), event.delta)
            case ev.ReasoningSummaryTextDelta() | ev.ReasoningTextDelta():
                return self._items.reasoning(_key(event), event.delta)
            case ev.FunctionCallArgumentsDelta() | ev.CustomToolCallInputDelta():
                return self._items.arguments(_key(event), event.delta)
            case ev.ReasoningSummaryPartAdded(summary_index=index) if index > 0:
                return self._items.reasoning(_key(event), "\n\n")
            case ev.OutputItemAdded():
                return self._added(event.item, event.output_index)
            case ev.OutputItemDone():
                return self._done(event.item, event.output_index)
            case ev.ResponseCreated() | ev.ResponseInProgress():
                self.response_id = event.response.id or self.response_id
                return []
            case ev.ResponseCompleted() | ev.ResponseIncomplete():
                return self._ended(event.response)
            case ev.ResponseFailed():
                failure = event.response.error
                if failure is None:
                    raise ServiceError("the response failed without a reason", code="server_error")
                raise to_exception(failure, utc_now())
            case ev.ErrorEvent():
                raise to_exception(event, utc_now())
            case _:
                return []

    def _added(self, raw: Raw, index: int) -> list[Delta]:
        item = read_item(raw)
        start = self._start(item)
        return [] if start is None else self._items.open_call(_item_key(item, index), start)

    def _start(self, item: AnyItem) -> ToolCallStart | None:
        if isinstance(item, FunctionCall):
            return self._tools.start(item.name, item.call_id or None)
        if isinstance(item, CustomToolCall):
            start = self._tools.start(item.name, item.call_id or None)
            return msgspec.structs.replace(start, kind="custom")
        return None

    def _done(self, raw: Raw, index: int) -> list[Delta]:
        """What its deltas left out, and its end."""
        item = read_item(raw)
        key = _item_key(item, index)
        if any(same(bytes(raw), bytes(each)) and _item_key(read_item(each), index) == key for each in self.raws):
            return []  # told twice
        self.raws.append(raw.copy())
        deltas: list[Delta] = []
        start = self._start(item)
        whole = text_of(item)
        if start is not None:
            if not self._items.knows(key):
                deltas += self._items.open_call(key, start)
            written = self._items.written(key)
            if whole.startswith(written):
                deltas += self._items.arguments(key, whole[len(written) :])
        elif not self._items.knows(key) and isinstance(item, Message):
            deltas += self._items.text(key, whole)
        elif not self._items.knows(key) and isinstance(item, Reasoning):
            deltas += self._items.reasoning(key, whole)
        return deltas + self._items.close(key)

    def _ended(self, response: Response) -> list[Delta]:
        deltas: list[Delta] = []
        for index, raw in enumerate(response.output):
            if not any(same(bytes(raw), bytes(each)) for each in self.raws):
                deltas += self._done(raw, index)
        self.response_id = response.id or self.response_id
        usage = response.usage
        reason = _reason(response)
        at_limit = self._limit is not None and usage is not None and usage.output_tokens >= self._limit
        if reason == "stop" and at_limit and self._items.broken is not None:
            reason = "max_output_tokens"
        deltas += self._items.end(cut=reason != "stop")
        details = usage.input_tokens_details if usage is not None else None
        made = usage.output_tokens_details if usage is not None else None
        self._finish = Finish(
            reason=reason,
            input_tokens=usage.input_tokens if usage is not None else None,
            cached_tokens=details.cached_tokens if details is not None else None,
            output_tokens=usage.output_tokens if usage is not None else None,
            reasoning_tokens=made.reasoning_tokens if made is not None else None,
        )
        return deltas


def _reason(response: Response) -> Literal["stop", "max_output_tokens", "content_filter"]:
    if response.status != "incomplete":
        return "stop"
    reason = response.incomplete_details.reason if response.incomplete_details is not None else None
    if reason == "content_filter":
        return "content_filter"
    if reason in ("max_output_tokens", "max_tokens", None):
        return "max_output_tokens"
    raise EngineError(f"The server ended the response early ({reason}).", code="upstream_failed")


def _key(event: Any) -> Hashable:
    key: Hashable = event.item_id or event.output_index
    return key


def _item_key(item: AnyItem, index: int) -> Hashable:
    return getattr(item, "id", None) or index


def create_frame(body: dict[str, Any]) -> bytes:
    """A `response.create` for a WebSocket, where streaming goes without saying."""
    return encode({"type": "response.create", **{name: value for name, value in body.items() if name != "stream"}})
