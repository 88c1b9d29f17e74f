"""The tool `checks`: finds and runs the project's tests and linters, and gives counts, failures and findings."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from agent_core import launch
from agent_core.errors import ToolError
from agent_core.tools import schema
from agent_core.tools.background import off_loop
from agent_core.tools.checks.linters import LINTERS, configured
from agent_core.tools.checks.linting import Lint, Linters
from agent_core.tools.checks.reports import Report, npm_report, pytest_report, unittest_report
from agent_core.tools.checks.runners import (
    Project,
    RunnerName,
    choose,
    look_at,
    names_begin_in,
    node_id,
    pytest_arguments,
    source_folder,
    unittest_arguments,
)
from agent_core.tools.commands.environment import ANOTHER_PYTHON, Interpreter, find_interpreter
from agent_core.tools.commands.processes import Processes
from agent_core.tools.commands.running import Command, Outcome
from agent_core.tools.commands.scratch import Scratch
from agent_core.tools.port import ToolContext, ToolResult, ToolSpec
from agent_core.tools.workspace.workspace import Workspace

TIMEOUT_S = 600.0
PROBE_TIMEOUT_S = 20.0
LOOK_LIMIT_S = 10.0
MAX_REPORT_BYTES = 16_000_000
JUNIT = "junit.xml"

_HAS_PYTEST = "import importlib.util, sys; sys.exit(0 if importlib.util.find_spec('pytest') else 1)"


class _Plan(msgspec.Struct, frozen=True):
    """What to run: `argv` as executed, `shown` as people would type it. `folder` is where unittest's names begin."""

    runner: RunnerName
    argv: tuple[str, ...]
    shown: str
    folder: str = ""
    environment: Mapping[str, str] = msgspec.field(default_factory=dict)


