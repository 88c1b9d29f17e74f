"""A hand-written client of the Language Server Protocol, for tests: JSON-RPC, documents and their positions.

It shares no code with the server and none with pygls, so that both can be judged by it.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from agent_core.ready_file import wait_ready

Json = dict[str, Any]
Handler = Callable[[Any], Awaitable[Any]]

ROOT = Path(__file__).resolve().parents[3]
WAIT_S = 40.0
"""Bound of every wait. What is waited for takes milliseconds, but for turns that run tools and processes that start."""

POLL_S = 0.004


class RpcError(Exception):
    """The server answered with an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(error.get("message"))
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data = error.get("data")


class Wire:
    """A transport: messages in and out as JSON text."""

    async def send(self, body: bytes) -> None:
        raise NotImplementedError

    async def receive(self) -> bytes | None:
        """None at the end."""
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError


class StreamWire(Wire):
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.paused = asyncio.Event()
        self.paused.set()

    async def send(self, body: bytes) -> None:
        self.writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await self.writer.drain()

    async def send_raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def receive(self) -> bytes | None:
        await self.paused.wait()
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode("ascii").strip().split("\r\n"))
            return await self.reader.readexactly(int(fields["Content-Length"]))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def close(self) -> None:
        self.writer.close()

    def vanish(self) -> None:
        """As an editor that is gone: nothing is written any more, and nothing read."""
        self.writer.close()
        self.reader._transport.close()  # type: ignore[attr-defined]


class SocketWire(Wire):
    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def send(self, body: bytes) -> None:
        await self.connection.send(body.decode("utf-8"))

    async def receive(self) -> bytes | None:
        try:
            return await self.connection.recv(decode=False)
        except ConnectionClosed:
            return None

    async def close(self) -> None:
        await self.connection.close()


class LspClient:
    """Requests, notifications, and handlers for what the server asks. Use it through `stdio`, `tcp` or `websocket`."""

    def __init__(self, wire: Wire, process: asyncio.subprocess.Process | None = None) -> None:
        self.wire, self.process = wire, process
        self.seen: list[Json] = []
        """Every notification of the server, and every request as it came."""
        self.answers: list[Json] = []
        """Every answer of the server, also those that nobody waits for."""
        self.handlers: dict[str, Handler] = {}
        self.capabilities: Json = {}
        self.ended = asyncio.Event()
        self._ids = itertools.count(1)
        self._waiting: dict[int | str, asyncio.Future[Json]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._running: dict[Any, asyncio.Task[None]] = {}
        self._reading = asyncio.create_task(self._read())

    # Talking

    async def send(self, message: Any) -> None:
        await self.wire.send(json.dumps(message).encode())

    async def notify(self, method: str, params: Any = None) -> None:
        await self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def begin(self, method: str, params: Any = None, msg_id: int | str | None = None) -> asyncio.Future[Json]:
        """Send a request; its answer comes in the future."""
        number = next(self._ids) if msg_id is None else msg_id
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        await self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return future

    async def request(self, method: str, params: Any = None, timeout_s: float = WAIT_S) -> Any:
        """The result. Raises RpcError."""
        future = await self.begin(method, params)
        async with asyncio.timeout(timeout_s):
            answer = await future
        if "error" in answer:
            raise RpcError(answer["error"])
        return answer["result"]

    async def command(self, name: str, argument: Any = None, token: str | None = None) -> Any:
        params: Json = {"command": name, "arguments": [] if argument is None else [argument]}
        if token is not None:
            params["workDoneToken"] = token
        return await self.request("workspace/executeCommand", params)

    async def initialize(
        self,
        root: Path | None,
        *,
        encodings: list[str] | None = None,
        options: Any = None,
        experimental: Json | None = None,
        user_settings: bool = True,
        **changes: Any,
    ) -> Any:
        """Initialize as a capable editor; `changes` replace params. `user_settings`: `options` and what it answers for
        the section `loopline` are its user's own word, as it says."""
        capabilities = client_capabilities(encodings or ["utf-16"], experimental)
        folders = [{"uri": root.as_uri(), "name": root.name}] if root is not None else None
        params = {
            "processId": os.getpid(),
            "rootUri": root.as_uri() if root is not None else None,
            "capabilities": capabilities,
            "workspaceFolders": folders,
            "initializationOptions": options,
        } | changes
        if user_settings:
            said = params["capabilities"] = {**params["capabilities"]}
            ours = said.get("experimental", {}).get("loopline", {})
            said["experimental"] = {**said.get("experimental", {}), "loopline": {**ours, "userSettings": True}}
        result = await self.request("initialize", params)
        self.capabilities = result["capabilities"]
        await self.notify("initialized", {})
        return result

    async def shutdown(self) -> None:
        assert await self.request("shutdown") is None
        await self.notify("exit")

    # Waiting

    async def until(self, check: Callable[[], Any], timeout_s: float = WAIT_S) -> Any:
        """Wait until `check` gives something; what a handler does counts as well as what came."""
        async with asyncio.timeout(timeout_s):
            while not (found := check()):  # noqa: ASYNC110 - see above
                await asyncio.sleep(POLL_S)
            return found

    async def event(self, kind: str, timeout_s: float = WAIT_S, **fields: Any) -> Json:
        """The first event of `$/loopline/event` of this type with these fields, also one that came already."""
        found: Json = await self.until(lambda: next(iter(self.events(kind, **fields)), None), timeout_s)
        return found

    def events(self, kind: str | None = None, **fields: Any) -> list[Json]:
        found = [event for message in self.of("$/loopline/event") for event in message["params"]["events"]]
        return [
            event
            for event in found
            if (kind is None or event["type"] == kind) and all(event.get(key) == fields[key] for key in fields)
        ]

    def of(self, method: str) -> list[Json]:
        """What came of one method."""
        return [message for message in self.seen if message["method"] == method]

    async def turn(self, task: str, token: str | None = None, timeout_s: float = 60, **fields: Any) -> Json:
        """Start a turn and wait for its end: the `turn.finished` event."""
        started = await self.command("loopline.turn.start", {"task": task, **fields}, token)
        return await self.event("turn.finished", timeout_s, turnId=started["turnId"])

    # The other direction

    async def _read(self) -> None:
        try:
            while (body := await self.wire.receive()) is not None:
                self._take(json.loads(body))
        finally:
            self.ended.set()
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(ConnectionError("the server is gone"))

    def _take(self, message: Json) -> None:
        if "method" not in message:
            self.answers.append(message)
            future = self._waiting.pop(message["id"], None)
            if future is not None and not future.done():
                future.set_result(message)
            return
        self.seen.append(message)
        if message["method"] == "$/cancelRequest":
            task = self._running.get(message["params"]["id"])
            if task is not None:
                task.cancel()
        if "id" in message:
            task = asyncio.create_task(self._answer(message))
            self._running[message["id"]] = task
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, message: Json) -> None:
        handler = self.handlers.get(message["method"])
        answer: Json = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            if handler is None:
                answer["error"] = {"code": -32601, "message": "no such method here"}
            else:
                answer["result"] = await handler(message.get("params"))
        except asyncio.CancelledError:
            answer["error"] = {"code": -32800, "message": "cancelled"}
        finally:
            self._running.pop(message["id"], None)
        with suppress(ConnectionError, ConnectionClosed):
            await self.send(answer)

    async def close(self) -> None:
        self._reading.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(self._reading, *self._tasks, return_exceptions=True)
        with suppress(ConnectionError):
            await self.wire.close()


