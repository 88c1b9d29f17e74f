"""What is done after each kind of failure."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.errors import (
    AuthError,
    ConnectionLost,
    HandshakeRefused,
    LooplineError,
    MessageTooLarge,
    ProtocolError,
    Retry,
    ServiceError,
    ServiceUnreachable,
    WireError,
)
from agent_core.model.policy import Decision, Failure, Step, backoff_s, decide
from agent_core.model.settings import ModelSettings, TransportPolicy

LOST = ConnectionLost("gone")
BUSY = ServiceError("busy", code="server_is_overloaded", status=503, retry=Retry.BACKOFF)
WRONG = ServiceError("wrong", code="invalid_request", status=400)
NOT_FOUND = ServiceError("?", code="previous_response_not_found", status=400, retry=Retry.NOW)
FOREIGN = ServiceError("?", code="invalid_request", status=400, param="input[3].encrypted_content")
VENDORS = ServiceError("?", code="invalid_encrypted_content", status=400)
AGED = ServiceError("60 minutes", code="websocket_connection_limit_reached", status=400, retry=Retry.NOW)


def settings(transport: TransportPolicy = "auto") -> ModelSettings:
    return ModelSettings(base_url="http://h/v1", transport=transport)


def after(error: LooplineError, policy: TransportPolicy = "auto", **circumstances: Any) -> Decision:
    usual: dict[str, Any] = {
        "transport": "websocket",
        "retries": 0,
        "continued": True,
        "reached": True,
        "probing": False,
        "jitter": 1.0,
    }
    return decide(Failure(error=error, **usual | circumstances), settings(policy))


@pytest.mark.parametrize(
    ("error", "circumstances", "step"),
    [
        (NOT_FOUND, {}, Step.RESEND),
        (NOT_FOUND, {"continued": False}, Step.RAISE),
        (AGED, {}, Step.RETRY),
        (FOREIGN, {}, Step.RESEND),
        (FOREIGN, {"continued": False}, Step.RESEND),
        (FOREIGN, {"unsealed": True}, Step.RAISE),
        (VENDORS, {}, Step.RESEND),
        (AuthError("no"), {}, Step.RAISE),
        (WRONG, {}, Step.RAISE),
        (BUSY, {}, Step.RETRY),
        (BUSY, {"retries": 5}, Step.RAISE),
        (LOST, {}, Step.RETRY),
        (LOST, {"retries": 4}, Step.RETRY),
        (LOST, {"retries": 5}, Step.FALL_BACK),
        (LOST, {"retries": 5, "transport": "http"}, Step.RAISE),
        (LOST, {"probing": True}, Step.FALL_BACK),
        (ProtocolError("order"), {}, Step.RETRY),
        (WireError("garbage", code="invalid_json"), {}, Step.RETRY),
        (MessageTooLarge("big"), {}, Step.HTTP_ONCE),
        (ConnectionLost("big", close_code=1009), {}, Step.HTTP_ONCE),
        (ServiceError("big", code="message_too_large", status=413), {}, Step.HTTP_ONCE),
        (ServiceError("big", code="http_413", status=413), {"transport": "http"}, Step.RAISE),
        (HandshakeRefused("off", status=426), {}, Step.FALL_BACK),
        (HandshakeRefused("none", status=404), {}, Step.FALL_BACK),
        (HandshakeRefused("none", status=405), {}, Step.FALL_BACK),
        (HandshakeRefused("ill", status=502), {}, Step.RETRY),
        (HandshakeRefused("ill", status=502), {"retries": 1}, Step.FALL_BACK),
        (HandshakeRefused("slow", status=408), {}, Step.RETRY),
        (ServiceUnreachable("off"), {"reached": False}, Step.RAISE),
        (ServiceUnreachable("off"), {}, Step.RETRY),
        (ServiceUnreachable("off"), {"retries": 5}, Step.RAISE),
    ],
)
def test_each_failure_under_auto(error: LooplineError, circumstances: dict[str, Any], step: Step) -> None:
    assert after(error, **circumstances).step is step


@pytest.mark.parametrize(
    ("error", "retries", "step"),
    [
        (HandshakeRefused("off", status=426), 0, Step.RAISE),
        (HandshakeRefused("ill", status=502), 1, Step.RETRY),
        (HandshakeRefused("ill", status=502), 5, Step.RAISE),
        (LOST, 5, Step.RAISE),
        (MessageTooLarge("big"), 0, Step.RAISE),
    ],
)
def test_the_websocket_policy_never_changes_over(error: LooplineError, retries: int, step: Step) -> None:
    assert after(error, "websocket", retries=retries).step is step


def test_a_connection_that_reached_its_age_is_replaced_at_once_and_then_with_patience() -> None:
    assert after(AGED) == Decision(Step.RETRY, 0.0)
    assert after(AGED, retries=1).delay_s > 0


def test_retry_after_is_honoured_up_to_our_patience() -> None:
    def told(wait_s: float) -> Decision:
        error = ServiceError("slow", code="rate_limit_exceeded", retry=Retry.BACKOFF, retry_after_s=wait_s)
        return after(error)

    assert told(7.0) == Decision(Step.RETRY, 7.0)
    assert told(0.0).delay_s == pytest.approx(0.2)
    assert told(3600.0).step is Step.RAISE


@given(st.integers(0, 10_000), st.floats(0, 1))
def test_backoff_is_bounded_jittered_and_never_shrinks_with_the_count(retries: int, jitter: float) -> None:
    now, then = (backoff_s(count, jitter, settings()) for count in (retries, retries + 1))
    assert 0.1 <= now <= then <= 8.0
    assert backoff_s(retries, 0.0, settings()) <= now <= backoff_s(retries, 1.0, settings())
