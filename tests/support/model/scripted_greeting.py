"""A server that speaks before it is asked, and not as a service should."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def greeting(words: bytes) -> AsyncIterator[str]:
    """A server that says `words`, whatever it is asked, and waits for the client to leave; gives its base URL."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(words)
        while await reader.read(1 << 16):
            pass
        writer.close()
        gone.set()

    gone = asyncio.Event()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    await gone.wait()
    server.close()
