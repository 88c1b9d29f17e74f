"""Client tools on real files and processes, and a loop that plays a client against the repair engine."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_core.responses_server.engines.base import (
    EngineRequest,
    EngineTool,
    Finish,
    ItemEnd,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from agent_core.responses_server.engines.repair.engine import RepairEngine
from agent_core.responses_server.engines.repair.limits import Limits
from agent_core.wire.codec import to_raw
from agent_core.wire.items import FunctionCall, FunctionCallOutput, Message, OutputText

OUTPUT_CAP = 30_000
_SKIPPED = {".git", ".venv", "__pycache__"}


def _schema(required: Sequence[str], **properties: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(required),
    }


LOOPLINE: dict[str, dict[str, Any]] = {
    "list": _schema([], path="string", depth="integer"),
    "read": _schema(["path"], path="string", start="integer", end="integer"),
    "search": _schema(["pattern"], pattern="string", path="string", glob="string"),
    "edit": _schema(["path", "old", "new"], path="string", old="string", new="string"),
    "patch": _schema(["patch"], patch="string"),
    "shell": _schema(["command"], command="string", timeout_s="number"),
    "checks": _schema([], target="string"),
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


@dataclass
class LooplineTools:
    """The agent's own tools; `without` leaves some out."""

    root: Path
    runner: str = "pytest"
    without: frozenset[str] = frozenset()
    read_lines: int = 400

    @property
    def specs(self) -> list[EngineTool]:
        return [
            EngineTool(name=name, parameters=schema) for name, schema in LOOPLINE.items() if name not in self.without
        ]

    def run(self, name: str, arguments: dict[str, Any]) -> str:
        return str(getattr(self, f"do_{name}")(**arguments))

    def do_list(self, path: str = ".", depth: int = 2) -> str:
        found: list[str] = []
        top = self.root / path
        for folder, folders, files in os.walk(top):
            folders[:] = sorted(item for item in folders if item not in _SKIPPED)
            relative = Path(folder).relative_to(self.root)
            if len(relative.parts) >= depth:
                folders[:] = []
            found += [str(relative / item) for item in sorted(files)]
            found += [f"{relative / item}/" for item in folders]
        return "\n".join(sorted(found))

    def do_read(self, path: str, start: int = 1, end: int | None = None) -> str:
        file = self.root / path
        if not file.is_file():
            return f"no such file: {path}"
        lines = file.read_text(encoding="utf-8").splitlines()
        last = min(end or len(lines), start + self.read_lines - 1, len(lines))
        body = "\n".join(f"{number}\t{lines[number - 1]}" for number in range(start, last + 1))
        return f"{path} lines {start}-{last} of {len(lines)}\n{body}"

    def do_search(self, pattern: str, path: str = ".", glob: str = "*") -> str:
        found: list[str] = []
        for file in sorted((self.root / path).rglob("*")):
            if file.is_file() and fnmatch.fnmatch(file.name, glob) and not _SKIPPED & set(file.parts):
                for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
                    if re.search(pattern, line):
                        found.append(f"{file.relative_to(self.root)}:{number}:{line}")
        return "\n".join([*found, f"{len(found)} matches"])

    def do_edit(self, path: str, old: str, new: str) -> str:
        file = self.root / path
        text = file.read_text(encoding="utf-8")
        if text.count(old) != 1:
            return f"matches {text.count(old)} times" if old in text else "not found"
        file.write_text(text.replace(old, new), encoding="utf-8")
        return f"edited {path} (+1 -1)"

    def do_shell(self, command: str, timeout_s: float = 60) -> str:
        status, output = run_shell(command, self.root, timeout_s)
        return f"{output}\n" + (f"timed out after {timeout_s} s" if status is None else f"exit code: {status}")

    def do_checks(self, target: str | None = None) -> str:
        words = [sys.executable, "-m", "pytest"] if self.runner == "pytest" else [sys.executable, "-m", "unittest"]
        shown = [*words, "-q", "-p", "no:cacheprovider"] if self.runner == "pytest" else [*words, "discover"]
        if target is not None:
            shown = [*shown, target] if self.runner == "pytest" else [*words, target]
        started = time.monotonic()
        status, output = run_shell(shlex.join(shown), self.root, 20)
        facts = {word: int(number) for number, word in re.findall(r"(\d+) (failed|passed|error)", output)}
        if self.runner == "unittest":
            ran = re.search(r"^Ran (\d+) test", output, re.MULTILINE)
            bad = sum(int(number) for number in re.findall(r"(?:failures|errors)=(\d+)", output))
            facts = {"failed": bad, "passed": int(ran[1]) - bad if ran else 0}
        word = {0: "passed", 5: "none", None: "error"}.get(status, "failed")
        head = (
            f"checks: status={word} failed={facts.get('failed', 0)} passed={facts.get('passed', 0)} "
            f"errors={facts.get('error', 0)} skipped=0 duration_s={time.monotonic() - started:.2f} "
            f"runner={self.runner} command={shlex.join(shown)}"
        )
        return f"{head}\n{output[-OUTPUT_CAP:]}"


@dataclass
class CodexTools:
    """Codex's shell tool with the frame that it puts around outputs."""

    root: Path

    @property
    def specs(self) -> list[EngineTool]:
        texts = {"exec_command": "Runs a command in a PTY.", "write_stdin": "Writes to a running command."}
        return [EngineTool(name=name, parameters=schema, description=texts[name]) for name, schema in CODEX.items()]

    def run(self, name: str, arguments: dict[str, Any]) -> str:
        assert name == "exec_command"
        status, output = run_shell(arguments["cmd"], self.root, arguments["yield_time_ms"] / 1000)
        state = "Process running with session ID 1000" if status is None else f"Process exited with code {status}"
        head = f"Chunk ID: 3f2a1c\nWall time: 0.8123 seconds\n{state}\nOriginal token count: {len(output) // 4}\n"
        return f"{head}Output:\n{output}"


def run_shell(command: str, folder: Path, timeout_s: float) -> tuple[int | None, str]:
    """Exit status (None: killed for time) and output, head and tail kept."""
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
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


async def one_reply(request: EngineRequest, limits: Limits | None = None) -> tuple[str, list[tuple[str, str]]]:
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
    limits: Limits | None = None,
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
            output = tools.run(name, json.loads(arguments))
            played.calls.append((name, json.loads(arguments), output))
            played.items.append(FunctionCallOutput(call_id=f"call_{played.replies}_{number}", output=output))
        watch(played)
        if not calls:
            break
    played.seconds = time.monotonic() - started
    return played
