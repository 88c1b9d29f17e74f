"""Error codes of the wire: what each means, how the service writes it, what the client may do about it."""

from __future__ import annotations

import math
from datetime import datetime
from typing import NamedTuple

from agent_core.errors import AuthError, Retry, ServiceError
from agent_core.pauses import pause_s
from agent_core.wire.error_forms import read_error
from agent_core.wire.generated.events import ErrorEvent
from agent_core.wire.generated.types import ErrorBody
from agent_core.wire.head import read_head
from agent_core.wire.response import ResponseError


class CodeRule(NamedTuple):
    """`status` is HTTP-like; `param` the field that the code always speaks of, None if it differs from case to case."""

    status: int
    type: str
    retry: Retry
    param: str | None = None


_REQUEST, _SERVER, _LIMIT, _AUTH = "invalid_request_error", "server_error", "rate_limit_error", "authentication_error"

CODES: dict[str, CodeRule] = {
    "invalid_json": CodeRule(400, _REQUEST, Retry.NEVER),
    "invalid_request": CodeRule(400, _REQUEST, Retry.NEVER),
    "unsupported_event_type": CodeRule(400, _REQUEST, Retry.NEVER, "type"),
    "message_too_large": CodeRule(413, _REQUEST, Retry.NEVER),
    "model_not_found": CodeRule(404, _REQUEST, Retry.NEVER, "model"),
    "not_found": CodeRule(404, _REQUEST, Retry.NEVER),
    "previous_response_not_found": CodeRule(400, _REQUEST, Retry.NOW, "previous_response_id"),
    "invalid_stream_id": CodeRule(400, _REQUEST, Retry.NEVER, "stream_id"),
    "websocket_stream_limit_reached": CodeRule(400, _REQUEST, Retry.NEVER, "stream_id"),
    "websocket_connection_limit_reached": CodeRule(400, _REQUEST, Retry.NOW),
    "context_length_exceeded": CodeRule(400, _REQUEST, Retry.NEVER, "input"),
    "invalid_prompt": CodeRule(400, _REQUEST, Retry.NEVER, "input"),
    "invalid_api_key": CodeRule(401, _AUTH, Retry.NEVER),
    "insufficient_quota": CodeRule(429, "insufficient_quota", Retry.NEVER),
    "usage_limit_reached": CodeRule(429, _LIMIT, Retry.BACKOFF),
    "usage_not_included": CodeRule(429, _LIMIT, Retry.NEVER),
    "rate_limit_exceeded": CodeRule(429, _LIMIT, Retry.BACKOFF),
    "server_error": CodeRule(500, _SERVER, Retry.BACKOFF),
    "engine_failed": CodeRule(500, _SERVER, Retry.NEVER),
    "engine_broke_contract": CodeRule(500, _SERVER, Retry.NEVER),
    "engine_unavailable": CodeRule(503, _SERVER, Retry.NEVER),
    "grammar_unreadable": CodeRule(400, _REQUEST, Retry.NEVER, "tools"),
    "invalid_text_format": CodeRule(400, _REQUEST, Retry.NEVER, "text"),
    "invalid_tool_schema": CodeRule(400, _REQUEST, Retry.NEVER, "tools"),
    "malformed_tool_arguments": CodeRule(502, _SERVER, Retry.NEVER),
    "rollout_mismatch": CodeRule(500, _SERVER, Retry.NEVER),
    "rollout_timeout": CodeRule(504, _SERVER, Retry.NEVER),
    "rollout_unconsumed": CodeRule(500, _SERVER, Retry.NEVER),
    "rollout_unexpected_call": CodeRule(500, _SERVER, Retry.NEVER),
    "tool_choice_broken": CodeRule(500, _SERVER, Retry.NEVER),
    "unsupported_content": CodeRule(400, _REQUEST, Retry.NEVER, "input"),
    "upstream_auth_refused": CodeRule(502, _SERVER, Retry.NEVER),
    "upstream_failed": CodeRule(502, _SERVER, Retry.NEVER),
    "upstream_not_understood": CodeRule(502, _SERVER, Retry.NEVER),
    "upstream_refused": CodeRule(502, _SERVER, Retry.NEVER),
    "upstream_unreachable": CodeRule(502, _SERVER, Retry.NEVER),
    "server_is_overloaded": CodeRule(503, _SERVER, Retry.BACKOFF),
    "slow_down": CodeRule(503, _SERVER, Retry.BACKOFF),
    "vector_store_timeout": CodeRule(504, _SERVER, Retry.BACKOFF),
    "data_residency_mismatch": CodeRule(400, _REQUEST, Retry.NEVER),
    "bio_policy": CodeRule(400, _REQUEST, Retry.NEVER),
    "cyber_policy": CodeRule(400, _REQUEST, Retry.NEVER),
    "misalignment_policy_violation": CodeRule(400, _REQUEST, Retry.NEVER),
}
"""Codes that the service and its engines write, or that real services are known to send. What an engine says of its own
set-up is for a person to mend, so repeating it is of no use."""

