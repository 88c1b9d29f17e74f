"""One MCP server of a session: started when first needed, ended with the session, its failures told once.

Owns one task that keeps the connection from the handshake to the end; calls come from other tasks.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from agent_core import launch
from agent_core.errors import ToolError
from agent_core.tools.mcp.catalogue import Catalogue, Offered, catalogue
from agent_core.tools.mcp.content import Answer, as_text, line
from agent_core.tools.mcp.process import ServerProcess
from agent_core.tools.mcp.settings import ServerSettings
from agent_core.tools.port import ToolContext, ToolResult

MAX_STARTS = 3
"""A server that dies is started again when it is next needed, so often in a session."""

END_LIMIT_S = 6.0
"""Longest wait for a server's end; then its task is cancelled, which kills it."""
GRACE_S = 5.0
LEFT_OUT_TOLD = 5
EXTRA = "the extra `mcp` is not installed: pip install 'loopline[mcp]'"


class Place(msgspec.Struct, frozen=True):
    """What servers are started in: the workspace's folders now, the environment that commands get, the user's own, and
    where to say what went wrong."""

    roots: Callable[[], Sequence[str]]
    environment: Mapping[str, str]
    user_environment: Mapping[str, str]
    tell: Callable[[str], None]


class Server:
    """`name` as in the settings. `close` it at the end; it can't be used afterwards."""

    def __init__(self, name: str, settings: ServerSettings, around: Place) -> None:
        self.name, self.settings = name, settings
        self._around = around
        self.catalogue = Catalogue(offered=())
        self.problem = ""
        """Why it can't be used; "" while it can, or was not needed yet."""
        self._connection: Any = None
        self._task: asyncio.Task[None] | None = None
        self._known: asyncio.Future[None] | None = None
        self._stop = asyncio.Event()
        self._starts = 0
        self._failed = self._stale = False
        self._told: set[str] = set()

    async def tools(self) -> Sequence[Offered]:
        """What it offers; started if it was not. What it offered last where it can't be asked; bounded by `start_s`."""
        try:
            connection = await self._up()
            if self._stale:
                self._stale = False
                async with asyncio.timeout(self.settings.start_s):
                    self._take(await connection.list_tools())
        except (ToolError, TimeoutError) as error:
            self._say(error.message if isinstance(error, ToolError) else "it did not list its tools in time")
        return self.catalogue.offered

    async def call(self, tool: str, arguments: Mapping[str, Any], tell: Callable[[str], None]) -> Answer:
        """Raises ToolError; `timeout` after `call_s`, `server_gone` if it ended meanwhile."""
        connection = await self._up()
        try:
            async with asyncio.timeout(self.settings.call_s + GRACE_S):
                answer: Answer = await connection.call(tool, arguments, self.settings.call_s, tell)
        except TimeoutError as error:
            raise ToolError("it did not answer in time", code="timeout") from error
        except ToolError as error:
            if error.code == "server_gone" and self.settings.transport == "stdio":
                raise ToolError(await self._last_words() or error.message, code=error.code) from error
            raise
        return answer

    async def _last_words(self) -> str:
        """How a server that is gone ended; "" if it does not end within a while."""
        assert self._task is not None
        await asyncio.wait({self._task}, timeout=END_LIMIT_S)
        return self.problem

    async def close(self) -> None:
        """End the connection and the process; bounded."""
        self._stop.set()
        self._failed = True
        if self._task is not None and not self._task.done():
            if self._connection is not None:
                await asyncio.wait({self._task}, timeout=END_LIMIT_S)
            if not self._task.done():
                self._task.cancel()
                await asyncio.wait({self._task}, timeout=END_LIMIT_S)

    async def _up(self) -> Any:
        """The connection, started if it is not up. Raises ToolError if it can't be had."""
        if self._task is not None and self._known is not None and self._known.done() and self._connection is None:
            await asyncio.wait({self._task})  # it just ends, which is bounded
        if self._task is None or self._task.done():
            if self._failed or self._starts >= MAX_STARTS:
                raise ToolError(self.problem or "it is closed", code="server_gone")
            self._starts += 1
            self._known = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._run(self._known), name=f"mcp {self.name}")
        assert self._known is not None
        await asyncio.shield(self._known)
        if self._connection is None:
            raise ToolError(self.problem or "it is gone", code="server_gone")
        return self._connection

    async def _run(self, known: asyncio.Future[None]) -> None:
        """The life of one connection. `known` is told when its tools are, or why they never will be."""
        process: ServerProcess | None = None
        sdk: ModuleType | None = None
        try:
            async with asyncio.timeout(self.settings.start_s) as limit:
                sdk = await asyncio.to_thread(_sdk)
                if self.settings.transport == "stdio":
                    process = await self._start_process()
                where = process or sdk.HttpEndpoint(self.settings.url, self._headers())
                async with sdk.connect(where, self._around.roots(), self._changed) as connection:
                    self._take(await connection.list_tools())
                    limit.reschedule(None)
                    self._connection, self.problem = connection, ""
                    known.set_result(None)
                    await self._until_the_end(process)
        except asyncio.CancelledError:
            self.problem = "it was ended"
            raise
        except Exception as error:  # whatever the SDK or a server comes up with ends this server, and nothing else
            self.problem = await self._why(error, sdk, process)
        finally:
            self._connection = None
            if process is not None:
                await process.end()
            self._ended(known)

    async def _until_the_end(self, process: ServerProcess | None) -> None:
        waiting = [asyncio.ensure_future(self._stop.wait())]
        if process is not None:
            waiting.append(asyncio.ensure_future(process.ended.wait()))
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
        self._connection = None
        if process is not None and not self._stop.is_set():
            self.problem = await process.how_it_ended()

    def _ended(self, known: asyncio.Future[None]) -> None:
        if not known.done():
            self._failed = True  # what never worked is not tried again and again
            known.set_exception(ToolError(self.problem or "it could not be started", code="server_gone"))
            known.exception()
        elif not self._stop.is_set():
            self._say(self.problem)

    async def _why(self, error: Exception, sdk: ModuleType | None, process: ServerProcess | None) -> str:
        if isinstance(error, ToolError):
            return error.message
        if isinstance(error, TimeoutError):
            return f"it was not ready within {self.settings.start_s:g} s"
        if process is not None and process.ended.is_set():
            return await process.how_it_ended()
        if sdk is None:
            return EXTRA if isinstance(error, ImportError) else f"the SDK can't be loaded ({type(error).__name__})"
        message: str = sdk.refused(error).message
        return message

    async def _start_process(self) -> ServerProcess:
        given, roots = self.settings, self._around.roots()
        passed = {
            name: self._around.user_environment[name]
            for name in given.pass_env
            if name in self._around.user_environment
        }
        environment = {**self._around.environment, **passed, **given.env}
        command = [word for part in given.command for word in _filled(part, roots)]
        program = _program(command[0], environment)
        home = environment.get("HOME", "")
        home = home if Path(home).is_dir() and home.startswith(os.sep) else os.sep
        cwd = _filled(given.cwd, roots)[0] if given.cwd else home
        return await ServerProcess.start(
            [program, *command[1:]], str(Path(cwd).expanduser()), environment, f"mcp-{secrets.token_hex(8)}"
        )

    def _headers(self) -> dict[str, str]:
        headers = dict(self.settings.headers)
        if self.settings.bearer_env is not None:
            token = self._around.user_environment.get(self.settings.bearer_env)
            if not token:
                raise ToolError(f"the variable {self.settings.bearer_env} is not set", code="not_started")
            headers["Authorization"] = f"Bearer {token}"
        return headers

    def _take(self, listed: Sequence[Any]) -> None:
        self.catalogue = catalogue(self.name, listed, self.settings.tools)
        for text in self.catalogue.left_out[:LEFT_OUT_TOLD]:
            self._say(f"left out: {text}")
        if (more := len(self.catalogue.left_out) - LEFT_OUT_TOLD) > 0:
            self._say(f"left out: {more} more tools")

    def _changed(self) -> None:
        self._stale = True

    def _say(self, text: str) -> None:
        """Tell the user, each thing once."""
        if text not in self._told and len(self._told) < 50:
            self._told.add(text)
            self._around.tell(f"MCP server {self.name}: {text}")


