"""Client events and HTTP bodies: the service's strict reader. Items and tools stay undecoded until someone asks."""

from __future__ import annotations

import re
from collections.abc import Generator
from functools import cache
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from agent_core.errors import WireError
from agent_core.wire.bounds import (
    LISTED_FIELDS,
    MAX_ENTRIES,
    MAX_ITEMS,
    SHORT_FIELDS,
    require_few,
    require_item,
    require_short,
    require_small,
    require_text,
)
from agent_core.wire.codec import UNREADABLE, decoder, misfit, read, require_sound, to_raw
from agent_core.wire.generated.requests import *  # noqa: F403
from agent_core.wire.generated.requests import CHECKS, CLIENT_EVENTS, ClientEvent, ResponseCreate, ResponseSteer
from agent_core.wire.head import read_head
from agent_core.wire.tool_choice import ToolChoice as ToolChoice
from agent_core.wire.tool_choice import read_tool_choice as read_tool_choice

_STREAM_ID = re.compile(r"[A-Za-z0-9_.-]{1,256}")
_COUNTS = ("max_output_tokens", "max_tool_calls", "top_logprobs")
_MOST_COUNT = 2**53
_LARGE = 1 << 20
"""Of an input that is smaller, any number of items is split in milliseconds."""
_STRUCTURE = re.compile(rb'[\[\]{},"]')
_QUOTE, _COMMA, _BACKSLASH = b'",\\'
_OPENS = frozenset(b"[{")
_MAX_TOKENS = 4_000_000
_TOKENS_PER_SLICE = 4_000


def is_stream_id(text: str) -> bool:
    """1 to 256 characters of `[A-Za-z0-9_.-]` (OpenAI WebSocket mode guide)."""
    return _STREAM_ID.fullmatch(text) is not None


def read_client_frame(data: str | bytes) -> ClientEvent:
    """One frame from a client. Raises WireError only.

    Codes: `invalid_json` (no JSON object), `unsupported_event_type` (param `type`), `invalid_stream_id` (one that is no
    string), else `invalid_request` with the field's path. Input items and tools are not looked into: that is
    `items.read_item_strict` and `tools.read_tools`.
    """
    _require_utf8(data)
    try:
        event: ClientEvent = _frames().decode(data)
    except UNREADABLE as exc:
        raise _explain_frame(data, exc) from exc
    _check(event)
    return event


def read_create_body(data: str | bytes, *, known_utf8: bool = False) -> ResponseCreate:
    """The body of `POST /v1/responses`: a create without `type`. Raises like `read_client_frame`.

    `known_utf8`: whoever brings it has looked at its encoding.
    """
    if not known_utf8:
        _require_utf8(data)
    try:
        event = _bodies().decode(data)
    except UNREADABLE as exc:
        raise _explain(data, exc) from exc
    _check(event)
    return event


def peek_stream_id(data: str | bytes) -> str | None:
    """The lane of a frame that could not be read, for its error event; None for the default lane and invalid ids."""
    found = read_head(data).text("stream_id")
    return found if found is not None and is_stream_id(found) else None


def split_input(raw: Raw) -> list[Raw]:
    """The items of an `input` field: a string is one user message, null none. Raises WireError(param `input`)."""
    for _ in count_items(raw):
        pass
    return _split(raw)


def split_in_slices(raw: Raw) -> Generator[None, None, list[Raw]]:
    """`split_input` that lets others have their turn."""
    yield from count_items(raw)
    return _split(raw)


def count_items(raw: Raw) -> Generator[None, None, None]:
    """Raises WireError for too many items, before any is made: empty ones are many in few bytes. Yields now and then.

    Where there are fewer commas than items may be, there is nothing to count.
    """
    data = memoryview(raw)
    whole = bytes(data) if len(data) >= _LARGE else b""
    if whole.count(b",") < MAX_ITEMS:
        return
    depth, items, tokens, at = 0, 1, 0, 0
    while (found := _STRUCTURE.search(whole, at)) is not None:
        sign, at = whole[found.start()], found.end()
        if sign == _QUOTE:
            at = _end_of_string(whole, at)
        elif sign in _OPENS:
            depth += 1
        elif sign == _COMMA:
            items += depth == 1
            if items > MAX_ITEMS:
                raise WireError(f"input holds more than {MAX_ITEMS} items.", param="input")
        else:
            depth -= 1
        tokens += 1
        if tokens > _MAX_TOKENS:
            raise WireError("input holds too many values.", param="input")
        if tokens % _TOKENS_PER_SLICE == 0:
            yield


def _end_of_string(whole: bytes, at: int) -> int:
    """The place behind the string that begins at `at`, behind its first quote."""
    while (end := whole.find(b'"', at)) >= 0:
        before = end
        while before > at and whole[before - 1] == _BACKSLASH:
            before -= 1
        at = end + 1
        if (end - before) % 2 == 0:
            return at
    return len(whole)


def _split(raw: Raw) -> list[Raw]:
    if bytes(memoryview(raw)[:1]) == b'"':
        require_item("input", len(raw))
    found: list[Raw] | str | None = read(raw, list[Raw] | str | None, "input")
    if isinstance(found, str):
        return [to_raw({"type": "message", "role": "user", "content": found})]
    require_few("input", len(found or ()), MAX_ITEMS, "items")
    return found or []


@cache
def _frames() -> msgspec.json.Decoder[Any]:
    return decoder(ClientEvent)


@cache
def _bodies() -> msgspec.json.Decoder[ResponseCreate]:
    return decoder(ResponseCreate)


def _require_utf8(data: str | bytes) -> None:
    """The decoder does not look at the encoding of what it leaves undecoded."""
    if isinstance(data, bytes):
        try:
            data.decode()
        except UnicodeDecodeError as exc:
            raise WireError("The body is not UTF-8.", code="invalid_json") from exc


def _explain_frame(data: str | bytes, exc: Exception) -> WireError:
    head = read_head(data)
    if head.is_object and head.type not in CLIENT_EVENTS:
        code = "unsupported_event_type" if head.type else None
        return WireError(f"type: {head.type_fault('event type')}.", code=code, param="type")
    return _explain(data, exc)


def _explain(data: str | bytes, exc: Exception) -> WireError:
    if not read_head(data).is_object:
        return WireError("The body is not a JSON object.", code="invalid_json")
    error = misfit(exc)
    if error.param == "stream_id":
        error.code = "invalid_stream_id"
    return error


def _check(event: ClientEvent) -> None:
    for name, kind in CHECKS.get(str(event.__struct_config__.tag), {}).items():
        value = getattr(event, name)
        if value is not UNSET:
            require_small(name, value)
            read(value, kind | None, name)
            require_sound(value, name)
    if isinstance(event, ResponseCreate):
        for name in SHORT_FIELDS:
            require_short(name, getattr(event, name))
        require_text("instructions", event.instructions)
        for name in LISTED_FIELDS:
            require_few(name, len(getattr(event, name) or ()), MAX_ENTRIES, "entries")
        read_tool_choice(event.tool_choice)
        for name in _COUNTS:
            if abs(getattr(event, name) or 0) > _MOST_COUNT:
                raise WireError(f"{name} is out of range.", param=name)
    if isinstance(event, ResponseSteer):
        split_input(event.input)
