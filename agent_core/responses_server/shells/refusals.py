"""Errors in the form that tells them: `error` events for WebSocket and HTTP, and why steering input was not taken."""

from __future__ import annotations

from agent_core.errors import LooplineError, ServiceError, WireError
from agent_core.protocol.server_connection import DRAIN_CODE, LIMIT_CODE
from agent_core.wire.codec import encode
from agent_core.wire.errors import error_event, retry_headers
from agent_core.wire.events import ErrorEvent
from agent_core.wire.generated.types import SteerError

DRAIN_PAUSE_S = 1.0
"""The pause asked of clients while the service shuts down: another instance, or the next one, is there soon."""

_MESSAGES = {
    "invalid_stream_id": "stream_id must be 1 to 256 characters of A-Z, a-z, 0-9, '_', '.' and '-'.",
    "websocket_stream_limit_reached": "This connection has its 32 named streams; use one of them or another socket.",
    LIMIT_CODE: (
        "Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue."
    ),
    DRAIN_CODE: "The server is shutting down. Create a new websocket connection to continue.",
}

_STEER_MESSAGES = {
    "response_not_found": "No response with this id runs on this connection.",
    "invalid_input": "Steering takes text, or messages of the role 'user' with text, images and files.",
    "steering_not_supported": "This response can't be steered; send a response.create.",
    "too_many_pending_steers": "Too much input is waiting for this response.",
    "response_already_completed": "This response is complete; continue it with a response.create.",
    "response_not_active": "This response takes no more input.",
    "successor_creation_failed": "The response that would have taken this input could not be created.",
}


def refusal(code: str | None, cause: Exception | None, stream_id: str | None) -> ErrorEvent:
    """The `error` event for a code of ours, or for the error that caused it."""
    if code is not None:
        pause_s = DRAIN_PAUSE_S if code == DRAIN_CODE else None
        return error_event(code, _MESSAGES[code], stream_id=stream_id, headers=retry_headers(pause_s))
    if isinstance(cause, WireError):
        return error_event(cause.code, cause.message, param=cause.param, stream_id=stream_id)
    if isinstance(cause, ServiceError):
        return error_event(
            cause.code,
            cause.message,
            param=cause.param,
            status=cause.status,
            stream_id=stream_id,
            headers=retry_headers(cause.retry_after_s),
        )
    if isinstance(cause, LooplineError):
        return error_event(cause.code, cause.message, status=500, stream_id=stream_id)
    return error_event("server_error", "The service failed; it is not your request.", stream_id=stream_id)


def refusal_data(code: str | None, cause: Exception | None, stream_id: str | None) -> bytes:
    return encode(refusal(code, cause, stream_id))


def steer_error(code: str, cause: Exception | None) -> SteerError:
    """`cause`: what is wrong with the input, None if it is something else."""
    message = cause.message if isinstance(cause, WireError) else _STEER_MESSAGES[code]
    return SteerError(type="invalid_request_error", code=code, message=message)