class McpTool:
    """A tool of a server, as one of ours."""

    def __init__(self, server: Server, offered: Offered) -> None:
        self._server, self._tool = server, offered.name
        self.spec = offered.spec

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        where = f"MCP server {self._server.name}"
        try:
            answer = await self._server.call(self._tool, arguments, context.progress)
        except ToolError as error:
            if error.code == "timeout":
                text = f"{where}: {error.message} ({self._server.settings.call_s:g} s)"
                return ToolResult(output=text, status="timeout", summary=text, data={"server": self._server.name})
            raise ToolError(f"{where}: {error.message}", code=error.code) from error
        text = as_text(answer)
        return ToolResult(
            output=text,
            status="error" if answer.failed else "ok",
            summary=line(text, 120),
            data={"server": self._server.name},
        )


def _sdk() -> ModuleType:
    """The module that knows the SDK; importing it takes a while, so it is done in a thread. Raises ImportError."""
    return importlib.import_module("agent_core.tools.mcp.sdk")


def _filled(text: str, roots: Sequence[str]) -> list[str]:
    """`{roots}` stands for all folders of the workspace, `{root}` in a text for the first."""
    return list(roots) if text == "{roots}" else [text.replace("{root}", roots[0])]


def _program(name: str, environment: Mapping[str, str]) -> str:
    """Found on the absolute folders of PATH only: nothing from where we happen to be is run."""
    if os.sep in name:
        return str(Path(name).expanduser())
    found = launch.find_program(name, environment)
    if found is None:
        raise ToolError(f"{name} is not on PATH", code="not_started")
    return found