class ChecksTool:
    """`checks`: first a line `checks: status=… failed=… …`, then the runner's output, then what linters found.

    The first line is about tests. Linters that the project configures run where no target is given, and say their part
    in lines `lint: <tool> status=… findings=… …`; a linter's name as target runs that alone, and the first line is then
    about it. `data`: `status`, `runner`, `command`, `duration_s`, `failed`, `passed`, `errors`, `skipped` (None where
    the runner did not tell), `failures`, a list of {id, file, line, message}, and `lint`, a list of {tool, status,
    command, count, findings: [{file, line, column, code, message}]}.
    """

    spec = ToolSpec(
        name="checks",
        description="Find and run the project's tests and linters; target: a test file, folder, test id, or a linter.",
        parameters=schema.parameters({}, {"target": schema.STRING}),
        kind="command",
    )

    def __init__(
        self,
        workspace: Workspace,
        environment: Mapping[str, str],
        processes: Processes,
        *,
        python: str | None,
        use_venv: bool,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._workspace = workspace
        self._environment = environment
        self._processes = processes
        self._python = python
        self._use_venv = use_venv
        self._timeout_s = timeout_s
        self._has_pytest: dict[str, bool] = {}
        self._linters = Linters(environment, processes, self._interpreter)

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        target: str | None = arguments.get("target") or None
        root = self._workspace.root
        linter = next((name for name in LINTERS if name == target and not (root / name).exists()), None)
        if linter is not None:
            return _lint_result((await self._linters.run(root, [linter], context.progress))[0])
        if target is None:
            tests = await self._tests(root, None, context)
            return _with_lint(tests, await self._linters.run(root, configured(root), context.progress))
        return await self._tests(root, target, context)

    async def _tests(self, root: Path, target: str | None, context: ToolContext) -> ToolResult:
        if target is not None:
            root, target = self._locate(target)
        project = await off_loop(lambda job: look_at(root, target, job.tick), LOOK_LIMIT_S)
        with self._processes.scratch() as scratch:
            try:
                plan = await self._plan(root, project, target, f"{scratch.there}/{JUNIT}")
            except ToolError as error:
                return _no_runner(error)
            if plan is None:
                return _no_tests()
            outcome = await self._processes.run(
                Command(
                    argv=plan.argv,
                    cwd=str(root),
                    environment={**self._environment, **plan.environment},
                    timeout_s=self._timeout_s,
                ),
                context.progress,
            )
            report = _report(plan, outcome, scratch, root)
        return _result(plan, outcome, report, self._timeout_s)

    def _interpreter(self, root: Path) -> str | None:
        try:
            return find_interpreter(
                root, setting=self._python, environment=self._environment, use_venv=self._use_venv
            ).path
        except ToolError:
            return None

    def _locate(self, target: str) -> tuple[Path, str]:
        """The root that a target lies in, and the target relative to it. Dotted names belong to the first root."""
        path, colons, names = target.partition("::")
        at = self._workspace.resolve(path)
        if self._workspace.kind(at) is not None:
            return Path(at.root), (at.relative or ".") + colons + names
        if "/" in path or path.endswith(".py"):
            raise ToolError(f"{at.shown}: no such file or folder", code="not_found")
        if path.startswith("-"):
            raise ToolError("a target is a path or a test id, not an option", code="bad_arguments")
        return self._workspace.root, target

    async def _plan(self, root: Path, project: Project, target: str | None, junit: str) -> _Plan | None:
        interpreter: Interpreter | None = None
        has_pytest = False
        if project.test_files or project.pytest_configured:
            interpreter = find_interpreter(
                root, setting=self._python, environment=self._environment, use_venv=self._use_venv
            )
            if project.pytest_configured or project.plain_tests or not project.unittest_tests:
                has_pytest = await self._interpreter_has_pytest(interpreter.path, root)
        try:
            runner = choose(project, has_pytest=has_pytest)
        except ToolError as error:
            which = f"{error.message}: {interpreter.shown}; {ANOTHER_PYTHON}" if interpreter else error.message
            raise ToolError(which, code=error.code) from error
        if runner == "npm":
            return self._npm(target)
        if runner is None or interpreter is None:
            return None
        if runner == "pytest":
            arguments = pytest_arguments(node_id(root, "", target) if target else None, junit)
            shown = ["python", "-m", "pytest", *arguments[-1:]] if target else ["python", "-m", "pytest"]
        else:
            return self._unittest(root, interpreter.path, unittest_arguments(root, project, target))
        return _Plan(runner, (interpreter.path, *arguments), shlex.join(shown))

    def _unittest(self, root: Path, python: str, arguments: list[str]) -> _Plan:
        source = source_folder(root)
        path = os.pathsep.join(filter(None, (source, self._environment.get("PYTHONPATH"))))
        shown = shlex.join(["python", *arguments])
        return _Plan(
            "unittest",
            (python, *arguments),
            f"PYTHONPATH={source} {shown}" if source else shown,
            names_begin_in(arguments),
            {"PYTHONPATH": path} if source else {},
        )

    def _npm(self, target: str | None) -> _Plan:
        npm = launch.find_program("npm", self._environment)
        if npm is None:
            raise ToolError("the tests run by npm, which is not on PATH", code="no_runner")
        extra = ["--", target] if target else []
        return _Plan("npm", (npm, "test", "--silent", *extra), shlex.join(["npm", "test", *extra]))

    async def _interpreter_has_pytest(self, path: str, root: Path) -> bool:
        if path not in self._has_pytest:
            outcome = await self._processes.run(
                Command(
                    argv=(path, "-c", _HAS_PYTEST),
                    cwd=str(root),
                    environment=self._environment,
                    timeout_s=PROBE_TIMEOUT_S,
                )
            )
            self._has_pytest[path] = outcome.exit_code == 0
        return self._has_pytest[path]


def _report(plan: _Plan, outcome: Outcome, scratch: Scratch, root: Path) -> Report:
    if outcome.stopped_by:
        return Report(status="error")
    if plan.runner == "npm":
        return npm_report(outcome.output, outcome.exit_code, str(root))
    if plan.runner == "unittest":
        report = unittest_report(outcome.output, str(root))
        named = (msgspec.structs.replace(item, id=node_id(root, plan.folder, item.id)) for item in report.failures)
        return msgspec.structs.replace(report, failures=tuple(named))
    return pytest_report(scratch.read(JUNIT, MAX_REPORT_BYTES), outcome.exit_code, str(root))


def _nothing_ran(status: str) -> str:
    return f"checks: status={status} failed=0 passed=0 errors=0 skipped=0 duration_s=0.00 runner=none command=none"


def _no_runner(error: ToolError) -> ToolResult:
    return ToolResult(
        output=f"{_nothing_ran('error')}\n{error.message}",
        status="error",
        summary=error.message,
        data={"status": "error", "code": error.code, "runner": None, "command": None, "failures": []},
    )


def _no_tests() -> ToolResult:
    looked_for = "test_*.py or *_test.py, pytest settings, a test script in package.json"
    return ToolResult(
        output=f"{_nothing_ran('none')}\nno tests found; looked for {looked_for}",
        summary="no tests found",
        data={"status": "none", "runner": None, "command": None, "failures": []},
    )


def _result(plan: _Plan, outcome: Outcome, report: Report, timeout_s: float) -> ToolResult:
    counts = {
        "failed": report.failed,
        "passed": report.passed,
        "errors": report.errors,
        "skipped": report.skipped,
    }
    shown = " ".join(f"{name}={'?' if count is None else count}" for name, count in counts.items())
    ran = f"duration_s={outcome.duration_s:.2f} runner={plan.runner} command={plan.shown}"
    lines = [f"checks: status={report.status} {shown} {ran}", outcome.output]
    if outcome.stopped_by == "time":
        lines.append(f"timed out after {timeout_s:g} s")
    elif outcome.stopped_by:
        lines.append("stopped: too much output")
    return ToolResult(
        output="\n".join(line for line in lines if line),
        status="timeout" if outcome.stopped_by == "time" else "ok",
        summary=_summary(report),
        data={
            "status": report.status,
            "runner": plan.runner,
            "command": plan.shown,
            "exit_code": outcome.exit_code,
            "duration_s": round(outcome.duration_s, 3),
            **counts,
            "failures": [msgspec.to_builtins(failure) for failure in report.failures],
        },
    )


def _with_lint(tests: ToolResult, lint: Sequence[Lint]) -> ToolResult:
    """The result of tests with that of linters behind it; its status stays that of the tests."""
    if not lint:
        return tests
    found = sum(one.count for one in lint)
    return msgspec.structs.replace(
        tests,
        output="\n".join([tests.output, *(one.text() for one in lint)]),
        summary=f"{tests.summary}, {found} lint findings" if found else tests.summary,
        data={**tests.data, "lint": [_lint_data(one) for one in lint]},
    )


def _lint_result(lint: Lint) -> ToolResult:
    """The result of a linter that was asked for by its name."""
    status = "error" if lint.status == "absent" else lint.status
    counts = {"failed": lint.count, "passed": 0, "errors": int(status == "error"), "skipped": 0}
    numbers = " ".join(f"{name}={count}" for name, count in counts.items())
    ran = f"duration_s={lint.duration_s:.2f} runner={lint.tool} command={lint.command}"
    return ToolResult(
        output=f"checks: status={status} {numbers} {ran}\n{lint.text()}",
        summary="not installed here" if lint.status == "absent" else f"{lint.count} findings",
        data={"status": status, "runner": lint.tool, "command": lint.command, **counts,
              "duration_s": round(lint.duration_s, 3), "failures": [], "lint": [_lint_data(lint)]},
    )  # fmt: skip


def _lint_data(lint: Lint) -> dict[str, Any]:
    findings = [msgspec.to_builtins(finding) for finding in lint.findings]
    return {
        "tool": lint.tool,
        "status": lint.status,
        "command": lint.command,
        "count": lint.count,
        "findings": findings,
    }


def _summary(report: Report) -> str:
    if report.status == "none":
        return "no tests found"
    if report.failed is None or report.passed is None:
        return {"passed": "passed", "failed": "failed"}.get(report.status, "the test runner did not get through")
    parts = [f"{report.failed} failed"] if report.failed else []
    parts += [f"{report.errors} errors"] if report.errors else []
    return ", ".join([*parts, f"{report.passed} passed"])
