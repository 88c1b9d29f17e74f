from __future__ import annotations

import pytest

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
)
from agent_core.responses_server.engines.upstream.failures import as_engine_error
from agent_core.responses_server.engines.upstream.settings import UpstreamSettings

SETTINGS = UpstreamSettings(url="http://h/v1", model="m", key="s3cret")


def answered(status: int, code: str = "other", **more: float) -> ServiceError:
    return ServiceError("They said so.", code=code, status=status, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (AuthError("no"), "upstream_auth_refused"),
        (ServiceUnreachable("nothing answers at http://h"), "upstream_unreachable"),
        (ConnectionLost("the answer broke off"), "server_error"),
        (ProtocolError("odd"), "upstream_not_understood"),
        (MessageTooLarge("big"), "context_length_exceeded"),
        (HandshakeRefused("no", status=404), "upstream_refused"),
        (HandshakeRefused("no", status=502), "server_error"),
        (answered(429), "rate_limit_exceeded"),
        (answered(429, "insufficient_quota"), "insufficient_quota"),
        (answered(402), "insufficient_quota"),
        (answered(404), "model_not_found"),
        (answered(413), "context_length_exceeded"),
        (answered(400, "context_length_exceeded"), "context_length_exceeded"),
        (answered(400), "upstream_refused"),
        (answered(422), "upstream_refused"),
        (answered(500), "server_error"),
        (answered(502), "server_error"),
        (answered(503), "server_is_overloaded"),
        (answered(529), "server_is_overloaded"),
    ],
)
def test_every_failure_has_its_code_and_a_cause(error: LooplineError, code: str) -> None:
    told = as_engine_error(error, SETTINGS)
    assert told.code == code
    assert len(told.message) > 10
    assert "s3cret" not in told.message


def test_how_long_to_wait_is_said_in_the_words_that_clients_read() -> None:
    told = as_engine_error(answered(429, retry_after_s=20.0), SETTINGS)
    assert told.message == "http://h/v1: They said so. Please try again in 20s."


def test_what_to_do_about_a_refused_key() -> None:
    assert "set LOOPLINE_UPSTREAM_KEY" in as_engine_error(AuthError("no"), SETTINGS).message


def test_an_error_of_the_engine_stays_as_it_is() -> None:
    error = EngineError("x", code="malformed_tool_arguments")
    assert as_engine_error(error, SETTINGS) is error


def test_a_long_message_is_cut() -> None:
    assert len(as_engine_error(ServiceError("x" * 9000, code="c", status=400), SETTINGS).message) < 500
