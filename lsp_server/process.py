"""What all clients of one server process share: the embedded service, the sessions, a folder for answers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from agent_core.clock import Clock
from agent_core.hosting.port import SessionHost
from agent_core.runtime.embedded import Embedded, embedded_service
from lsp_server.followed import Followed

CANCEL_S = 0.7


class Process:
    """Built once; `close` ends everything that was started."""

    def __init__(self, env: Mapping[str, str], clock: Clock) -> None:
        self.env, self.clock = env, clock
        self.sessions: dict[str, SessionHost] = {}
        self.followed: dict[str, Followed] = {}
        self.children: list[asyncio.subprocess.Process] = []
        """Other programs that end with this one."""
        self._stack = AsyncExitStack()
        self._starting = asyncio.Lock()
        self._service: Embedded | None = None
        self._folder: Path | None = None

    async def service(self) -> Embedded:
        """The embedded service, started when it is first needed and again if it died. Raises ServiceUnreachable."""
        async with self._starting:
            if self._service is None or not _runs(self._service.pid):
                self._service = await self._stack.enter_async_context(embedded_service(self.env, self.clock))
            return self._service

    @property
    def folder(self) -> Path:
        """A private folder that is gone when the process ends."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="loopline-lsp-"))
        return self._folder

    def add(self, host: SessionHost) -> None:
        """Keep a session; one of the same id gives way."""
        self.sessions[host.id] = host
        self.followed[host.id] = Followed(host, self.clock)

    def remove(self, host: SessionHost) -> None:
        if self.sessions.get(host.id) is host:
            del self.sessions[host.id], self.followed[host.id]

    @property
    def busy(self) -> bool:
        """Whether a turn runs or waits here."""
        return any(host.busy for host in self.sessions.values())

    @property
    def attended(self) -> bool:
        """Whether another process follows one of the sessions."""
        return any(host.attended for host in self.sessions.values())

    async def cancel_turns(self) -> None:
        """Cancel whatever runs or waits here, and wait `CANCEL_S` seconds at most for its end."""
        stopping = [asyncio.ensure_future(host.cancel_all()) for host in self.sessions.values()]
        if stopping:
            await asyncio.wait(stopping, timeout=CANCEL_S)

    async def close(self) -> None:
        """End the sessions, then the service."""
        await asyncio.gather(*(session.close() for session in self.sessions.values()), return_exceptions=True)
        self.sessions.clear()
        self.followed.clear()
        for child in self.children:
            with contextlib.suppress(ProcessLookupError):
                child.terminate()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        await self._stack.aclose()


def _runs(pid: int) -> bool:
    with contextlib.suppress(OSError):
        os.kill(pid, 0)
        return True
    return False
