"""What all clients of one server process share: the embedded service, the sessions, a folder for answers."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from agent_core.clock import Clock
from agent_core.hosting.manager import SessionManager
from agent_core.hosting.port import SessionHost
from lsp_server.followed import Followed


class Process:
    """Built once; `close` ends everything that was started."""

    def __init__(self, env: Mapping[str, str], clock: Clock) -> None:
        self.env, self.clock = env, clock
        self.manager = SessionManager(env, clock)
        self.followed: dict[str, Followed] = {}
        self.children: list[asyncio.subprocess.Process] = []
        """Other programs that end with this one."""
        self._folder: Path | None = None

    @property
    def folder(self) -> Path:
        """A private folder that is gone when the process ends."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="loopline-lsp-"))
        return self._folder

    def follow(self, host: SessionHost) -> Followed:
        """The one that follows a session for all editors."""
        followed = self.followed.get(host.id)
        if followed is None or followed.host is not host:
            followed = self.followed[host.id] = Followed(host, self.clock)
        return followed

    async def close(self) -> None:
        """End the sessions, then the service."""
        for child in self.children:
            with contextlib.suppress(ProcessLookupError):
                child.terminate()
        await self.manager.close()
        self.followed.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
