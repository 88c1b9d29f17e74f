"""The Host check and the bearer check as ASGI, for HTTP and upgrades alike; `admission/guard.py` decides."""

from __future__ import annotations

import logging
from http import HTTPStatus

from starlette.types import ASGIApp, Receive, Scope, Send

from agent_core.clock import Clock
from agent_core.responses_server.admission.guard import Guard
from agent_core.responses_server.shells.http.replies import error_body, send_reply
from agent_core.wire.errors import retry_headers

log = logging.getLogger(__name__)

LIMIT_KIND = "rate_limit_error"
OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Answered without a key (but not under a foreign Host)."""


class AuthMiddleware:
    """ASGI shell round `Guard`: refuses with 403 (Host), 401 (key) or 429 (too many wrong keys of a peer).

    Notes the key's name in `scope["state"]`.
    """

    def __init__(self, app: ASGIApp, guard: Guard, clock: Clock) -> None:
        self._app, self._guard, self._clock = app, guard, clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        if not self._guard.host_allowed(_header(scope, b"host")):
            self._guard.refused["host"] += 1
            message = "This Host is not served here; allow it with --allowed-host."
            await send_reply(scope, receive, send, HTTPStatus.FORBIDDEN, error_body("host_not_allowed", message))
            return
        if scope["path"] not in OPEN_PATHS:
            name = self._guard.key_name(_header(scope, b"authorization"))
            if name is None:
                wait_s = self._guard.failed((scope.get("client") or ("",))[0], self._clock.mono_ns())
                if wait_s:
                    body = error_body("rate_limit_exceeded", "Too many wrong keys; wait a moment.", kind=LIMIT_KIND)
                    pause = [(name.encode(), value.encode()) for name, value in (retry_headers(wait_s) or {}).items()]
                    await send_reply(scope, receive, send, HTTPStatus.TOO_MANY_REQUESTS, body, pause)
                    return
                log.info("no or a wrong key", extra={"fields": {"transport": scope["type"]}})
                body = error_body("invalid_api_key", "No or a wrong API key: send 'Authorization: Bearer KEY'.")
                headers = [(b"www-authenticate", b"Bearer")]
                await send_reply(scope, receive, send, HTTPStatus.UNAUTHORIZED, body, headers)
                return
            scope.setdefault("state", {})["api_key_name"] = name
        await self._app(scope, receive, send)


def _header(scope: Scope, name: bytes) -> str | None:
    """The header's value; None if it is missing or sent more than once."""
    values = [value for key, value in scope["headers"] if key == name]
    return values[0].decode("latin-1") if len(values) == 1 else None
