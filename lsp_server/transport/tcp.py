"""Serving clients over TCP: on a loopback address only, and this user's alone. One server object per connection.

Who connects is looked up in the kernel's table of connections, since editors send no password here."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent_core.errors import UsageError
from lsp_server.process import Process
from lsp_server.transport.connection import serve_stream
from lsp_server.transport.tcp_peer import peer_uid

log = logging.getLogger(__name__)

CHUNK_BYTES = 64 << 10


def split_address(address: str, option: str) -> tuple[str, int]:
    """`HOST:PORT` (or only the port) as its parts. Raises UsageError."""
    host, _, port = address.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise UsageError(f"{option} takes HOST:PORT, got {address[:80]!r}", hint=f"for example {option} 127.0.0.1:0")
    return host.strip("[]") or "127.0.0.1", int(port)


def check_loopback(host: str, option: str) -> None:
    """Raises UsageError for an address that other machines can reach."""
    try:
        found = {info[4][0] for info in socket.getaddrinfo(host, None)}
    except OSError:
        raise UsageError(f"{option}: there is no host {host[:80]!r}") from None
    if not all(ipaddress.ip_address(str(address).split("%")[0]).is_loopback for address in found):
        raise UsageError(
            f"{option} listens on loopback addresses only", hint="reach it from elsewhere through ssh, or use --stdio"
        )


@asynccontextmanager
async def listening_tcp(process: Process, host: str, port: int) -> AsyncIterator[str]:
    """Accept clients while entered; yields `tcp://host:port`."""
    clients: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        clients.add(task)
        if peer_uid(writer.get_extra_info("peername")[:2], writer.get_extra_info("sockname")[:2]) != os.geteuid():
            log.warning("a client was refused: it is not this user's, or the system does not tell; use --stdio or --ws")
            clients.discard(task)
            writer.close()
            return

        async def write(batch: list[bytes]) -> None:
            writer.write(b"".join(batch))
            await writer.drain()

        try:
            await serve_stream(process, lambda: reader.read(CHUNK_BYTES), write, alien_ends=True)
        except (OSError, asyncio.CancelledError) as error:
            # asyncio's own callback of this task takes a cancelled one for a fault
            log.info("a client went: %s", type(error).__name__)
        finally:
            clients.discard(task)
            writer.transport.abort() if writer.transport.get_write_buffer_size() else writer.close()

    server = await asyncio.start_server(accept, host, port, limit=CHUNK_BYTES)
    try:
        bound = server.sockets[0].getsockname()
        shown = f"[{bound[0]}]" if ":" in bound[0] else bound[0]
        yield f"tcp://{shown}:{bound[1]}"
    finally:
        server.close()
        for task in clients:
            task.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
