"""Serving clients over WebSocket, for editors that run in a browser. One server object per connection.

Every connection needs the token, as a subprotocol or as a cookie; the Host must be the address that we listen on, and
an Origin, which browsers send, must be of a page on this machine.
"""

from __future__ import annotations

import hmac
import http
import ipaddress
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from lsp_server.process import Process
from lsp_server.transport.connection import serve_messages
from lsp_server.transport.framing import MAX_BODY_BYTES

log = logging.getLogger(__name__)

COOKIE = "loopline_token"
SUBPROTOCOL = "loopline"
"""Chosen where a client offers it beside the token."""
PREFIX = "token."


@asynccontextmanager
async def listening_websocket(process: Process, host: str, port: int, token: str) -> AsyncIterator[str]:
    """Accept clients while entered; yields `ws://host:port`."""

    async def accept(connection: ServerConnection) -> None:
        async def read() -> bytes | None:
            try:
                return await connection.recv(decode=False)
            except ConnectionClosed:
                return None

        async def write(batch: list[bytes]) -> None:
            for body in batch:
                await connection.send(body, text=True)

        await serve_messages(process, read, write)

    def check(connection: ServerConnection, request: Request) -> Response | None:
        refusal = refused(request, connection.local_address, token)
        if refusal is None:
            return None
        log.warning("a client was refused: %s", refusal.phrase)
        return connection.respond(refusal, f"{refusal.phrase}\n")

    def choose(connection: ServerConnection, offered: Sequence[Subprotocol]) -> Subprotocol | None:
        if SUBPROTOCOL in offered:
            return Subprotocol(SUBPROTOCOL)
        return next((one for one in offered if _is_token(one, token)), offered[0] if offered else None)

    async with serve(
        accept,
        host,
        port,
        process_request=check,
        select_subprotocol=choose,
        max_size=MAX_BODY_BYTES,
        compression=None,
        server_header=None,
        close_timeout=0.5,
    ) as server:
        bound = next(iter(server.sockets)).getsockname()
        shown = f"[{bound[0]}]" if ":" in bound[0] else bound[0]
        yield f"ws://{shown}:{bound[1]}"


def refused(request: Request, local: tuple[str, int], token: str) -> http.HTTPStatus | None:
    """Why an upgrade is refused; None if it is not."""
    hosts, origins = request.headers.get_all("Host"), request.headers.get_all("Origin")
    if len(hosts) != 1 or not _is_here(hosts[0], local):
        return http.HTTPStatus.MISDIRECTED_REQUEST
    if len(origins) > 1 or (origins and not _is_local_page(origins[0])):
        return http.HTTPStatus.FORBIDDEN
    if not any(_is_token(one, token) for one in _tokens(request)):
        return http.HTTPStatus.UNAUTHORIZED
    return None


def _tokens(request: Request) -> list[str]:
    offered = [part.strip() for line in request.headers.get_all("Sec-WebSocket-Protocol") for part in line.split(",")]
    for line in request.headers.get_all("Cookie"):
        try:
            cookies = SimpleCookie(line)
        except CookieError:
            continue
        offered += [cookies[COOKIE].value] if COOKIE in cookies else []
    return offered


def _is_token(offered: str, token: str) -> bool:
    return hmac.compare_digest(offered.removeprefix(PREFIX).encode(), token.encode())


def _is_here(host: str, local: tuple[str, int]) -> bool:
    parts = _split(f"//{host}")
    if parts is None:
        return False
    name, port = parts
    return (port is None or port == local[1]) and (name == "localhost" or name == local[0])


def _is_local_page(origin: str) -> bool:
    parts = _split(origin)
    if parts is None:
        return False
    if parts[0] == "localhost":
        return True
    try:
        return ipaddress.ip_address(parts[0]).is_loopback
    except ValueError:
        return False


def _split(url: str) -> tuple[str, int | None] | None:
    try:
        parts = urlsplit(url)
        return (parts.hostname or "", parts.port)
    except ValueError:
        return None
