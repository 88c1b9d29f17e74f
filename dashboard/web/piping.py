"""Turns something that writes to a file, in a thread, into the body of an answer; holds a few chunks at most."""

from __future__ import annotations

import asyncio
import concurrent.futures
import io
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any, BinaryIO, cast

CHUNK = 64 << 10
CHUNKS = 4
SLOW_S = 30.0
"""A reader that takes no chunk for this long gets no more."""


class ReaderGone(Exception):
    """Nobody takes what is written."""


class _Pipe(io.RawIOBase):
    """Gathers what is written into chunks for `put`, which blocks while the reader is behind."""

    def __init__(self, put: Callable[[bytes], None]) -> None:
        self._put, self._held = put, bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._held += data
        if len(self._held) >= CHUNK:
            self.flush()
        return len(data)

    def flush(self) -> None:
        if self._held:
            chunk, self._held = bytes(self._held), bytearray()
            self._put(chunk)


async def piped(write: Callable[[BinaryIO], None], gate: asyncio.Semaphore) -> AsyncIterator[bytes]:
    """Chunks of what `write` writes to its file, under `gate`. An error of `write` ends the body short, so that the
    reader sees it is not whole."""
    async with gate:
        loop, chunks, stopped = asyncio.get_running_loop(), asyncio.Queue[bytes](CHUNKS), threading.Event()

        def put(chunk: bytes) -> None:
            taken = asyncio.run_coroutine_threadsafe(chunks.put(chunk), loop)
            for _ in range(round(SLOW_S)):
                try:
                    taken.result(1.0)
                except concurrent.futures.TimeoutError:
                    if stopped.is_set():
                        break
                else:
                    return
            taken.cancel()
            raise ReaderGone

        def run() -> None:
            pipe = _Pipe(put)
            write(cast(BinaryIO, pipe))
            pipe.flush()

        writing = asyncio.create_task(asyncio.to_thread(run), name="export")
        try:
            while not (writing.done() and chunks.empty()):
                taking = asyncio.create_task(chunks.get(), name="export-chunk")
                await asyncio.wait({taking, writing}, return_when=asyncio.FIRST_COMPLETED)
                if taking.done():
                    yield taking.result()
                else:
                    taking.cancel()
                    await asyncio.wait({taking})
            writing.result()
        finally:
            stopped.set()
            await asyncio.wait({writing})
            if not writing.cancelled():
                writing.exception()
