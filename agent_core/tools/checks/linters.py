"""Which linters a project configures, how they are called, and what their reports say. Looks at files; runs nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from agent_core.errors import FileRefused
from agent_core.tools.checks.runners import peek
from agent_core.untrusted_files import parse_toml

LinterName = Literal["ruff", "mypy", "eslint"]
LINTERS: tuple[LinterName, ...] = get_args(LinterName)
PYTHON_LINTERS: tuple[LinterName, ...] = ("ruff", "mypy")

MAX_FINDINGS = 500
"""Findings of one linter that are kept; all are counted."""

_MYPY_LINE = re.compile(r"^(.+?):(\d+):(?:(\d+):)? error: (.*?)(?:  \[([\w-]+)\])?$")
_ESLINT_FILES = (
    *(f"eslint.config.{end}" for end in ("js", "mjs", "cjs", "ts", "mts", "cts")),
    *(f".eslintrc{end}" for end in ("", ".js", ".cjs", ".json", ".yml", ".yaml")),
)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """`file` is relative to the root where it lies below it; `line` and `column` count from 1, 0: not told."""

    file: str
    line: int
    column: int
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.code} {self.message}".rstrip()


def configured(root: Path) -> tuple[LinterName, ...]:
    """The linters that the project has settings for."""
    tools = _pyproject_tools(root)
    setup = peek(root, "setup.cfg")
    found: dict[LinterName, bool] = {
        "ruff": "ruff" in tools or _has(root, "ruff.toml", ".ruff.toml"),
        "mypy": "mypy" in tools or _has(root, "mypy.ini", ".mypy.ini") or "\n[mypy]" in f"\n{setup}",
        "eslint": _has(root, *_ESLINT_FILES) or "eslintConfig" in _package(root),
    }
    return tuple(name for name in LINTERS if found[name])


def arguments(name: LinterName, root: Path, report: str) -> list[str]:
    """For the linter's program. Nothing is mended, and no cache is left in the workspace. `report`: the file for its
    findings; mypy prints them."""
    if name == "ruff":
        return ["check", "--no-fix", "--no-cache", "--quiet", "--output-format=json", f"--output-file={report}"]
    if name == "mypy":
        options = ["--cache-dir=/dev/null", "--no-color-output", "--no-error-summary", "--show-column-numbers"]
        return [*options, "--no-pretty", "--hide-error-context", *([] if _names_files(root) else ["."])]
    return ["--format=json", f"--output-file={report}", "."]


def shown(name: LinterName, root: Path) -> str:
    """The command as a person would type it."""
    if name == "ruff":
        return "ruff check"
    if name == "mypy":
        return "mypy" if _names_files(root) else "mypy ."
    return "eslint ."


def read_report(name: LinterName, report: bytes | None, printed: str, root: str) -> list[Finding] | None:
    """What a linter found; None where its report can't be read."""
    if name == "mypy":
        return _mypy(printed, root)
    try:
        entries = json.loads(report or b"")
        return _ruff(entries, root) if name == "ruff" else _eslint(entries, root)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _ruff(entries: Sequence[Mapping[str, Any]], root: str) -> list[Finding]:
    return [
        _finding(
            entry["filename"],
            entry["location"]["row"],
            entry["location"]["column"],
            entry["code"],
            entry["message"],
            root,
        )
        for entry in entries
    ]


def _eslint(entries: Sequence[Mapping[str, Any]], root: str) -> list[Finding]:
    return [
        _finding(entry["filePath"], found.get("line"), found.get("column"), found.get("ruleId"), found["message"], root)
        for entry in entries
        for found in entry["messages"]
    ]


def _mypy(printed: str, root: str) -> list[Finding]:
    found = (_MYPY_LINE.match(line) for line in printed.split("\n"))
    return [
        _finding(match[1], int(match[2]), int(match[3] or 0), match[5] or "error", match[4], root)
        for match in found
        if match is not None
    ]


def _finding(file: str, line: int | None, column: int | None, code: str | None, message: str, root: str) -> Finding:
    return Finding(
        file=file.removeprefix(root.rstrip("/") + "/"),
        line=int(line or 0),
        column=int(column or 0),
        code=code or "error",
        message=" ".join(str(message).split())[:300],
    )


def _has(root: Path, *names: str) -> bool:
    return any((root / name).is_file() for name in names)


def _pyproject_tools(root: Path) -> Mapping[str, Any]:
    try:
        tools = parse_toml(peek(root, "pyproject.toml").encode("utf-8", "replace")).get("tool", {})
    except FileRefused:
        return {}
    return tools if isinstance(tools, dict) else {}


def _package(root: Path) -> Mapping[str, Any]:
    try:
        package = json.loads(peek(root, "package.json") or "{}")
    except (ValueError, RecursionError):
        return {}
    return package if isinstance(package, dict) else {}


def _names_files(root: Path) -> bool:
    """Whether mypy's settings say what to look at."""
    section = _pyproject_tools(root).get("mypy", {})
    keys = {"files", "packages", "modules"}
    if isinstance(section, dict) and keys & set(section):
        return True
    texts = [peek(root, name) for name in ("mypy.ini", ".mypy.ini", "setup.cfg")]
    return any(re.search(r"^(?:files|packages|modules)\s*=", text, re.MULTILINE) for text in texts)
