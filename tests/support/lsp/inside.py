"""A server object without a process: messages in as bytes, messages out as JSON. And the same for plain pygls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event
from typing import Any

from pygls.io_ import run_async
from pygls.lsp.server import LanguageServer

from agent_core.clock import SystemClock
from lsp_server.process import Process
from lsp_server.server import LoopServer
from tests.support.lsp.client import client_capabilities
from tests.support.system.cli import environment
from tests.support.system.waiting import eventually

Json = dict[str, Any]


class Inside:
    """Our server. `sent` are its messages so far."""

    def __init__(self, server: LoopServer) -> None:
        self.server = server
        self.sent: list[Json] = []
        server.protocol.pack = self._keep

    def _keep(self, body: bytes) -> bytes:
        self.sent.append(json.loads(body))
        return body

    def tell(self, message: Any) -> None:
        self.server.protocol.receive(message if isinstance(message, bytes) else json.dumps(message).encode())

    def notify(self, method: str, params: Any) -> None:
        self.tell({"jsonrpc": "2.0", "method": method, "params": params})

    async def ask(self, method: str, params: Any, msg_id: int | str = "ask") -> Json:
        """The whole answer."""
        self.tell({"jsonrpc": "2.0", "id": msg_id, "method": method, "params": params})
        return await self.answer(msg_id)

    async def answer(self, msg_id: int | str) -> Json:
        found: Json = await eventually(
            lambda: next((m for m in self.sent if m.get("id") == msg_id and "method" not in m), None)
        )
        return found

    async def initialize(self, *encodings: str, root: Path | None = None, **changes: Any) -> Json:
        params = {
            "processId": None,
            "rootUri": root.as_uri() if root is not None else None,
            "capabilities": client_capabilities(list(encodings) or ["utf-16"]),
        } | changes
        return await self.ask("initialize", params, "initialize")


@asynccontextmanager
async def inside(home: Path) -> AsyncIterator[Inside]:
    process = Process(environment(home), SystemClock())
    server = LoopServer(process)
    try:
        yield Inside(server)
    finally:
        server.editor.gone()
        await process.close()


class Plain:
    """A server of pygls as it comes, read by its own loop."""

    def __init__(self, server: LanguageServer) -> None:
        self.server = server
        self.sent: list[Json] = []
        self.reader = asyncio.StreamReader()
        server.protocol.set_writer(self)
        self.running = asyncio.create_task(
            run_async(Event(), self.reader, server.protocol, error_handler=server.report_server_error)
        )

    def write(self, data: bytes) -> None:
        self.sent.append(json.loads(data.partition(b"\r\n\r\n")[2]))

    def close(self) -> None:
        return None

    def tell(self, message: Json, header: bytes = b"Content-Length") -> None:
        body = json.dumps(message).encode()
        self.reader.feed_data(b"%b: %d\r\n\r\n" % (header, len(body)) + body)

    async def ask(self, method: str, params: Any, msg_id: int = 1) -> Json:
        self.tell({"jsonrpc": "2.0", "id": msg_id, "method": method, "params": params})
        found: Json = await eventually(
            lambda: next((m for m in self.sent if m.get("id") == msg_id and "method" not in m), None)
        )
        return found

    async def initialize(self) -> Json:
        return await self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 0)


@asynccontextmanager
async def plain() -> AsyncIterator[Plain]:
    found = Plain(LanguageServer("plain", "1"))
    try:
        yield found
    finally:
        found.running.cancel()
        await asyncio.gather(found.running, return_exceptions=True)


async def let_run(rounds: int = 50) -> None:
    """Let everything run that is ready."""
    for _ in range(rounds):
        await asyncio.sleep(0)