STEER_CODES = (
    "response_not_found",
    "invalid_input",
    "steering_not_supported",
    "too_many_pending_steers",
    "response_already_completed",
    "response_not_active",
    "successor_creation_failed",
)


def error_event(
    code: str,
    message: str,
    *,
    param: str | None = None,
    status: int | None = None,
    stream_id: str | None = None,
    sequence_number: int | None = None,
    headers: dict[str, str] | None = None,
) -> ErrorEvent:
    """An `error` as the service writes it: always a numeric `status` (Codex waits for ever without) and a string code.

    `status` and `param` None: what CODES says; a code that is not there counts as a 500.
    """
    rule = CODES.get(code)
    if status is None:
        status = 500 if rule is None else rule.status
    kind = _type_of(status) if rule is None else rule.type
    if param is None and rule is not None:
        param = rule.param
    return ErrorEvent(
        status=status,
        error=ErrorBody(type=kind, code=code, message=message, param=param, headers=headers),
        stream_id=stream_id,
        sequence_number=sequence_number,
    )


def read_error_body(data: bytes | str, status: int) -> ErrorEvent:
    """The body of an HTTP answer with an error status, whatever it holds. Never raises."""
    event = read_error(read_head(data))
    event.status = status
    return event


def to_exception(error: ErrorEvent | ResponseError, now: datetime | None = None) -> ServiceError | AuthError:
    """The exception for an `error` event or for the `error` of a failed response.

    Its `code` is the wire's; without one the error's type, without that a guess from the status. `now` is for pauses
    that are given as a date: see `pauses`.
    """
    if isinstance(error, ErrorEvent):
        status, headers = error.status, error.error.headers or {}
        body: ErrorBody | ResponseError = error.error
    else:
        status, headers, body = None, {name.lower(): value for name, value in (error.headers or {}).items()}, error
    code = body.code or body.type or _CODE_BY_STATUS.get(status or 500, "server_error")
    rule = CODES.get(code)
    message = body.message or f"The service answered with {code}."
    if status in (401, 403) or (rule is not None and rule.type == _AUTH):
        return AuthError(message)
    return ServiceError(
        message,
        code=code,
        status=status,
        param=body.param,
        retry=_retry_by_status(status) if rule is None else rule.retry,
        retry_after_s=pause_s(headers, now, status=_status(status, code)),
    )


def retry_headers(wait_s: float | None) -> dict[str, str] | None:
    """The headers that ask for a pause, None for none: whole seconds for everyone, milliseconds for who reads them."""
    if wait_s is None:
        return None
    return {"retry-after": str(max(1, math.ceil(wait_s))), "retry-after-ms": str(max(1, math.ceil(wait_s * 1000)))}


def _status(status: int | None, code: str) -> int | None:
    """The status, or the one that the code stands for."""
    rule = CODES.get(code)
    return rule.status if status is None and rule is not None else status


_CODE_BY_STATUS = {400: "invalid_request", 404: "not_found", 413: "message_too_large", 429: "rate_limit_exceeded"}


def _type_of(status: int) -> str:
    return _SERVER if status >= 500 else _REQUEST


def _retry_by_status(status: int | None) -> Retry:
    if status is not None and (status in (408, 409, 425, 429) or status >= 500):
        return Retry.BACKOFF
    return Retry.NEVER
