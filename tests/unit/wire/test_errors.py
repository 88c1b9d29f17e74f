from __future__ import annotations

import ast
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_core import responses_server
from agent_core.errors import AuthError, Retry, ServiceError
from agent_core.pauses import pause_s
from agent_core.wire.codec import encode
from agent_core.wire.errors import CODES, error_event, read_error_body, retry_headers, to_exception
from agent_core.wire.events import ErrorEvent, read_event
from agent_core.wire.response import ResponseError


def _error(**frame: object) -> ErrorEvent:
    event = read_event(json.dumps({"type": "error", **frame}))
    assert isinstance(event, ErrorEvent)
    return event


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_error_has_a_numeric_status_and_a_string_code(code: str) -> None:
    """Without a numeric status Codex waits for its idle time-out; a null code fails the Open Responses schema."""
    written = json.loads(encode(error_event(code, "What, where, what to do.")))
    assert written["type"] == "error"
    assert isinstance(written["status"], int)
    assert 400 <= written["status"] < 600
    assert written["error"]["code"] == code
    assert written["error"]["type"]
    assert written["error"]["message"] == "What, where, what to do."
    assert "stream_id" not in written


def test_the_codes_of_the_websocket_mode() -> None:
    for code, param in (
        ("previous_response_not_found", "previous_response_id"),
        ("invalid_stream_id", "stream_id"),
        ("websocket_stream_limit_reached", "stream_id"),
        ("websocket_connection_limit_reached", None),
    ):
        event = error_event(code, "x")
        assert (event.status, event.error.param) == (400, param)
    assert error_event("message_too_large", "x").status == 413


def test_an_error_event_carries_what_it_is_given() -> None:
    event = error_event("invalid_request", "x", param="input[0]", stream_id="a", sequence_number=3, headers={"k": "v"})
    assert json.loads(encode(event)) == {
        "type": "error",
        "status": 400,
        "error": {
            "type": "invalid_request_error",
            "code": "invalid_request",
            "message": "x",
            "param": "input[0]",
            "headers": {"k": "v"},
        },
        "stream_id": "a",
        "sequence_number": 3,
    }
    assert error_event("own_code", "x", status=422).error.type == "invalid_request_error"
    assert (error_event("own_code", "x").status, error_event("own_code", "x").error.type) == (500, "server_error")


def test_a_written_error_is_read_back() -> None:
    event = error_event("rate_limit_exceeded", "x", stream_id="a", headers={"retry-after": "2"})
    assert read_event(encode(event)) == event


FLAT = {"code": "slow_down", "message": "Wait.", "param": "model"}


@pytest.mark.parametrize(
    "frame",
    [
        {"status": 503, "error": {"type": "server_error", **FLAT}},
        {"status_code": 503, "error": {"type": "server_error", **FLAT}},
        {"error": {"type": "server_error", "status": 503, **FLAT}},
        {"status": 503, **FLAT},
        {"status_code": 503.0, "status": 503, **FLAT, "error": None},
    ],
)
def test_all_forms_of_an_error_say_the_same(frame: dict[str, object]) -> None:
    event = _error(**frame, stream_id="a", sequence_number=2)
    body = event.error
    assert (event.status, body.code, body.message, body.param) == (503, "slow_down", "Wait.", "model")
    assert (event.stream_id, event.sequence_number) == ("a", 2)


def test_odd_forms_of_an_error() -> None:
    assert _error(error="Broken.").error.message == "Broken."
    assert _error(error={"code": 429, "message": "Slow."}).status == 429
    assert _error(error={"message": 4}).error.message == ""
    empty = _error()
    assert (empty.status, empty.error.type, empty.error.code, empty.error.message) == (None, "", None, "")


@pytest.mark.parametrize(
    "frame",
    [
        {"headers": {"Retry-After": "2"}},
        {"headers": {"retry-after": 2, "x": [1]}},
        {"error": {"type": "t", "message": "m", "headers": {"RETRY-AFTER": "2"}}},
        {"headers": {"retry-after": "9"}, "error": {"type": "t", "message": "m", "headers": {"retry-after": "2"}}},
    ],
)
def test_headers_inside_or_beside(frame: dict[str, object]) -> None:
    headers = _error(**frame).error.headers
    assert headers is not None
    assert headers["retry-after"] in ("2", "2.0")
    assert pause_s(headers) == 2.0
    for bad in ("[]", '"x"', "null", "4"):
        assert _error(headers=json.loads(bad)).error.headers is None


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ({"retry_after": 3}, 3),
        ({"retry_after": 2.5}, 2.5),
        ({"retry_after": "7"}, 7),
        ({"retry_after_ms": 1500}, 1.5),
        ({"retry_after_seconds": 4}, 4),
        ({"details": [{"@type": "x"}, {"@type": "google.rpc.RetryInfo", "retryDelay": "32s"}]}, 32),
        ({"metadata": {"headers": {"X-RateLimit-Reset": "1796119230000", "X-RateLimit-Remaining": "0"}}}, 30),
        ({"headers": {"Retry-After": "Tue, 01 Dec 2026 10:00:30 GMT"}}, 30),
        ({"retry_after": True}, None),
        ({"retry_after": [3]}, None),
        ({"details": {"retryDelay": "32s"}, "metadata": [1]}, None),
        ({"metadata": {"headers": None}}, None),
    ],
)
def test_a_pause_in_the_body(body: dict[str, object], seconds: float | None) -> None:
    error = _error(status=429, error={"type": "t", "message": "m", "code": "rate_limit_exceeded", **body})
    exception = to_exception(error, datetime(2026, 12, 1, 10, tzinfo=UTC))
    assert isinstance(exception, ServiceError)
    assert exception.retry_after_s == seconds


