"""The forms in which services send an error: nested or flat, `status_code` for `status`, headers inside or beside."""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from agent_core.errors import WireError
from agent_core.wire.codec import plain, read
from agent_core.wire.generated.events import ErrorEvent
from agent_core.wire.generated.types import ErrorBody, Misalignment
from agent_core.wire.head import Head, read_head


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
            headers={**_headers(head.fields.get("headers")), **_headers(body.fields.get("headers"))} or None,
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


def _headers(raw: Raw | None) -> dict[str, str]:
    """Header values as text; services send numbers too."""
    try:
        found: Any = None if raw is None else plain(raw)
    except WireError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {name.lower(): str(value) for name, value in found.items() if isinstance(value, str | int | float)}
