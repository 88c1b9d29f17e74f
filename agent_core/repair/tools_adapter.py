"""From abstract actions to the client's tools and back. Pure.

Two kinds of clients are known: one with Loopline's own tools, and one with nothing but a shell tool (Codex's
`exec_command`, or any function tool that takes one command string). A tool set may also lack commands altogether.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent_core.repair import bare_shell
from agent_core.repair.actions import (
    Action,
    Edited,
    EditFile,
    FileText,
    Hits,
    ListFiles,
    Listing,
    Observation,
    ReadFile,
    Refused,
    RunScript,
    RunTests,
    Search,
    TestRun,
)
from agent_core.repair.failures import count

_COMMAND_NAMES = ("command", "cmd", "script", "code")
_LIMITS = {"timeout_s": 1, "timeout": 1000, "timeout_ms": 1000, "yield_time_ms": 1000}
"""Arguments of shell tools that limit the time, with how many of their units make a second."""
_SHELL_ONLY = ("exec_command", "shell", "shell_command", "bash", "run_command", "terminal", "execute", "run")


class OfferedTool(Protocol):
    """A tool of the client. `kind`: "function" or "custom" (free-form). `parameters`: JSON Schema of a function's
    arguments, None for a free-form tool.
    """

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def namespace(self) -> str | None: ...
    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> dict[str, Any] | None: ...


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call as the client's tool wants it."""

    name: str
    namespace: str | None
    arguments: dict[str, Any]

    @property
    def text(self) -> str:
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Toolset:
    """What of the client's tools is of use."""

    by_role: Mapping[str, OfferedTool]
    """list, read, search, edit, checks, shell: only those that are there."""
    command: str = "command"
    """Name of the shell tool's argument for the command."""

    @property
    def can_command(self) -> bool:
        return "shell" in self.by_role

    @property
    def can_work(self) -> bool:
        """Whether tests can be run, files be read and edited, by whatever way."""
        return self.can_command or all(role in self.by_role for role in ("read", "edit", "checks"))

    def can(self, action: Action) -> bool:
        return (
            _role(action) in self.by_role
            or (self.can_command and not isinstance(action, RunScript))
            or self.can_command
        )

    def call(self, action: Action) -> ToolCall:
        """The call for an action. Raises KeyError where `can` says no."""
        role = _role(action)
        tool = self.by_role.get(role) if role != "shell" else None
        if tool is not None:
            return ToolCall(tool.name, tool.namespace, _own_arguments(action))
        shell = self.by_role["shell"]
        command, limit_s = bare_shell.command(action)
        arguments: dict[str, Any] = {self.command: command}
        properties = (shell.parameters or {}).get("properties", {})
        for name, unit in _LIMITS.items():
            if name in properties:
                arguments[name] = limit_s * unit
        if "max_output_tokens" in properties:
            arguments["max_output_tokens"] = 20_000
        return ToolCall(shell.name, shell.namespace, arguments)

    def edit_of(self, name: str, arguments: str) -> EditFile | None:
        """The edit that a call of these tools made, if it was one."""
        try:
            value = json.loads(arguments)
        except ValueError:
            return None
        if "edit" in self.by_role:
            if name != self.by_role["edit"].name or not isinstance(value, dict):
                return None
            fields = [item for key in ("path", "old", "new") if isinstance(item := value.get(key), str)]
            return EditFile(*fields) if len(fields) == 3 else None
        shell = self.by_role.get("shell")
        is_shell = shell is not None and name == shell.name and isinstance(value, dict)
        return bare_shell.edit_of(str(value.get(self.command))) if is_shell else None

    def observe(self, action: Action, output: str) -> Observation:
        """What the output of the action's call says."""
        role = _role(action)
        if role in self.by_role and role != "shell":
            return _own_observation(action, output)
        return bare_shell.observation(action, output)


def find_tools(tools: Sequence[OfferedTool]) -> Toolset:
    """Recognises tools by name and schema; what is not understood is left alone."""
    wanted = {
        "list": (("path", "depth"), ()),
        "read": (("path", "start", "end"), ("path",)),
        "search": (("pattern", "path", "glob"), ("pattern",)),
        "edit": (("path", "old", "new"), ("path", "old", "new")),
        "checks": (("target",), ()),
    }
    found: dict[str, OfferedTool] = {}
    for tool in tools:
        properties = _properties(tool)
        if tool.name in wanted and tool.kind == "function":
            known, needed = wanted[tool.name]
            if set(needed) <= set(properties) and _required(tool) <= set(known):
                found[tool.name] = tool
    command = "command"
    for tool in sorted(tools, key=lambda item: item.name not in _SHELL_ONLY):
        name = _command_argument(tool)
        if name is not None:
            found["shell"], command = tool, name
            break
    return Toolset(found, command)


