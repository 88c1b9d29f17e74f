"""One client's connection from its first byte to its last: messages in, messages out, and an end in time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from lsp_server.process import Process
from lsp_server.rpc.outbox import Outbox
from lsp_server.rpc.protocol_fixes import INVALID_REQUEST, PARSE_ERROR
from lsp_server.server import LoopServer
from lsp_server.transport.framing import FrameReader, Malformed, frame

log = logging.getLogger(__name__)

LARGE_BYTES = 1 << 20
DRAIN_S = 0.3
"""How long the last answers may take to leave."""

Read = Callable[[], Awaitable[bytes]]
Write = Callable[[list[bytes]], Awaitable[None]]


async def serve_stream(process: Process, read: Read, write: Write, *, alien_ends: bool) -> int | None:
    """Serve one client over a byte stream; the exit code that its `exit` asks for, None if it just went.

    `alien_ends`: a first line of another protocol (a browser's) ends the connection before anything is read.
    """
    server = LoopServer(process)
    server.protocol.pack = frame
    return await _serve(server, _read_frames(server, read, alien_ends), _write_all(server.protocol.outbox, write))


async def serve_messages(process: Process, read: Callable[[], Awaitable[bytes | None]], write: Write) -> int | None:
    """The same where the transport keeps messages apart; `read` gives None at the end."""
    server = LoopServer(process)

    async def receive() -> None:
        while (body := await read()) is not None:
            await _take(server, body)

    return await _serve(server, receive(), _write_all(server.protocol.outbox, write))


async def _serve(
    server: LoopServer, reading: Coroutine[Any, Any, None], writing: Coroutine[Any, Any, None]
) -> int | None:
    reader, writer = asyncio.create_task(reading), asyncio.create_task(writing)
    exited = server.editor.exited
    try:
        await asyncio.wait((reader, writer, exited), return_when=asyncio.FIRST_COMPLETED)
        code = exited.result() if exited.done() else None
        for task in (reader, writer):
            if task.done() and (error := task.exception()) is not None:
                log.info("a client went: %s", type(error).__name__)
        server.editor.gone()
        await asyncio.wait({writer}, timeout=DRAIN_S)
        return code
    finally:
        server.editor.gone()
        for task in (reader, writer):
            task.cancel()
        await asyncio.gather(reader, writer, return_exceptions=True)


async def _read_frames(server: LoopServer, read: Read, alien_ends: bool) -> None:
    frames = FrameReader()
    protocol = server.protocol
    while data := await read():
        for found in frames.feed(data):
            if frames.alien and alien_ends:
                log.warning("a client speaks another protocol; its connection is closed")
                return
            if found is Malformed.TOO_LARGE:
                protocol.refuse(None, INVALID_REQUEST, found.value)
            elif isinstance(found, Malformed):
                protocol.refuse(None, PARSE_ERROR, found.value)
            else:
                await _take(server, found)


async def _take(server: LoopServer, body: bytes) -> None:
    """One message after the other. A large one takes its time, so others get theirs in between."""
    message = server.protocol.read(body)
    if len(body) > LARGE_BYTES:
        await asyncio.sleep(0)
    if message is not None:
        server.protocol.handle(message)


async def _write_all(outbox: Outbox, write: Write) -> None:
    while batch := await outbox.batch():
        await write(batch)
        outbox.sent(batch)
