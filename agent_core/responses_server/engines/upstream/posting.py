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

STALE_S: Final = 1.0
"""A connection that was given up while it was idle fails within this time; what fails later had begun to work."""


_ANY_TYPE: Final = ("/chat/completions",)
"""Endpoints whose servers give a stream any content type, or answer with one JSON value."""


class Reader(Protocol):
    """Reads one answer. `complete`: nothing will follow. `patience_s`: how long to wait for more; None: as long as an
    answer may be silent."""

    @property
    def patience_s(self) -> float | None: ...

    @property
    def complete(self) -> bool: ...

    def read(self, data: bytes) -> list[Delta]: ...

    def end(self, *, done: bool, orderly: bool) -> list[Delta]:
        """The stream is over: `done` by `[DONE]`, `orderly` by the server's own doing. Raises for half an answer."""

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
        lost: ConnectionLost | None = None
        try:
            while not (reader.complete or stream.done):
                patience_s = reader.patience_s
                try:
                    events = await stream.receive(self._settings.silence_s if patience_s is None else patience_s)
                except ConnectionLost as failure:
                    lost = failure
                    break
                for data in events:
                    for delta in reader.read(data):
                        yield delta
            if not reader.complete:
                try:
                    rest = reader.end(done=stream.done, orderly=stream.ended)
                except ConnectionLost as half:
                    raise lost or half from None
                for delta in rest:
                    yield delta
        finally:
            await (stream.finish() if reader.complete else stream.close())

    async def _post(self, path: str, body: bytes) -> HttpStream:
        pool = self._pools.get(path)
        if pool is None:
            settings = self._settings
            pool = self._pools[path] = Http(
                settings.address(path), settings.all_headers, open_timeout_s=settings.connect_timeout_s
            )
        return await pool.post(body, _Unobserved(), self._settings.silence_s, any_type=path in _ANY_TYPE)

    async def close(self) -> None:
        for pool in self._pools.values():
            await pool.close()
        self._pools.clear()