def _properties(tool: OfferedTool) -> Mapping[str, Any]:
    properties = (tool.parameters or {}).get("properties", {})
    return properties if isinstance(properties, Mapping) else {}


def _required(tool: OfferedTool) -> set[str]:
    required = (tool.parameters or {}).get("required", [])
    return set(required) if isinstance(required, list) else set()


def _command_argument(tool: OfferedTool) -> str | None:
    """The name of the command argument, if this is a shell tool: a string, and nothing else is required."""
    if tool.kind != "function":
        return None
    for name in _COMMAND_NAMES:
        schema = _properties(tool).get(name)
        strict = set(_properties(tool)) == _required(tool)  # strict schemas require every argument
        if isinstance(schema, Mapping) and schema.get("type") == "string" and (_required(tool) <= {name} or strict):
            known = tool.name in _SHELL_ONLY or re.search(
                r"shell|bash|command|terminal", tool.description, re.IGNORECASE
            )
            return name if known else None
    return None


def _role(action: Action) -> str:
    roles: dict[type[Any], str] = {
        ListFiles: "list", ReadFile: "read", Search: "search", EditFile: "edit", RunTests: "checks", RunScript: "shell",
    }  # fmt: skip
    return roles[type(action)]


def _own_arguments(action: Action) -> dict[str, Any]:
    match action:
        case ListFiles(path, depth):
            return {"path": path or ".", "depth": depth}
        case ReadFile(path, start, end):
            return (
                {"path": path, "start": start} | ({} if end is None else {"end": end})
                if start > 1 or end
                else {"path": path}
            )
        case Search(pattern, glob):
            return {"pattern": pattern, "glob": glob}
        case EditFile(path, old, new):
            return {"path": path, "old": old, "new": new}
        case RunTests(target):
            return {} if target is None else {"target": target}
        case _:
            raise TypeError(f"no own tool for {action!r}")


_CUT_LINE = re.compile(r" \[\+\d+ characters\]$")
_READ_HEAD = re.compile(r"^(.*) lines (\d+)-(\d+) of (\d+)\b")
_CHECKS_HEAD = re.compile(r"^checks: (.*)$", re.MULTILINE)


def _own_observation(action: Action, output: str) -> Observation:
    match action:
        case ListFiles():
            return Listing(tuple(line for line in output.splitlines() if line.strip()))
        case ReadFile(path):
            return read_numbered(path, output)
        case Search():
            return Hits(tuple(_hits(output)))
        case EditFile(path):
            return Edited(path) if output.startswith("edited ") else Refused(_shortened(output))
        case RunTests():
            return read_checks(output)
        case _:
            raise TypeError(f"no own tool for {action!r}")


def read_numbered(path: str, output: str) -> Observation:
    """A file in the form `<path> lines <a>-<b> of <n>`, then `<number>\\t<text>` per line."""
    head, _, rest = output.partition("\n")
    facts = _READ_HEAD.match(head)
    if facts is None:
        return Refused(_shortened(output))
    first, total = int(facts[2]), int(facts[4])
    numbered = [line.partition("\t") for line in rest.split("\n")]
    texts: list[str] = []
    for number, tab, text in numbered:
        if not tab or not number.strip().isdigit() or int(number) != first + len(texts):
            break
        if _CUT_LINE.search(text):
            return Refused(f"line {number} of {path} is too long to be shown whole")
        texts.append(text)
    return FileText(path, first, first + len(texts) - 1, total, "\n".join(texts))


def read_checks(output: str) -> Observation:
    """A test run in the form `checks: status=… failed=… … command=…`, then the runner's output."""
    head = _CHECKS_HEAD.search(output)
    if head is None:
        return Refused(_shortened(output))
    before, _, command = head[1].partition("command=")
    facts = dict(word.split("=", 1) for word in shlex.split(before) if "=" in word)

    def number(name: str) -> int:
        return int(facts[name]) if facts.get(name, "").isdigit() else 0

    status, failed = facts.get("status", "error"), number("failed") + number("errors")
    passed = number("passed") if facts.get("passed", "").isdigit() else None
    told = count(output[head.end() :]) if status == "error" and passed is None else None
    if told is not None:  # the client could not read the runner's report, but the runner did get through
        failed, passed = told
        status = "failed" if failed else "passed"

    return TestRun(status, failed, passed, facts.get("runner", ""), command.strip(), output[head.end() :].lstrip("\n"))


def _hits(output: str) -> list[tuple[str, int, str]]:
    found = [re.match(r"^(\S[^:]*):(\d+):(.*)$", line) for line in output.splitlines()]
    return [(hit[1], int(hit[2]), hit[3]) for hit in found if hit]


def _shortened(output: str) -> str:
    lines = [line.strip() for line in output.strip().splitlines() if line.strip()]
    return lines[0][:300] if lines else "no output"
