"""The tool `shell`: one command in the workspace, through the system's shell."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from agent_core import launch
from agent_core.tools import schema
from agent_core.tools.commands.handles import Handles
from agent_core.tools.commands.output import MAX_OUTPUT_BYTES
from agent_core.tools.commands.processes import Processes
from agent_core.tools.commands.running import MAX_TOTAL_BYTES, Command, Outcome
from agent_core.tools.outputs import MAX_KEPT_CHARACTERS
from agent_core.tools.port import ResultStatus, ToolContext, ToolResult, ToolSpec
from agent_core.tools.workspace.workspace import Workspace

DEFAULT_TIMEOUT_S = 120
MAX_TIMEOUT_S = 3600


_COMMAND = {"command": schema.STRING}
_LIMIT = {"timeout_s": schema.integer(1, MAX_TIMEOUT_S, f"default {DEFAULT_TIMEOUT_S}")}


class ShellTool:
    """`shell`: the output, then `exit code: N` or `timed out after N s`. `data.exit_code` None: a limit ended it.

    With `handles`, a command may go on in the background: the output is then `started <id>`.
    """

    spec = ToolSpec(
        name="shell",
        description="Run a shell command in the workspace. No input; all its processes end with it.",
        parameters=schema.parameters(_COMMAND, _LIMIT),
        kind="command",
    )

    def __init__(
        self,
        workspace: Workspace,
        environment: Mapping[str, str],
        processes: Processes,
        handles: Handles | None = None,
    ) -> None:
        self._workspace = workspace
        self._environment = environment
        self._processes = processes
        self._handles = handles
        if handles is not None:
            background = {"background": {"type": "boolean", "description": "go on without waiting; see process"}}
            parameters = schema.parameters(_COMMAND, {**_LIMIT, **background})
            self.spec = msgspec.structs.replace(self.spec, parameters=parameters)

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        background = self._handles if arguments.get("background") else None
        timeout_s: int = arguments.get("timeout_s", DEFAULT_TIMEOUT_S)
        command = Command(
            argv=(shell_program(), "-c", arguments["command"]),
            cwd=str(self._workspace.root),
            environment=self._environment,
            timeout_s=arguments.get("timeout_s") if background else timeout_s,
            keep_stdin=background is not None,
            max_output_bytes=MAX_OUTPUT_BYTES if background else MAX_KEPT_CHARACTERS,
        )
        if background is not None:
            return background.start(command, arguments["command"])
        return _result(await self._processes.run(command, context.progress), timeout_s)


def shell_program() -> str:
    return launch.find_program("bash", {"PATH": os.defpath}) or "/bin/sh"


def _result(outcome: Outcome, timeout_s: int) -> ToolResult:
    lines = [outcome.output] if outcome.output else []
    if outcome.ended:
        lines.append(f"[ended with the command: {'; '.join(outcome.ended[:10])}]")
    if outcome.survivors:
        lines.append(f"[could not be ended: processes {', '.join(map(str, outcome.survivors))}]")
    lines += [f"[{line}]" for line in outcome.told]
    last, status = _verdict(outcome, timeout_s)
    lines.append(last)
    return ToolResult(
        output="\n".join(lines),
        status=status,
        summary=last,
        data={
            "exit_code": outcome.exit_code,
            "duration_s": round(outcome.duration_s, 3),
            "output_bytes": outcome.total_bytes,
        },
    )


def _verdict(outcome: Outcome, timeout_s: int) -> tuple[str, ResultStatus]:
    if outcome.stopped_by == "time":
        return f"timed out after {timeout_s} s", "timeout"
    if outcome.stopped_by:
        return f"stopped: more than {MAX_TOTAL_BYTES // 1_000_000} MB of output", "error"
    return f"exit code: {outcome.exit_code}", "ok"