@pytest.mark.parametrize(
    ("status", "kind", "code", "wanted", "retry"),
    [
        (400, "invalid_request_error", "previous_response_not_found", "previous_response_not_found", Retry.NOW),
        (400, "invalid_request_error", None, "invalid_request_error", Retry.NEVER),
        (None, "server_error", None, "server_error", Retry.BACKOFF),
        (429, "t", "insufficient_quota", "insufficient_quota", Retry.NEVER),
        (503, "t", "new_code", "new_code", Retry.BACKOFF),
        (418, "t", "new_code", "new_code", Retry.NEVER),
        (400, "t", "websocket_connection_limit_reached", "websocket_connection_limit_reached", Retry.NOW),
        (None, "", None, "server_error", Retry.BACKOFF),
    ],
)
def test_errors_as_exceptions(status: int | None, kind: str, code: str | None, wanted: str, retry: Retry) -> None:
    exc = to_exception(_error(status=status, error={"type": kind, "code": code, "message": "x"}))
    assert isinstance(exc, ServiceError)
    assert (exc.code, exc.retry, exc.status, exc.message) == (wanted, retry, status, "x")


def test_a_refused_key_is_an_auth_error() -> None:
    assert isinstance(to_exception(_error(status=401, error={"type": "t", "code": "x", "message": "m"})), AuthError)
    assert isinstance(to_exception(read_error_body(b"", 403)), AuthError)
    assert isinstance(to_exception(ResponseError(code="invalid_api_key", message="m")), AuthError)


def test_the_error_of_a_failed_response() -> None:
    exc = to_exception(ResponseError(code="rate_limit_exceeded", message="Slow.", param="input"))
    assert isinstance(exc, ServiceError)
    assert (exc.code, exc.retry, exc.status, exc.param) == ("rate_limit_exceeded", Retry.BACKOFF, None, "input")
    assert to_exception(ResponseError()).code == "server_error"


@pytest.mark.parametrize(
    ("body", "status", "code", "message"),
    [
        (b'{"error":{"type":"t","code":"model_not_found","message":"No."}}', 404, "model_not_found", "No."),
        (b'{"error":"No."}', 400, "invalid_request", "No."),
        (b'{"detail":"Not Found"}', 404, "not_found", "Not Found"),
        (b'{"message":"Too big"}', 413, "message_too_large", "Too big"),
        (b"<html>Bad gateway</html>", 502, "server_error", "The service answered with server_error."),
        (b"", 429, "rate_limit_exceeded", "The service answered with rate_limit_exceeded."),
        (b"\xff", 500, "server_error", "The service answered with server_error."),
    ],
)
def test_http_error_bodies(body: bytes, status: int, code: str, message: str) -> None:
    exc = to_exception(read_error_body(body, status))
    assert isinstance(exc, ServiceError)
    assert (exc.code, exc.status, exc.message) == (code, status, message)


def test_a_pause_goes_there_and_back() -> None:
    """As an `error`, and as the error of a failed response, whose headers are an addition of ours."""
    assert retry_headers(None) is None
    headers = retry_headers(2.25)
    assert headers == {"retry-after": "3", "retry-after-ms": "2250"}
    for told in (
        error_event("rate_limit_exceeded", "x", headers=headers),
        ResponseError(code="server_error", message="x", headers={"Retry-After-Ms": "2250"}),
    ):
        exception = to_exception(told)
        assert isinstance(exception, ServiceError)
        assert (exception.retry, exception.retry_after_s) == (Retry.BACKOFF, 2.25)
    assert "headers" not in json.loads(encode(ResponseError(code="x", message="y")))


def test_every_code_that_the_service_and_its_engines_raise_is_in_the_table() -> None:
    raised = set()
    for path in Path(responses_server.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
                "EngineError",
                "ServiceError",
                "WireError",
            ):
                raised |= {
                    keyword.value.value
                    for keyword in node.keywords
                    if keyword.arg == "code" and isinstance(keyword.value, ast.Constant)
                }
    assert len(raised) > 15
    assert raised - set(CODES) == set()
