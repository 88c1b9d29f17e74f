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

from agent_core.responses_server.settings import ApiKey
from agent_core.responses_server.shells.http.replies import error_body, send_reply

log = logging.getLogger(__name__)

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Answered without a key (but not under a foreign Host)."""


class Guard:
    """The decisions. `hosts`: names that may stand in the Host header."""

    def __init__(self, keys: Sequence[ApiKey], hosts: Iterable[str]) -> None:
        self._digests = [
            (key.name, bytes.fromhex(key.sha256) if key.sha256 else sha256(key.key.encode()).digest()) for key in keys
        ]
        self.refused: Counter[str] = Counter({"host": 0, "key": 0})
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


def _host_name(value: str) -> str:
    value = value.strip().lower()
    if value.startswith("["):
        return value[1:].partition("]")[0]
    name, separator, port = value.rpartition(":")
    return (name if separator and ":" not in name and port.isdigit() else value).rstrip(".")


class AuthMiddleware:
    """ASGI shell round `Guard`: refuses with 403 (Host) or 401 (key), and notes the key's name in `scope["state"]`."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app, self._guard = app, guard

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
                self._guard.refused["key"] += 1
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
