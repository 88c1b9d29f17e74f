"""What happens to every request before it is routed, and to every answer after: Host check, headers, log line.

Pure ASGI, outermost. WebSockets are refused here: there are none. Log lines carry method, path, status and time, never
a query, a header or a body.
"""

from __future__ import annotations

import asyncio
import logging
import time
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboard.web.origin import Site, host_problem
from dashboard.web.replies import WebError, error_reply

log = logging.getLogger("loopline.web")

DRAIN_BYTES = 32 << 20
DRAIN_S = 3.0
_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", _CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
"""On every answer. The Referer stays within the site; leaving it out would turn the Origin of our forms into `null`."""
_NO_STORE = (b"cache-control", b"no-store")
_HSTS = (b"strict-transport-security", b"max-age=31536000")


class Guard:
    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app, self._site = app, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "no WebSocket here"})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, body = time.perf_counter(), 0, _Body(scope, receive)

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = self._with_headers(list(message["headers"]))
                if not await body.drained():
                    message["headers"].append((b"connection", b"close"))
            await send(message)

        try:
            problem = host_problem(self._site, header(scope, b"host"))
            if problem:
                refusal = WebError(HTTPStatus.FORBIDDEN, "host_not_served", problem)
                await error_reply(refusal)(scope, body, answer)
            else:
                await self._app(scope, body, answer)
        finally:
            took_ms = (time.perf_counter() - began) * 1000
            level = logging.INFO if status < 400 else logging.WARNING
            log.log(level, "%s %s %d %.0f ms", scope["method"], loggable(scope["path"]), status, took_ms)

    def _with_headers(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        present = {name.lower() for name, _ in headers}
        added = [*HEADERS, _NO_STORE, *([_HSTS] if self._site.secure else [])]
        return headers + [(name, value) for name, value in added if name not in present]


class _Body:
    """The request's body on its way to the app. What the app does not want is taken and dropped before it answers, so
    that who sends it gets the answer; beyond `DRAIN_BYTES` or `DRAIN_S` the connection is closed instead."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._receive = receive
        length = header(scope, b"content-length")
        self._ended = length in (None, "0") and header(scope, b"transfer-encoding") is None

    async def __call__(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self._ended = True
        return message

    async def drained(self) -> bool:
        """Take the rest; False if there is too much of it."""
        dropped = 0
        try:
            async with asyncio.timeout(DRAIN_S):
                while not self._ended and dropped <= DRAIN_BYTES:
                    dropped += len((await self()).get("body", b""))
        except TimeoutError:
            return False
        return self._ended


def header(scope: Scope, name: bytes) -> str | None:
    """A header's value; None if it is missing or sent more than once."""
    values = [value for key, value in scope["headers"] if key == name]
    return values[0].decode("latin-1") if len(values) == 1 else None


def loggable(path: str) -> str:
    """A path for the log: the ids and junk in it shortened, nothing that could break a line."""
    text = "".join(letter if letter.isprintable() and letter.isascii() else "?" for letter in path)
    return text if len(text) <= 80 else text[:77] + "..."
