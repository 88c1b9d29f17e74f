"""What to do after a request failed: one pure decision.

Nothing runs at the service that a repetition could harm (tools run at the client), so every fault of the way is tried
again within bounds; what the service itself refuses for good is not.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec

from agent_core.errors import (
    ConnectionLost,
    HandshakeRefused,
    LooplineError,
    MessageTooLarge,
    ProtocolError,
    Retry,
    ServiceError,
    ServiceUnreachable,
    TransportError,
    WireError,
)
from agent_core.model.settings import ModelSettings
from agent_core.telemetry.events import TransportKind

NOT_FOUND: Final = "previous_response_not_found"
CONNECTION_LIMIT: Final = "websocket_connection_limit_reached"
LANE_REFUSALS: Final = frozenset({"invalid_stream_id", "websocket_stream_limit_reached"})
"""Codes by which a service does not grant a named lane (OpenAI guide "WebSocket mode"); nothing ran."""
TOO_LARGE_CLOSE: Final = 1009
"""WebSocket close code "message too big" (RFC 6455, 7.4.1)."""

SLOW_HANDSHAKE: Final = 408
"""The status of a handshake that nobody answered."""
HANDSHAKE_TRIES: Final = 2
"""A gateway that fails handshakes (5xx, no answer) rarely heals within a call: HTTP is tried after this many."""


class Step(Enum):
    RAISE = "raise"
    RESEND = "resend"
    """The full input again, at once; no retry, since nothing ran. On the same socket, or where the service grants no
    lane, on another."""
    RETRY = "retry"
    """After a pause; on a new socket if the old one is gone."""
    HTTP_ONCE = "http_once"
    """This call by HTTP; the socket is fine."""
    FALL_BACK = "fall_back"
    """HTTP for this call and for some minutes."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A failed request and its circumstances.

    `retries` counts the ones that this call had on this transport before. `continued`: the request named a previous
    response; `on_lane`: it went over a named lane; `unsealed`: without the sealed reasoning of its items. `reached`:
    this session has had a connection to the service. `jitter` is a random number from 0 to 1.
    """

    error: LooplineError
    transport: TransportKind
    retries: int
    continued: bool
    on_lane: bool = False
    unsealed: bool = False
    reached: bool
    probing: bool
    jitter: float


class Decision(msgspec.Struct, frozen=True):
    """`delay_s` matters for RETRY only."""

    step: Step
    delay_s: float = 0.0


RAISE: Final = Decision(Step.RAISE)


def decide(failure: Failure, settings: ModelSettings) -> Decision:
    error = failure.error
    on_socket = failure.transport == "websocket"
    may_change = on_socket and settings.transport == "auto"
    if isinstance(error, ServiceError) and error.code == NOT_FOUND:
        return Decision(Step.RESEND) if failure.continued else RAISE
    if isinstance(error, ServiceError) and error.code in LANE_REFUSALS and failure.on_lane:
        return Decision(Step.RESEND)
    if of_another_seal(error):
        return RAISE if failure.unsealed else Decision(Step.RESEND)
    if _too_large(error):
        return Decision(Step.HTTP_ONCE) if may_change else RAISE
    if may_change and failure.probing and isinstance(error, TransportError | ProtocolError | WireError):
        return Decision(Step.FALL_BACK)
    if isinstance(error, HandshakeRefused):
        return _after_handshake(error, failure, settings, may_change)
    if isinstance(error, ServiceUnreachable) and not failure.reached:
        return RAISE
    if isinstance(error, ConnectionLost | ProtocolError | WireError):
        return _again(failure, settings) or (Decision(Step.FALL_BACK) if may_change else RAISE)
    if isinstance(error, ServiceUnreachable) or error.retry is not Retry.NEVER:
        return _again(failure, settings) or RAISE
    return RAISE


def backoff_s(retries: int, jitter: float, settings: ModelSettings) -> float:
    """The pause before retry number `retries` + 1: doubling, bounded, and between half and all of that by
    `jitter`."""
    most = min(settings.backoff_first_s * 2.0 ** min(retries, 30), settings.backoff_most_s)
    return most * (0.5 + jitter / 2)


def _again(failure: Failure, settings: ModelSettings) -> Decision | None:
    """A retry, or None where the limit is reached or the service wants more patience than we have."""
    if failure.retries >= settings.reconnect_limit:
        return None
    error = failure.error
    wait = error.retry_after_s if isinstance(error, ServiceError) else None
    if wait is not None and wait > settings.retry_after_most_s:
        return None
    if error.retry is Retry.NOW and failure.retries == 0:
        return Decision(Step.RETRY, wait or 0.0)
    return Decision(Step.RETRY, max(wait or 0.0, backoff_s(failure.retries, failure.jitter, settings)))


def _after_handshake(error: HandshakeRefused, failure: Failure, settings: ModelSettings, may_change: bool) -> Decision:
    passing = error.status >= 500 or error.status == SLOW_HANDSHAKE
    if passing and (not may_change or failure.retries < HANDSHAKE_TRIES - 1):
        again = _again(failure, settings)
        if again is not None:
            return again
    return Decision(Step.FALL_BACK) if may_change else RAISE


def of_another_seal(error: LooplineError) -> bool:
    """Whether the service can't open what is sealed in an item: another one sealed it, or its secret was lost.

    OpenAI has a code for it; ours names the field.
    """
    if not isinstance(error, ServiceError):
        return False
    return error.code == "invalid_encrypted_content" or (error.param or "").endswith(".encrypted_content")


def _too_large(error: LooplineError) -> bool:
    if isinstance(error, MessageTooLarge):
        return True
    if isinstance(error, ConnectionLost):
        return error.close_code == TOO_LARGE_CLOSE
    return isinstance(error, ServiceError) and (error.status == 413 or error.code == "message_too_large")
