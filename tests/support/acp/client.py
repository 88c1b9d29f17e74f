"""A hand-written client of the Agent Client Protocol, for tests: JSON lines over a real child process.

It shares no code with the agent. Whatever goes either way is held against the models of the protocol's SDK, but for
what a test sends raw.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from acp import schema
from pydantic import BaseModel

Json = dict[str, Any]
Handler = Callable[[Json], Awaitable[Json]]

ROOT = Path(__file__).resolve().parents[3]
WAIT_S = 60.0
"""Bound of every wait. What is waited for takes milliseconds, but for turns that run tools and processes that start."""
LIMIT_BYTES = 64 << 20

REQUESTS: Mapping[str, tuple[type[BaseModel], type[BaseModel]]] = {
    "initialize": (schema.InitializeRequest, schema.InitializeResponse),
    "authenticate": (schema.AuthenticateRequest, schema.AuthenticateResponse),
    "session/new": (schema.NewSessionRequest, schema.NewSessionResponse),
    "session/load": (schema.LoadSessionRequest, schema.LoadSessionResponse),
    "session/resume": (schema.ResumeSessionRequest, schema.ResumeSessionResponse),
    "session/fork": (schema.ForkSessionRequest, schema.ForkSessionResponse),
    "session/list": (schema.ListSessionsRequest, schema.ListSessionsResponse),
    "session/close": (schema.CloseSessionRequest, schema.CloseSessionResponse),
    "session/set_mode": (schema.SetSessionModeRequest, schema.SetSessionModeResponse),
    "session/set_config_option": (
        schema.SetSessionConfigOptionSelectRequest,
        schema.SetSessionConfigOptionResponse,
    ),
    "session/prompt": (schema.PromptRequest, schema.PromptResponse),
}
ASKED: Mapping[str, tuple[type[BaseModel], type[BaseModel]]] = {
    "session/request_permission": (schema.RequestPermissionRequest, schema.RequestPermissionResponse),
    "fs/read_text_file": (schema.ReadTextFileRequest, schema.ReadTextFileResponse),
    "fs/write_text_file": (schema.WriteTextFileRequest, schema.WriteTextFileResponse),
    "elicitation/create": (schema.CreateFormSessionElicitationRequest, schema.AcceptElicitationResponse),
}


class AcpError(Exception):
    """The agent answered with an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class AcpClient:
    """Requests, updates as they came, and handlers for what the agent asks."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.updates: list[Json] = []
        """Parameters of every `session/update`."""
        self.asked: list[Json] = []
        """Every request of the agent."""
        self.answers: list[Json] = []
        """Every answer, also those that nobody waits for."""
        self.handlers: dict[str, Handler] = {"session/request_permission": choosing("allow")}
        self.files: dict[str, str] = {}
        """Texts that the editor shows, by path; others are read from disk."""
        self.came = asyncio.Condition()
        self.listens = asyncio.Event()
        """While it is not set nothing is read."""
        self.listens.set()
        self.may_be_cut = False
        """Whether the last line may lack its end."""
        self._ids = itertools.count(1)
        self._waiting: dict[int, tuple[str, asyncio.Future[Json]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._reading = asyncio.create_task(self._read())

    # Saying

    async def raw(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        await self.process.stdin.drain()

    async def send(self, message: Json) -> None:
        await self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def begin(self, method: str, params: Json) -> tuple[int, asyncio.Future[Json]]:
        """A request on its way; its future has the result, or raises AcpError."""
        if method in REQUESTS:
            REQUESTS[method][0].model_validate(params)
        number = next(self._ids)
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[number] = method, future
        task = asyncio.create_task(self.send({"id": number, "method": method, "params": params}))
        self._keep(task)
        return number, future

    async def ask(self, method: str, params: Json | None = None) -> Json:
        async with asyncio.timeout(WAIT_S):
            return await self.begin(method, params or {})[1]

    async def notify(self, method: str, params: Json) -> None:
        await self.send({"method": method, "params": params})

    async def initialize(self, *, reads: bool = False, writes: bool = False, forms: bool = False) -> Json:
        if reads:
            self.handlers["fs/read_text_file"] = self._read_file
        if writes:
            self.handlers["fs/write_text_file"] = self._write_file
        can: Json = {"fs": {"readTextFile": reads, "writeTextFile": writes}, "terminal": False}
        if forms:
            can["elicitation"] = {"form": {}}
        return await self.ask("initialize", {"protocolVersion": 1, "clientCapabilities": can})

    async def new(self, folder: Path, **more: Any) -> str:
        found = await self.ask("session/new", {"cwd": str(folder), "mcpServers": [], **more})
        session: str = found["sessionId"]
        return session

    async def prompt(self, session: str, *blocks: str | Json) -> Json:
        return await self.ask("session/prompt", prompting(session, *blocks))

    # Hearing

    def of(self, session: str, kind: str = "") -> list[Json]:
        """Updates of a session, of one kind where it is named; else all but its commands, which come by themselves."""
        found = [each["update"] for each in self.updates if each["sessionId"] == session]
        return [
            each
            for each in found
            if each["sessionUpdate"] == (kind or each["sessionUpdate"])
            and (kind or each["sessionUpdate"] != "available_commands_update")
        ]

    def text(self, session: str) -> str:
        return "".join(each["content"]["text"] for each in self.of(session, "agent_message_chunk"))

    async def until(self, check: Callable[[], Any]) -> Any:
        """What `check` gives once it is true, looked at whenever something came."""
        async with asyncio.timeout(WAIT_S), self.came:
            await self.came.wait_for(check)
            return check()

    async def ended(self) -> int:
        """The exit code of the agent, once it is gone by itself."""
        async with asyncio.timeout(WAIT_S):
            return await self.process.wait()

    async def close(self) -> None:
        assert self.process.stdin is not None
        self.listens.set()
        self.process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(10):
                await self.process.wait()
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        await asyncio.wait({self._reading}, timeout=10)  # to the end of what it said
        self._reading.cancel()
        for task in tuple(self._tasks):
            task.cancel()
        failed = [task for task in (self._reading, *self._tasks) if task.done() and not task.cancelled()]
        await asyncio.gather(self._reading, *self._tasks, return_exceptions=True)
        for each in failed:
            if (error := each.exception()) is not None:
                raise error

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            await self.listens.wait()
            if self.may_be_cut and not line.endswith(b"\n"):
                break
            message = json.loads(line)  # nothing but the protocol is on its standard output
            assert message["jsonrpc"] == "2.0"
            if "method" not in message:
                self._answered(message)
            elif "id" in message:
                ASKED[message["method"]][0].model_validate(message["params"])
                self.asked.append(message)
                self._keep(asyncio.create_task(self._serve(message)))
            else:
                assert message["method"] == "session/update"
                schema.SessionNotification.model_validate(message["params"])
                self.updates.append(message["params"])
            async with self.came:
                self.came.notify_all()
        for _, future in self._waiting.values():
            if not future.done():
                future.cancel()

    def _answered(self, message: Json) -> None:
        self.answers.append(message)
        method, future = self._waiting.pop(message["id"], ("", None)) if message["id"] is not None else ("", None)
        if future is None or future.done():
            return
        if "error" in message:
            future.set_exception(AcpError(message["error"]))
            return
        if method in REQUESTS:
            REQUESTS[method][1].model_validate(message["result"])
        future.set_result(message["result"])

    async def _serve(self, message: Json) -> None:
        handler = self.handlers.get(message["method"])
        try:
            assert handler is not None
            result = await handler(message["params"])
        except (AssertionError, OSError):
            await self.send({"id": message["id"], "error": {"code": -32002, "message": "not here"}})
            return
        ASKED[message["method"]][1].model_validate(result)
        with suppress(ConnectionError):
            await self.send({"id": message["id"], "result": result})

    async def _read_file(self, params: Json) -> Json:
        path = params["path"]
        content = self.files[path] if path in self.files else Path(path).read_bytes().decode("utf-8", "replace")
        return {"content": content}

    async def _write_file(self, params: Json) -> Json:
        if params["path"] in self.files:
            self.files[params["path"]] = params["content"]
        Path(params["path"]).write_bytes(params["content"].encode())
        return {}

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def prompting(session: str, *blocks: str | Json) -> Json:
    """Parameters of `session/prompt`; a text stands for a block of text."""
    shown = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    return {"sessionId": session, "prompt": shown}


def choosing(option: str) -> Handler:
    """Answers every permission with one option."""

    async def answer(params: Json) -> Json:
        return {"outcome": {"outcome": "selected", "optionId": option}}

    return answer


@asynccontextmanager
async def agent(env: Mapping[str, str], limit_bytes: int = LIMIT_BYTES) -> AsyncIterator[AcpClient]:
    """A process of the agent; nothing of a traceback may be on its standard error. `limit_bytes`: of one line; of twice
    that the client takes nothing more while it does not listen."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "agent_core",
        "acp",
        env=dict(env),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=limit_bytes,
    )
    assert process.stderr is not None
    errors = asyncio.create_task(process.stderr.read())
    client = AcpClient(process)
    try:
        yield client
    finally:
        await client.close()
        said = await errors
    assert b"Traceback" not in said, said.decode("utf-8", "replace")
