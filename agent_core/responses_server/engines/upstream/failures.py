"""What goes wrong on the way to a server, as errors that a user can act on.

An engine's error ends a response as `response.failed`, which has a code and a message only. What may pass has a code
that clients try again after (`server_error`, `rate_limit_exceeded`, …); how long to wait is said in the message in the
words that they know ("try again in 20s"). What a user has to mend has a code of its own.
"""

from __future__ import annotations

from typing import Final

from agent_core.errors import (
    AuthError,
    ConnectionLost,
    EngineError,
    HandshakeRefused,
    LooplineError,
    MessageTooLarge,
    ProtocolError,
    ServiceError,
    ServiceUnreachable,
    WireError,
)
from agent_core.responses_server.engines.upstream.settings import UpstreamSettings

MISSING_STATUS: Final = (404, 405, 501)
"""A server without an endpoint answers with one of these."""

PASSED_ON: Final = frozenset(
    {
        "context_length_exceeded",
        "insufficient_quota",
        "rate_limit_exceeded",
        "usage_limit_reached",
        "server_is_overloaded",
        "slow_down",
        "invalid_prompt",
        "model_not_found",
    }
)
"""Codes that mean the same to our client as to the server's."""

_BY_STATUS: Final = {
    402: "insufficient_quota",
    404: "model_not_found",
    408: "server_error",
    413: "context_length_exceeded",
    429: "rate_limit_exceeded",
    503: "server_is_overloaded",
    529: "server_is_overloaded",
}


def as_engine_error(error: LooplineError, settings: UpstreamSettings) -> EngineError:
    """The same failure, told to the user of a service in front of `settings.place`."""
    place = settings.place
    match error:
        case EngineError():
            return error
        case AuthError():
            remedy = "set LOOPLINE_UPSTREAM_KEY, or 'key' in the engine's table of the configuration"
            return EngineError(f"{place} refused the key; {remedy}.", code="upstream_auth_refused")
        case ServiceError():
            return _answered(error, settings)
        case ServiceUnreachable():
            return EngineError(f"{_sentence(error)}; check that the server runs.", code="upstream_unreachable")
        case ConnectionLost():
            return EngineError(f"{place}: {_sentence(error)}; try again.", code="server_error")
        case HandshakeRefused(status=status) if status in MISSING_STATUS or status in (400, 426):
            message = f"{place} has no WebSocket (HTTP {status}); write the address with http, or set 'api'."
            return EngineError(message, code="upstream_refused")
        case HandshakeRefused(status=status):
            return EngineError(f"{place} refused the WebSocket (HTTP {status}); try again.", code="server_error")
        case MessageTooLarge():
            return EngineError(
                f"The request is too large for {place}: {error.message}.", code="context_length_exceeded"
            )
        case ProtocolError() | WireError():
            message = f"{place} does not speak the API that was expected: {_sentence(error)}; check the address."
            return EngineError(message, code="upstream_not_understood")
        case _:
            return EngineError(f"{place}: {_sentence(error)}.", code="upstream_failed")


def _answered(error: ServiceError, settings: UpstreamSettings) -> EngineError:
    status = error.status
    code = error.code if error.code in PASSED_ON else _BY_STATUS.get(status or 0)
    if code is None:
        code = "upstream_refused" if status is not None and 400 <= status < 500 else "server_error"
    said = f"{settings.place}: {_sentence(error)}"
    if code == "model_not_found":
        said += f"; it has no model '{settings.model}', or not at this address"
    wait = f" Please try again in {error.retry_after_s:g}s." if error.retry_after_s is not None else ""
    return EngineError(f"{said}.{wait}", code=code, retry_after_s=error.retry_after_s)


def _sentence(error: LooplineError) -> str:
    """The message without a full stop at its end, bounded."""
    return error.message[:400].rstrip(". \n")
