"""Help for tests of the tools: a toolbox on a real folder, and questions about real processes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_core.tools.port import ToolContext, ToolResult
from agent_core.tools.sandbox.sandbox import Found, Sandbox
from agent_core.tools.standard import standard_toolbox
from agent_core.tools.workspace.guarded import GuardRules
from agent_core.tools.workspace.workspace import Documents, Workspace
from tests.support.system.processes import alive
from tests.support.system.waiting import WAIT_S

BIN = {"PATH": os.defpath, "HOME": "/nonexistent", "LANG": "C.UTF-8"}
"""An environment as bare as a command can do with."""


class Bench:
    """A toolbox on one or more folders. `python` is this interpreter unless told otherwise."""

    def __init__(
        self,
        *roots: Path,
        python: str | None = sys.executable,
        environment: Mapping[str, str] | None = None,
        documents: Documents | None = None,
        trusted: bool = False,
        use_venv: bool = False,
        sandbox: Found | None = None,
        network: bool = False,
        visible: tuple[str, ...] = (),
        background: bool = False,
        guarded: tuple[str, ...] = (),
    ) -> None:
        self.root = roots[0]
        self.workspace = Workspace(roots, documents=documents, guards=GuardRules(guarded))
        self.box = standard_toolbox(
            self.workspace,
            python=python,
            environment=BIN if environment is None else environment,
            trusted=trusted,
            use_venv=use_venv,
            background=background,
            sandbox=None
            if sandbox is None
            else Sandbox(sandbox, self.workspace, environment or BIN, network=network, visible=visible),
        )
        self.progress: list[str] = []

    async def run(self, name: str, **arguments: Any) -> ToolResult:
        context = ToolContext(tool_call="call_1", progress=self.progress.append)
        return await self.box.run(name, json.dumps(arguments), context)

    async def ok(self, name: str, **arguments: Any) -> str:
        """The output of a run that must succeed."""
        result = await self.run(name, **arguments)
        assert result.status == "ok", result.output
        return result.output

    async def refused(self, name: str, **arguments: Any) -> str:
        """The output of a run that must be refused: `<code>: <message>`."""
        result = await self.run(name, **arguments)
        assert result.status == "error", result.output
        return f"{result.data['code']}: {result.output.removeprefix('error: ')}"

    def write(self, path: str, content: str | bytes) -> Path:
        """A file below the first root, made by somebody else than the tools."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def bytes(self, path: str) -> bytes:
        return (self.root / path).read_bytes()


class Gaps:
    """How long the event loop was busy with other things, at most, while this ran as a context: by the clock or by the
    processor time of this process, whichever is less, so that what other processes do does not count."""

    longest_s = 0.0

    async def __aenter__(self) -> Gaps:
        self._ticker = asyncio.ensure_future(self._tick())
        return self

    async def __aexit__(self, *error: object) -> None:
        self._ticker.cancel()

    async def _tick(self) -> None:
        while True:
            before, used = time.monotonic(), time.process_time()
            await asyncio.sleep(0)
            self.longest_s = max(self.longest_s, min(time.monotonic() - before, time.process_time() - used))


async def gone(pids: list[int], limit_s: float = WAIT_S) -> bool:
    """True once none of the processes runs."""
    deadline = time.monotonic() + limit_s
    while any(map(alive, pids)):
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.005)
    return True
