"""The forms in which services send an `error`: nested or flat, `status_code` for `status`, headers inside or beside."""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from agent_core.errors import WireError
from agent_core.wire.codec import plain
from agent_core.wire.generated.events import ErrorEvent
from agent_core.wire.generated.types import ErrorBody
from agent_core.wire.head import Head, read_head


def read_error_fields(head: Head) -> ErrorEvent:
    """An ErrorEvent from the fields of an `error` frame or of an HTTP error body. Never raises.

    `error.type` is "" and `error.message` is "" where the peer gave none; `status` None where it sent no number.
    """
    inner = read_head(head.fields["error"]) if "error" in head.fields else Head(None, is_json=False)
    source = inner if inner.is_object else head
    message = source.text("message")
    if message is None and not inner.is_object:
        message = head.text("error")
    kind = source.text("type") if source is inner else None
    headers = {**_headers(head.fields.get("headers")), **_headers(source.fields.get("headers"))}
    return ErrorEvent(
        status=_first(
            head.number("status"), head.number("status_code"), source.number("status"), source.number("status_code")
        ),
        error=ErrorBody(
            type=kind or "",
            code=source.text("code") or head.text("code"),
            message=message or "",
            param=source.text("param"),
            headers=headers or None,
        ),
        sequence_number=head.number("sequence_number"),
        stream_id=head.text("stream_id"),
    )


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _headers(raw: Raw | None) -> dict[str, str]:
    """Header values as text; services send numbers too."""
    if raw is None:
        return {}
    try:
        found: Any = plain(raw)
    except WireError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {str(k).lower(): str(v) for k, v in found.items() if isinstance(v, str | int | float)}
