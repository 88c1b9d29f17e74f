"""Client tools on real files and processes, and a loop that plays a client against the repair engine."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_core.repair.limits import SearchLimits
from agent_core.responses_server.engine import (
    EngineRequest,
    EngineTool,
    Finish,
    ItemEnd,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from agent_core.responses_server.engines.repair import RepairEngine
from agent_core.tools.port import ToolContext
from agent_core.tools.standard import standard_toolbox
from agent_core.tools.workspace.workspace import Workspace
from agent_core.wire.codec import to_raw
from agent_core.wire.items import FunctionCall, FunctionCallOutput, Message, OutputText

OUTPUT_CAP = 30_000
LEAN = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""The projects that are mended need none of the pytest plugins of this one, whose loading takes most of a short run."""


def _schema(required: Sequence[str], **properties: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(required),
    }


CODEX: dict[str, dict[str, Any]] = {
    "exec_command": _schema(
        ["cmd"],
        cmd="string",
        workdir="string",
        shell="string",
        login="boolean",
        yield_time_ms="number",
        max_output_tokens="number",
    ),
    "write_stdin": _schema(["session_id"], session_id="number", chars="string", yield_time_ms="number"),
}


class LooplineTools:
    """The agent's own tools on a real folder; `without` leaves some out."""

    def __init__(self, root: Path, *, without: Collection[str] = ()) -> None:
        self.toolbox = standard_toolbox(Workspace([root]), python=sys.executable, environment={**os.environ, **LEAN})
        self.without = frozenset(without)

    @property
    def specs(self) -> list[EngineTool]:
        return [
            EngineTool(name=spec.name, description=spec.description, parameters=dict(spec.parameters))
            for spec in self.toolbox.specs
            if spec.name not in self.without
        ]

    async def run(self, name: str, arguments: str) -> str:
        return (await self.toolbox.run(name, arguments, ToolContext(tool_call="call"))).output

    async def close(self) -> None:
        await self.toolbox.close()


@dataclass
class CodexTools:
    """Codex's shell tool with the frame that it puts around outputs."""

    root: Path

    @property
    def specs(self) -> list[EngineTool]:
        texts = {"exec_command": "Runs a command in a PTY.", "write_stdin": "Writes to a running command."}
        return [EngineTool(name=name, parameters=schema, description=texts[name]) for name, schema in CODEX.items()]

    async def run(self, name: str, arguments: str) -> str:
        assert name == "exec_command"
        given = json.loads(arguments)
        status, output = await asyncio.to_thread(run_shell, given["cmd"], self.root, given["yield_time_ms"] / 1000)
        state = "Process running with session ID 1000" if status is None else f"Process exited with code {status}"
        head = f"Chunk ID: 3f2a1c\nWall time: 0.8123 seconds\n{state}\nOriginal token count: {len(output) // 4}\n"
        return f"{head}Output:\n{output}"

    async def close(self) -> None:
        return None


def run_shell(command: str, folder: Path, timeout_s: float) -> tuple[int | None, str]:
    """Exit status (None: killed for time) and output, head and tail kept."""
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **LEAN)
    process = subprocess.Popen(
        ["/bin/sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        data, _ = process.communicate(timeout=timeout_s)
        status: int | None = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        data, _ = process.communicate()
        status = None
    output = data.decode(errors="replace")
    if len(output) > OUTPUT_CAP:
        output = output[: OUTPUT_CAP // 2] + "\n…\n" + output[-OUTPUT_CAP // 2 :]
    return status, output


@dataclass
class Played:
    """A conversation with the engine, from a task to its last word."""

    items: list[Any]
    texts: list[str] = field(default_factory=list)
    calls: list[tuple[str, dict[str, Any], str]] = field(default_factory=list)
    replies: int = 0
    seconds: float = 0.0

    @property
    def last(self) -> str:
        return self.texts[-1] if self.texts else ""

    @property
    def fixed(self) -> bool:
        return self.last.startswith("Fixed")


def request_for(
    items: Sequence[Any], tools: Sequence[EngineTool], memory: dict[str, Any], *, parallel: bool = True
) -> EngineRequest:
    return EngineRequest(
        response_id="resp_1", model="repair", instructions=None, items=list(items), first_new=0, tokens=[], tools=tools,
        tool_choice="auto", parallel_tool_calls=parallel, memory=memory,
    )  # fmt: skip


async def one_reply(request: EngineRequest, limits: SearchLimits | None = None) -> tuple[str, list[tuple[str, str]]]:
    """Text and (name, arguments) of the calls of one response."""
    text, finished = "", False
    calls: list[list[str]] = []
    async for delta in RepairEngine(limits).stream(request):
        assert not finished
        match delta:
            case TextDelta(piece):
                assert not calls
                text += piece
            case ToolCallStart():
                calls.append([delta.name, ""])
            case ToolCallDelta(piece):
                calls[-1][1] += piece
            case Finish():
                finished = True
            case ItemEnd():
                pass
    assert finished
    return text, [(name, arguments) for name, arguments in calls]


async def play(
    tools: LooplineTools | CodexTools,
    task: str = "Make the failing tests pass.",
    *,
    items: Sequence[Any] = (),
    parallel: bool = True,
    max_replies: int = 400,
    watch: Callable[[Played], None] = lambda played: None,
    limits: SearchLimits | None = None,
) -> Played:
    """Runs tools as the engine asks until it stops asking."""
    played = Played([*items, Message(role="user", content=task)])
    memory: dict[str, Any] = {}
    started = time.monotonic()
    while played.replies < max_replies:
        text, calls = await one_reply(request_for(played.items, tools.specs, memory, parallel=parallel), limits)
        played.replies += 1
        if text:
            played.texts.append(text)
            played.items.append(Message(role="assistant", content=[to_raw(OutputText(text=text))]))
        for number, (name, arguments) in enumerate(calls):
            played.items.append(FunctionCall(name=name, arguments=arguments, call_id=f"call_{played.replies}_{number}"))
        for number, (name, arguments) in enumerate(calls):
            output = await tools.run(name, arguments)
            played.calls.append((name, json.loads(arguments), output))
            played.items.append(FunctionCallOutput(call_id=f"call_{played.replies}_{number}", output=output))
        watch(played)
        if not calls:
            break
    played.seconds = time.monotonic() - started
    await tools.close()
    return played
