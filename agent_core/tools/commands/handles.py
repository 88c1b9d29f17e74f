"""Commands that go on in the background, by handle, and the tool `process` that reads, feeds and stops them.

Owns one task per handle, from its start until the command and all its processes are gone. Nothing outlives `close`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from agent_core.errors import ToolError
from agent_core.tools import schema
from agent_core.tools.commands.processes import Processes
from agent_core.tools.commands.running import Command, Running
from agent_core.tools.port import ToolContext, ToolResult, ToolSpec

MAX_RUNNING = 8
MAX_WAIT_S = 60


class _Handle:
    """One background command. `state` is what a person would call it."""

    def __init__(self, name: str, title: str, running: Running, settle: Callable[[], list[str]]) -> None:
        self.name, self.title = name, title
        self.running, self._settle = running, settle
        self.task = asyncio.ensure_future(self._watch())
        self.exit_code: int | None = None
        self.rest = ""

    async def _watch(self) -> None:
        try:
            await self.running.wait()
            await self.running.settle()
        except asyncio.CancelledError:
            await self.running.end()
            raise
        finally:
            self.rest = self.running.take()
            self.exit_code = self.running.outcome().exit_code
            self.running.close()
            self.rest = "\n".join((*([self.rest] if self.rest else []), *(f"[{line}]" for line in self._settle())))

    @property
    def state(self) -> str:
        if not self.task.done():
            return "running"
        if self.task.cancelled():
            return "stopped"
        return "stopped by a limit" if self.exit_code is None else f"exit code: {self.exit_code}"

    def take(self) -> str:
        """The output since the last call."""
        if not self.task.done():
            return self.running.take()
        rest, self.rest = self.rest, ""
        return rest

    async def stop(self) -> None:
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task


class Handles:
    """The background commands of one session, `p1`, `p2`, …"""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._handles: dict[str, _Handle] = {}

    def start(self, command: Command, title: str) -> ToolResult:
        """Raises ToolError if too many are running or the program can't be started."""
        running = [handle.name for handle in self._handles.values() if not handle.task.done()]
        if len(running) >= MAX_RUNNING:
            raise ToolError(
                f"{len(running)} processes are running already; stop one of {', '.join(running)}", code="many"
            )
        name = f"p{len(self._handles) + 1}"
        self._handles[name] = _Handle(name, title, self._processes.start(command), self._processes.settle)
        return ToolResult(output=f"started {name}", summary=f"{name}: {title}", data={"id": name, "exit_code": None})

    def get(self, name: str) -> _Handle:
        if name not in self._handles:
            raise ToolError(
                f"there is no process {name[:40]!r}; there are {self.names() or 'none'}", code="unknown_process"
            )
        return self._handles[name]

    def names(self) -> str:
        return ", ".join(f"{handle.name} ({handle.state})" for handle in self._handles.values())

    @property
    def count(self) -> int:
        """How many were ever started."""
        return len(self._handles)

    def running_since(self, count: int) -> list[str]:
        """Names of those that were started since there were `count`, and still run."""
        return [handle.name for handle in list(self._handles.values())[count:] if not handle.task.done()]

    async def stop_since(self, count: int) -> None:
        """Stop those that were started since there were `count`."""
        await asyncio.gather(*(handle.stop() for handle in list(self._handles.values())[count:]))

    async def close(self) -> None:
        """Stop all."""
        await self.stop_since(0)


class ProcessTool:
    """`process`: the output since the last time, then `running`, `stopped` or `exit code: N` as the last line."""

    spec = ToolSpec(
        name="process",
        description="Read new output of a background command; give it input, wait for its end, or stop it first.",
        parameters=schema.parameters(
            {"id": schema.STRING},
            {"input": schema.STRING, "wait_s": schema.integer(0, MAX_WAIT_S), "stop": {"type": "boolean"}},
        ),
        kind="command",
    )

    def __init__(self, handles: Handles) -> None:
        self._handles = handles

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        handle = self._handles.get(arguments["id"])
        if "input" in arguments:
            await handle.running.write(arguments["input"].encode())
        if arguments.get("stop"):
            await handle.stop()
        else:
            await asyncio.wait((handle.task,), timeout=arguments.get("wait_s", 0))
        lines = [text for text in (handle.take(), handle.state) if text]
        return ToolResult(
            output="\n".join(lines),
            summary=f"{handle.name}: {handle.state}",
            data={"id": handle.name, "state": handle.state, "exit_code": handle.exit_code},
        )
