"""Who may talk to the service: the Host check and the bearer check, for HTTP and upgrades alike.

The Host check keeps web pages out that point their own name at a loopback address (DNS rebinding). Keys are compared in
constant time and never logged.
"""

from __future__ import annotations

import hmac
import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256
from http import HTTPStatus

from starlette.types import ASGIApp, Receive, Scope, Send

from agent_core.clock import Clock
from agent_core.rates import Failures
from agent_core.responses_server.settings import ApiKey
from agent_core.responses_server.shells.http.replies import error_body, send_reply
from agent_core.wire.errors import retry_headers

log = logging.getLogger(__name__)

LIMIT_KIND = "rate_limit_error"
OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Answered without a key (but not under a foreign Host)."""


class Guard:
    """The decisions. `hosts`: names that may stand in the Host header."""

    def __init__(self, keys: Sequence[ApiKey], hosts: Iterable[str]) -> None:
        self._digests = [
            (key.name, bytes.fromhex(key.sha256) if key.sha256 else sha256(key.key.encode()).digest()) for key in keys
        ]
        self._failures = Failures()
        self.refused: Counter[str] = Counter({"host": 0, "key": 0, "rate": 0})
        """How many requests and upgrades were refused, by reason."""
        self._hosts = frozenset(_host_name(host) for host in hosts)

    def host_allowed(self, header: str | None) -> bool:
        """Whether a Host header (`name`, `name:port`, `[v6]:port`) names us; None (no header) does not."""
        return header is not None and _host_name(header) in self._hosts

    def key_name(self, header: str | None) -> str | None:
        """Name of the key in an Authorization header, None if it holds none of ours. Compares with every key."""
        scheme, _, token = (header or "").partition(" ")
        given = sha256(token.strip().encode()).digest()
        found = None
        for name, digest in self._digests:
            if hmac.compare_digest(given, digest):
                found = name
        return found if scheme.lower() == "bearer" else None

    def failed(self, peer: str, now_ns: int) -> float:
        """Count a request without a right key. The seconds that its peer has to wait, 0.0 if it may go on."""
        wait_s = self._failures.take(peer, now_ns)
        self.refused["rate" if wait_s else "key"] += 1
        return wait_s


def _host_name(value: str) -> str:
    value = value.strip().lower()
    if value.startswith("["):
        return value[1:].partition("]")[0]
    name, separator, port = value.rpartition(":")
    return (name if separator and ":" not in name and port.isdigit() else value).rstrip(".")


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
