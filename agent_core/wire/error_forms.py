"""The forms in which services send an error: nested or flat, `status_code` for `status`, headers inside or beside."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Raw

from agent_core.errors import WireError
from agent_core.wire.codec import plain, read
from agent_core.wire.generated.events import ErrorEvent
from agent_core.wire.generated.types import ErrorBody, Misalignment
from agent_core.wire.head import Head, read_head

_PAUSES: Final = {
    "retry_after": "retry-after",
    "retry_after_s": "retry-after",
    "retry_after_seconds": "retry-after",
    "retry_after_ms": "retry-after-ms",
}


def read_error(head: Head) -> ErrorEvent:
    """An ErrorEvent from the fields of an `error` frame or of an HTTP error body. Never raises.

    `error.type` and `error.message` are "" where the peer gave none, `status` None where it sent no number. Header
    names come in lower case.
    """
    inner = read_head(head.fields["error"]) if "error" in head.fields else Head(None)
    body = inner if inner.is_object else head
    message = body.text("message")
    if message is None:
        message = head.text("error") or head.text("message") or head.text("detail") or ""
    return ErrorEvent(
        status=_first_number((head, body), ("status", "status_code", "code")),
        error=ErrorBody(
            type=inner.text("type") or "",
            code=body.text("code") or head.text("code"),
            message=message,
            param=body.text("param"),
            headers={**_headers(head.fields.get("headers")), **_headers(body.fields.get("headers")), **_pauses(body)}
            or None,
            misalignment=_misalignment(inner),
        ),
        sequence_number=head.number("sequence_number"),
        stream_id=head.text("stream_id"),
    )


def _first_number(heads: tuple[Head, ...], names: tuple[str, ...]) -> int | None:
    found = (head.number(name) for name in names for head in heads)
    return next((number for number in found if number is not None), None)


def _misalignment(body: Head) -> Misalignment | None:
    try:
        return read(body.fields["misalignment"], Misalignment) if body.has("misalignment") else None
    except WireError:
        return None


def _pauses(body: Head) -> dict[str, str]:
    """The pause that a body asks for by itself, as headers: `retry_after` (seconds) and the like beside the message,
    `RetryInfo` among Google's details, and the headers that OpenRouter passes on from whom it asked."""
    found: dict[str, str] = {}
    for name, header in _PAUSES.items():
        if name in body.fields:
            found |= _headers_of({header: _loose(body.fields[name])})
    metadata = _loose(body.fields.get("metadata"))
    details = _loose(body.fields.get("details"))
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and "retryDelay" in detail:
            found |= _headers_of({"retry-after": detail["retryDelay"]})
    return (_headers_of(metadata.get("headers")) if isinstance(metadata, dict) else {}) | found


def _loose(raw: Raw | None) -> Any:
    try:
        return None if raw is None else plain(raw)
    except WireError:
        return None


def _headers(raw: Raw | None) -> dict[str, str]:
    return _headers_of(_loose(raw))


def _headers_of(found: Any) -> dict[str, str]:
    """Header values as text; services send numbers too."""
    if not isinstance(found, dict):
        return {}
    return {name.lower(): str(value) for name, value in found.items() if isinstance(value, str | int | float)}
