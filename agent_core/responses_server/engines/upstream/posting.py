"""One call over HTTP: a POST and its stream, read into deltas. Owns pools of kept-alive connections, one per
endpoint.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Final, Protocol

from agent_core.errors import ConnectionLost
from agent_core.responses_server.engine import Delta, Finish
from agent_core.responses_server.engines.upstream.settings import UpstreamSettings
from agent_core.transport.http import Http, HttpStream

END_S: Final = 2.0
"""How long the end of a stream may take once the answer has ended (usage may still follow)."""

STALE_S: Final = 1.0
"""A connection that was given up while it was idle fails within this time; what fails later had begun to work."""


class Reader(Protocol):
    """Reads one answer. `ended`: the answer is whole; `complete`: nothing will follow."""

    @property
    def ended(self) -> bool: ...

    @property
    def complete(self) -> bool: ...

    def read(self, data: bytes) -> list[Delta]: ...

    def finish(self) -> Finish: ...


class _Unobserved:
    """Nobody counts connections here."""

    def connecting(self) -> None:
        return

    def connected(self) -> None:
        return

    def leaving(self) -> None:
        return

    def left(self) -> None:
        return


class Poster:
    def __init__(self, settings: UpstreamSettings) -> None:
        self._settings = settings
        self._pools: dict[str, Http] = {}

    async def open(self, path: str, body: bytes) -> HttpStream:
        """POST to an endpoint below /v1. Raises what `Http.post` raises.

        A connection that the server gave up while it was idle shows only when it is used; the request is sent once
        more then, since no answer had begun.
        """
        loop = asyncio.get_running_loop()
        start_s = loop.time()
        try:
            return await self._post(path, body)
        except ConnectionLost:
            if loop.time() - start_s > STALE_S:
                raise
            return await self._post(path, body)

    async def call(self, path: str, body: bytes, reader: Reader) -> AsyncGenerator[Delta, None]:
        """The deltas of one answer, but its end. Raises as `open` and the reader do, ConnectionLost for a half answer.

        The answer is stopped by closing the iterator.
        """
        stream = await self.open(path, body)
        try:
            while not reader.complete:
                try:
                    events = await stream.receive(END_S if reader.ended else self._settings.silence_s)
                except ConnectionLost:
                    if reader.ended:
                        break
                    raise
                for data in events:
                    for delta in reader.read(data):
                        yield delta
        finally:
            await (stream.finish() if reader.ended else stream.close())

    async def _post(self, path: str, body: bytes) -> HttpStream:
        pool = self._pools.get(path)
        if pool is None:
            settings = self._settings
            pool = self._pools[path] = Http(
                settings.address(path), settings.all_headers, open_timeout_s=settings.connect_timeout_s
            )
        return await pool.post(body, _Unobserved(), self._settings.silence_s)

    async def close(self) -> None:
        for pool in self._pools.values():
            await pool.close()
        self._pools.clear()
