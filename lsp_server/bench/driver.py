"""Speaks to a measured server: messages one way, answers to requests the other, and what its watch saw."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from agent_core import launch
from agent_core.variables import variables
from lsp_server.bench.server import Seen

WAIT_S = 60.0
POLL_S = 0.02


class Driven:
    """A server process with its client's side of the connection."""

    def __init__(self, process: asyncio.subprocess.Process, report: Path) -> None:
        self._process, self._report = process, report
        self._last_id = self._told = 0

    async def notify(self, method: str, params: Any) -> None:
        await self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def ask(self, method: str, params: Any) -> Any:
        """The result; everything that came before it has been handled then."""
        self._last_id += 1
        await self._send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        async with asyncio.timeout(WAIT_S):
            while True:
                message = await self._receive()
                if message.get("id") == self._last_id and "method" not in message:
                    return message["result"]

    async def seen(self) -> Seen:
        """What the watch saw since the last time."""
        self._process.send_signal(signal.SIGUSR1)
        self._told += 1
        async with asyncio.timeout(WAIT_S):
            while len(lines := self._lines()) < self._told:  # noqa: ASYNC110 - another process writes it
                await asyncio.sleep(POLL_S)
        return msgspec.json.decode(lines[-1], type=Seen)

    def _lines(self) -> list[bytes]:
        return self._report.read_bytes().splitlines() if self._report.exists() else []

    def watch(self) -> None:
        """Pauses are seen from now on."""
        self._process.send_signal(signal.SIGUSR2)

    async def _send(self, message: Any) -> None:
        assert self._process.stdin is not None
        body = msgspec.json.encode(message)
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await self._process.stdin.drain()

    async def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        head = await self._process.stdout.readuntil(b"\r\n\r\n")
        size = int(head.split(b":", 1)[1])
        return msgspec.json.decode(await self._process.stdout.readexactly(size), type=dict[str, Any])


@asynccontextmanager
async def driven(root: Path, home: Path) -> AsyncIterator[Driven]:
    """A server with the folder `root` open, and homes of its own below `home`."""
    home.mkdir(parents=True, exist_ok=True)
    kept = {key: value for key, value in variables().items() if not key.startswith(("LOOPLINE_", "XDG_"))}
    homes = {f"XDG_{name}": str(home / name) for name in ("CONFIG_HOME", "STATE_HOME", "RUNTIME_DIR")}
    process = await launch.start(
        launch.own_module("lsp_server.bench.server", str(home / "report")),
        environment=launch.own_environment(kept, **homes),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    found = Driven(process, home / "report")
    try:
        params = {
            "processId": None,
            "capabilities": {"experimental": {"loopline": {"events": False}}},
            "workspaceFolders": [{"uri": root.as_uri(), "name": root.name}],
        }
        await found.ask("initialize", params)
        await found.notify("initialized", {})
        yield found
        await found.ask("shutdown", None)
        await found.notify("exit", None)
        async with asyncio.timeout(WAIT_S):
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
