"""Serving one client over this process's standard input and output.

Both are touched by threads of their own, so that neither an editor that writes nothing nor one that reads nothing ever
holds the event loop. Standard output itself is given away: whatever prints by mistake lands on standard error.
"""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor

from lsp_server.process import Process
from lsp_server.transport.connection import serve_stream

CHUNK_BYTES = 64 << 10
AHEAD = 16
"""Chunks read before the loop took them."""


async def serve_stdio(process: Process) -> int | None:
    """Until the client exits, with the exit code, or goes (None)."""
    out = os.dup(1)
    os.dup2(2, 1)
    reader = _Reader(0)
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="lsp-stdout")
    loop = asyncio.get_running_loop()

    async def write(batch: list[bytes]) -> None:
        await loop.run_in_executor(pool, _write_whole, out, b"".join(batch))

    return await serve_stream(process, reader.read, write, alien_ends=False)


class _Reader:
    """Reads a descriptor in a daemon thread; b"" at its end."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self._room = threading.Semaphore(AHEAD)
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._run, name="lsp-stdin", daemon=True).start()

    async def read(self) -> bytes:
        chunk = await self._chunks.get()
        self._room.release()
        return chunk

    def _run(self) -> None:
        while True:
            self._room.acquire()
            try:
                chunk = os.read(self._descriptor, CHUNK_BYTES)
            except OSError:
                chunk = b""
            try:
                self._loop.call_soon_threadsafe(self._chunks.put_nowait, chunk)
            except RuntimeError:  # the loop is closed
                return
            if not chunk:
                return


def _write_whole(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
