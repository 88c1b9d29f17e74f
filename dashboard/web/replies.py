"""Answers that are not pages: JSON bodies, errors, and errors as exceptions that the app turns into answers."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import Response

from agent_core.telemetry.display import escaped_json_bytes


class WebError(Exception):
    """A request that is not served. `code` is for programs, `message` for people."""

    def __init__(self, status: HTTPStatus, code: str, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.retry_after_s = status, code, message, retry_after_s


class SignInNeeded(WebError):
    """Nobody, or nobody any more."""

    def __init__(self) -> None:
        super().__init__(HTTPStatus.UNAUTHORIZED, "sign_in", "Sign in, or send 'Authorization: Bearer TOKEN'.")


def json_reply(data: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(escaped_json_bytes(msgspec.json.encode(data)), status, headers, media_type="application/json")


def error_reply(error: WebError, extra: dict[str, Any] | None = None) -> Response:
    headers = {}
    if error.status == HTTPStatus.UNAUTHORIZED:
        headers["www-authenticate"] = "Bearer"
    if error.retry_after_s is not None:
        headers["retry-after"] = str(max(1, round(error.retry_after_s)))
    body = {"error": {"code": error.code, "message": error.message}, **(extra or {})}
    return json_reply(body, error.status, headers)
