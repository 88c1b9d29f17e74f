"""Client events and HTTP bodies: the service's strict reader. Items and tools stay undecoded until someone needs them."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, Struct

from agent_core.errors import WireError
from agent_core.wire.codec import UNREADABLE, misfit, present, read, to_raw
from agent_core.wire.generated.requests import *  # noqa: F403
from agent_core.wire.generated.requests import CHECKS, ClientEvent, ResponseCreate, ResponseSteer
from agent_core.wire.head import read_head

CLIENT_TYPES = ("response.create", "response.steer", "response.cancel", "response.append", "response.processed")
_STREAM_ID = re.compile(r"[A-Za-z0-9_.-]{1,256}")


def is_stream_id(text: str) -> bool:
    """1 to 256 characters of `[A-Za-z0-9_.-]` (OpenAI WebSocket mode guide)."""
    return _STREAM_ID.fullmatch(text) is not None


def read_client_frame(data: str | bytes) -> ClientEvent:
    """One frame from a client. Raises WireError only.

    Codes: `invalid_json` (no JSON object), `unsupported_event_type` (param `type`), `invalid_stream_id`, else
    `invalid_request` with the field's path. Items and tools are not looked into: `items.read_item_strict`, `read_tools`.
    """
    text = _text(data)
    try:
        event: ClientEvent = _frames().decode(text)
    except UNREADABLE as exc:
        raise _explain_frame(text, exc) from exc
    _check(event)
    return event


def read_create_body(data: str | bytes) -> ResponseCreate:
    """The body of `POST /v1/responses`: a create without `type`. Raises like `read_client_frame`."""
    text = _text(data)
    try:
        event = _bodies().decode(text)
    except UNREADABLE as exc:
        raise _explain(text, exc) from exc
    _check(event)
    return event


def peek_stream_id(data: str | bytes) -> str | None:
    """The lane of a frame that could not be read, for its error event; None for the default lane and for invalid ids."""
    found = read_head(data).text("stream_id")
    return found if found is not None and is_stream_id(found) else None


def split_input(raw: Raw) -> list[Raw]:
    """The items of an `input` field: a string is one user message, null none. Raises WireError(param `input`)."""
    found: list[Raw] | str | None = read(raw, list[Raw] | str | None, "input")
    if isinstance(found, str):
        return [to_raw({"type": "message", "role": "user", "content": found})]
    return found or []


class ToolChoice(Struct, frozen=True, kw_only=True):
    """`tool_choice` in one shape.

    `mode` "required" with `type` None means any tool; with `type` the named tool must be called (`name` None for hosted
    kinds). `allowed` is the subset that an `allowed_tools` choice leaves, None without one.
    """

    mode: Literal["none", "auto", "required"] = "auto"
    type: str | None = None
    name: str | None = None
    allowed: list[dict[str, Any]] | None = None


def read_tool_choice(raw: Raw | msgspec.UnsetType) -> ToolChoice:
    """Raises WireError with param `tool_choice` or a path below it."""
    if not present(raw):
        return ToolChoice()
    found: dict[str, Raw] | str = read(raw, dict[str, Raw] | str, "tool_choice")
    if isinstance(found, str):
        if found not in ("none", "auto", "required"):
            raise WireError("tool_choice: expected none, auto, required or an object.", param="tool_choice")
        return ToolChoice(mode=found)  # type: ignore[arg-type]
    kind: str = read(found.get("type", Raw(b"null")), str, "tool_choice.type")
    if kind == "allowed_tools":
        mode: str = read(found.get("mode", Raw(b"null")), str, "tool_choice.mode")
        if mode not in ("auto", "required"):
            raise WireError("tool_choice.mode: expected auto or required.", param="tool_choice.mode")
        allowed: list[dict[str, Any]] = read(
            found.get("tools", Raw(b"null")), list[dict[str, Any]], "tool_choice.tools"
        )
        return ToolChoice(mode=mode, allowed=allowed)  # type: ignore[arg-type]
    name: str | None = read(found.get("name", Raw(b"null")), str | None, "tool_choice.name")
    if kind in ("function", "custom") and not name:
        raise WireError("tool_choice.name is missing.", param="tool_choice.name")
    return ToolChoice(mode="required", type=kind, name=name)


@cache
def _frames() -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(ClientEvent)


@cache
def _bodies() -> msgspec.json.Decoder[ResponseCreate]:
    return msgspec.json.Decoder(ResponseCreate)


def _text(data: str | bytes) -> str:
    """The decoder skips undecoded fields without a look at their encoding, so the whole text is held to UTF-8 here."""
    try:
        if isinstance(data, str):
            data.encode()
            return data
        return data.decode()
    except UnicodeError as exc:
        raise WireError("The body is not UTF-8.", code="invalid_json") from exc


def _explain_frame(text: str, exc: Exception) -> WireError:
    head = read_head(text)
    if head.is_object and head.type not in CLIENT_TYPES:
        if not head.type:
            return WireError("type is missing or not a string.", param="type")
        return WireError(f"Unknown event type {head.type!r}.", code="unsupported_event_type", param="type")
    return _explain(text, exc)


def _explain(text: str, exc: Exception) -> WireError:
    head = read_head(text)
    if not head.is_object:
        return WireError("The body is not a JSON object.", code="invalid_json")
    error = misfit(exc)
    if error.param == "stream_id":
        error.code = "invalid_stream_id"
    return error


def _check(event: ClientEvent) -> None:
    for name, kind in CHECKS.get(str(event.__struct_config__.tag), {}).items():
        value = getattr(event, name)
        if value is not UNSET:
            read(value, kind | None, name)
    if isinstance(event, ResponseCreate):
        read_tool_choice(event.tool_choice)
    if isinstance(event, ResponseSteer):
        split_input(event.input)
