"""Errors as the bytes that tell them: `error` frames for WebSocket, bodies for HTTP, refused steering."""

from __future__ import annotations

import msgspec

from agent_core.errors import LooplineError, ServiceError, WireError
from agent_core.protocol.server_connection import DRAIN_CODE, LIMIT_CODE
from agent_core.wire.codec import encode, read
from agent_core.wire.errors import error_event
from agent_core.wire.events import ErrorEvent, SteerFailed
from agent_core.wire.generated.types import RefusedSteer, SteerError
from agent_core.wire.requests import ResponseSteer

_MESSAGES = {
    "invalid_stream_id": "stream_id must be 1 to 256 characters of A-Z, a-z, 0-9, '_', '.' and '-'.",
    "websocket_stream_limit_reached": "This connection has its 32 named streams; use one of them or another socket.",
    LIMIT_CODE: (
        "Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue."
    ),
    DRAIN_CODE: "The server is shutting down. Create a new websocket connection to continue.",
}


def refusal(code: str | None, cause: Exception | None, stream_id: str | None) -> ErrorEvent:
    """The `error` event for a code of ours, or for the error that caused it."""
    if code is not None:
        return error_event(code, _MESSAGES[code], stream_id=stream_id)
    if isinstance(cause, WireError):
        return error_event(cause.code, cause.message, param=cause.param, stream_id=stream_id)
    if isinstance(cause, ServiceError):
        return error_event(cause.code, cause.message, param=cause.param, status=cause.status, stream_id=stream_id)
    if isinstance(cause, LooplineError):
        return error_event(cause.code, cause.message, status=500, stream_id=stream_id)
    return error_event("server_error", "The service failed; it is not your request.", stream_id=stream_id)


def refusal_data(code: str | None, cause: Exception | None, stream_id: str | None) -> bytes:
    return encode(refusal(code, cause, stream_id))


def steer_refusal_data(code: str, steer: ResponseSteer, stream_id: str | None) -> bytes:
    """`response.steer.failed` for what the client sent."""
    event = SteerFailed(
        error=SteerError(
            type="invalid_request_error", code=code, message="This response can't be steered; send a response.create."
        ),
        steer=RefusedSteer(
            input=read(steer.input, list[msgspec.Raw] | str), previous_response_id=steer.previous_response_id
        ),
        stream_id=stream_id,
    )
    return encode(event)