def client_capabilities(encodings: list[str], experimental: Json | None = None) -> Json:
    """Those of an editor that can do what Loopline uses."""
    return {
        "general": {"positionEncodings": encodings},
        "workspace": {
            "applyEdit": True,
            "workspaceEdit": {"documentChanges": True, "changeAnnotationSupport": {"groupsOnLabel": True}},
            "configuration": True,
            "workspaceFolders": True,
            "codeLens": {"refreshSupport": True},
        },
        "window": {"workDoneProgress": True, "showDocument": {"support": True}},
        "textDocument": {
            "codeAction": {
                "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "refactor"]}},
                "dataSupport": True,
                "resolveSupport": {"properties": ["edit", "command"]},
            },
            "publishDiagnostics": {"versionSupport": True},
        },
        **({"experimental": {"loopline": experimental}} if experimental is not None else {}),
    }


@asynccontextmanager
async def stdio(env: Mapping[str, str], *arguments: str, cwd: Path = ROOT) -> AsyncIterator[LspClient]:
    """A server process of one's own; killed at the end if it still runs."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "agent_core", "lsp", *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(env),
        cwd=cwd,
        limit=256 << 20,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    client = LspClient(StreamWire(process.stdout, process.stdin), process)
    try:
        yield client
    except ConnectionError:
        raise AssertionError(await _stderr(process)) from None
    finally:
        await client.close()
        await ended(process)


async def ended(process: asyncio.subprocess.Process, timeout_s: float = 5.0) -> int:
    """The exit code; a process that goes on is killed."""
    try:
        async with asyncio.timeout(timeout_s):
            return await process.wait()
    except TimeoutError:
        process.kill()
        return await process.wait()


class Listening:
    """A server process that takes clients over TCP or WebSocket."""

    def __init__(self, process: asyncio.subprocess.Process, facts: Json) -> None:
        self.process, self.facts = process, facts

    @property
    def url(self) -> str:
        return str(self.facts["url"])

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    @asynccontextmanager
    async def client(self) -> AsyncIterator[LspClient]:
        way = connected_tcp(self.port) if self.url.startswith("tcp:") else connected_ws(self.url, self.facts["token"])
        async with way as client:
            yield client


@asynccontextmanager
async def connected_tcp(port: int) -> AsyncIterator[LspClient]:
    """A client of a server that listens on TCP."""
    client = LspClient(StreamWire(*await asyncio.open_connection("127.0.0.1", port, limit=256 << 20)))
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def connected_ws(url: str, token: str) -> AsyncIterator[LspClient]:
    """A client of a server that listens for WebSockets."""
    offered = [Subprotocol("loopline"), Subprotocol(f"token.{token}")]
    client = LspClient(SocketWire(await connect(url, subprotocols=offered, max_size=None)))
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def listening(kind: str, env: Mapping[str, str], folder: Path) -> AsyncIterator[Listening]:
    """`kind` is `--tcp` or `--ws`."""
    ready = folder / f"ready{kind}.json"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "agent_core", "lsp", kind, "127.0.0.1:0", "--ready-file", str(ready),
        stderr=asyncio.subprocess.PIPE,
        env=dict(env),
        cwd=ROOT,
    )  # fmt: skip
    try:
        facts = await wait_ready(process, ready, WAIT_S)
        if facts is None:
            if process.returncode is None:
                process.kill()
            raise AssertionError(await _stderr(process))
        yield Listening(process, json.loads(facts))
    finally:
        if process.returncode is None:
            process.terminate()
        await ended(process)


async def _stderr(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    return (await process.stderr.read()).decode("utf-8", "replace")
