"""This process's standard input and output, touched by threads of their own.

Neither a client that writes nothing nor one that reads nothing ever holds the event loop. Standard output itself is
given away: whatever prints by mistake lands on standard error.
"""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor

CHUNK_BYTES = 64 << 10
AHEAD = 16
"""Chunks read before the loop took them."""


class Pipes:
    """Owns both from the moment it is made."""

    def __init__(self) -> None:
        self._out = os.dup(1)
        os.dup2(2, 1)
        self._reader = _Reader(0)
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="stdout")

    async def read(self) -> bytes:
        """What arrived; b"" at the end."""
        return await self._reader.read()

    async def write(self, batch: list[bytes]) -> None:
        """Raises OSError where nobody reads any more."""
        await asyncio.get_running_loop().run_in_executor(self._pool, _write_whole, self._out, b"".join(batch))


class _Reader:
    """Reads a descriptor in a daemon thread; b"" at its end."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self._room = threading.Semaphore(AHEAD)
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._run, name="stdin", daemon=True).start()

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
