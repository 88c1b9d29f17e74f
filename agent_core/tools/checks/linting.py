"""Runs the linters that a project configures, and puts what they found into words and figures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from agent_core import launch
from agent_core.errors import ToolError
from agent_core.tools.checks.linters import (
    MAX_FINDINGS,
    PYTHON_LINTERS,
    Finding,
    LinterName,
    arguments,
    read_report,
    shown,
)
from agent_core.tools.commands.processes import Processes
from agent_core.tools.commands.running import Command

LIMIT_S = 180.0
PROBE_S = 20.0
MAX_REPORT_BYTES = 16_000_000
MAX_SHOWN = 50

_HAS = "import importlib.util, sys; print(*(n for n in sys.argv[1:] if importlib.util.find_spec(n)))"


class Lint(msgspec.Struct, frozen=True, kw_only=True):
    """What one linter came to. `status` absent: it is configured, but not installed for this project."""

    tool: LinterName
    status: Literal["passed", "failed", "error", "absent"]
    command: str
    duration_s: float = 0.0
    count: int = 0
    findings: tuple[Finding, ...] = ()
    output: str = ""
    """What it printed where that is no report."""

    def text(self) -> str:
        """`lint: <tool> status=… findings=… …`, then a line for each finding, as `<file>:<line>:<column>: <code> …`."""
        head = f"lint: {self.tool} status={self.status} findings={self.count} duration_s={self.duration_s:.2f}"
        lines = [f"{head} command={self.command}", *map(str, self.findings[:MAX_SHOWN])]
        if self.count > MAX_SHOWN:
            lines.append(f"[{self.count - MAX_SHOWN} more]")
        if self.status == "error" and self.output:
            lines.append(self.output[-2_000:])
        return "\n".join(lines)


class Linters:
    """`python` gives the workspace's interpreter, None where there is none."""

    def __init__(
        self, environment: Mapping[str, str], processes: Processes, python: Callable[[Path], str | None]
    ) -> None:
        self._environment, self._processes, self._python = environment, processes, python

    async def run(self, root: Path, names: Sequence[LinterName], tell: Callable[[str], None]) -> list[Lint]:
        """All of them side by side."""
        python = self._python(root) if set(names) & set(PYTHON_LINTERS) else None
        modules = await self._modules(root, python) if python is not None else frozenset[str]()
        return list(await asyncio.gather(*(self._one(root, name, python, modules, tell) for name in names)))

    async def _one(
        self, root: Path, name: LinterName, python: str | None, modules: frozenset[str], tell: Callable[[str], None]
    ) -> Lint:
        program = self._program(root, name, python, modules)
        if program is None:
            return Lint(tool=name, status="absent", command=shown(name, root))
        with self._processes.scratch() as scratch:
            command = Command(
                argv=(*program, *arguments(name, root, f"{scratch.there}/report")),
                cwd=str(root),
                environment=self._environment,
                timeout_s=LIMIT_S,
            )
            try:
                outcome = await self._processes.run(command, tell)
            except ToolError as error:
                return Lint(tool=name, status="error", command=shown(name, root), output=error.message)
            report = scratch.read("report", MAX_REPORT_BYTES)
        found = read_report(name, report, outcome.output, str(root))
        done = outcome.exit_code == 0 or (outcome.exit_code == 1 and bool(found))
        if found is None or not done:
            return Lint(
                tool=name, status="error", command=shown(name, root), duration_s=outcome.duration_s,
                output=outcome.output or outcome.stopped_by,
            )  # fmt: skip
        return Lint(
            tool=name,
            status="failed" if found else "passed",
            command=shown(name, root),
            duration_s=outcome.duration_s,
            count=len(found),
            findings=tuple(found[:MAX_FINDINGS]),
        )

    def _program(
        self, root: Path, name: LinterName, python: str | None, modules: frozenset[str]
    ) -> tuple[str, ...] | None:
        """The project's own, else the one on PATH."""
        if name == "eslint":
            own = root / "node_modules" / ".bin" / "eslint"
            if own.is_file():
                return (str(own),)
        elif python is not None and name in modules:
            return (python, "-m", name)
        found = launch.find_program(name, self._environment)
        return (found,) if found is not None else None

    async def _modules(self, root: Path, python: str) -> frozenset[str]:
        """Which linters the interpreter has."""
        outcome = await self._processes.run(
            Command(
                argv=(python, "-c", _HAS, *PYTHON_LINTERS),
                cwd=str(root),
                environment=self._environment,
                timeout_s=PROBE_S,
            )
        )
        return frozenset(outcome.output.split()) if outcome.exit_code == 0 else frozenset()
