"""Which test runner a project uses and how it is called. Looks at files only; runs nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from agent_core.errors import FileRefused, ToolError
from agent_core.tools.workspace.text import decode
from agent_core.tools.workspace.walk import walk
from agent_core.untrusted_files import parse_toml, read_start

RunnerName = Literal["pytest", "unittest", "npm"]

MAX_TEST_FILES = 200
MAX_LOOKED_AT = 20_000
_PEEK_BYTES = 200_000

_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")
_UNITTEST = re.compile(r"^\s*(?:import unittest|from unittest\b)", re.MULTILINE)
_PLAIN_TEST = re.compile(r"^(?:async )?def test\w*\(|^\s*(?:import pytest|from pytest\b)", re.MULTILINE)
_NPM_DEFAULT = "no test specified"


class Project(msgspec.Struct, frozen=True):
    """What a look at the files tells.

    `pytest_configured`: a pytest section or conftest.py. `plain_tests`: test functions that only pytest runs.
    `test_files` are relative paths; `npm_script`: package.json has a test script of its own.
    """

    pytest_configured: bool
    plain_tests: bool
    unittest_tests: bool
    test_files: tuple[str, ...]
    npm_script: bool


def look_at(root: Path, target: str | None = None, tick: Callable[[], None] = lambda: None) -> Project:
    """Look at configuration and test files, a bounded number of them. A file that is the target counts as one."""
    test_files: list[str] = []
    named = target.partition("::")[0] if target else ""
    if named.endswith(".py") and (root / named).is_file():
        test_files.append(named)
    conftest = False
    for count, entry in enumerate(walk(str(root), "", tick=tick)):
        if count > MAX_LOOKED_AT or len(test_files) >= MAX_TEST_FILES:
            break
        if entry.is_folder or entry.is_link:
            continue
        if entry.relative.endswith("conftest.py"):
            conftest = True
        elif _TEST_FILE.search(entry.relative) and entry.relative != named:
            test_files.append(entry.relative)
    texts = [peek(root, name) for name in test_files]
    return Project(
        pytest_configured=conftest or _pytest_section(root),
        plain_tests=any(_PLAIN_TEST.search(text) for text in texts),
        unittest_tests=any(_UNITTEST.search(text) for text in texts),
        test_files=tuple(test_files),
        npm_script=_npm_script(root),
    )


def choose(project: Project, *, has_pytest: bool) -> RunnerName | None:
    """None: there are no tests. Raises ToolError `no_runner` if the tests need what the interpreter lacks."""
    wants_pytest = project.pytest_configured or project.plain_tests
    if project.test_files or project.pytest_configured:
        if wants_pytest and has_pytest:
            return "pytest"
        if project.unittest_tests:
            return "unittest"
        if wants_pytest and project.test_files:
            raise ToolError("the tests need pytest, which the workspace's Python does not have", code="no_runner")
        if project.test_files:
            return "pytest" if has_pytest else "unittest"
    return "npm" if project.npm_script else None


def pytest_arguments(target: str | None, junit_file: str) -> list[str]:
    """For `python`. The report and pytest's cache go beside `junit_file`, so that the workspace stays as it is."""
    arguments = ["-m", "pytest", "--tb=native", "-q", "--color=no", "-o", f"cache_dir={Path(junit_file).parent}/cache"]
    arguments += ["-o", "junit_family=xunit1", f"--junitxml={junit_file}"]
    return [*arguments, target] if target else arguments


def unittest_arguments(root: Path, project: Project, target: str | None) -> list[str]:
    """For `python`: discovery from the folder of the tests, or one module, class or test by its dotted name."""
    if target is None:
        folder = _discovery_folder(project.test_files)
        return ["-m", "unittest", "discover", "-v", *_start(root, folder), "-p", _pattern(project.test_files)]
    path, *names = node_id(root, "", target).split("::")
    if (root / path).is_dir():
        return ["-m", "unittest", "discover", "-v", *_start(root, path.strip("/") or ".")]
    if not path.endswith(".py"):
        return ["-m", "unittest", "-v", ".".join([path, *names])]
    folder, _, file = path.rpartition("/")
    if folder and _is_package(root, folder):
        return ["-m", "unittest", "-v", ".".join([path.removesuffix(".py").replace("/", "."), *names])]
    # Modules beside each other import each other by bare names: only discovery puts their folder on the path.
    chosen = ["-k", "*." + ".".join([*names, *(["*"] if len(names) == 1 else [])])] if names else []
    return ["-m", "unittest", "discover", "-v", *_start(root, folder or "."), "-p", file, *chosen]


def source_folder(root: Path) -> str | None:
    """`src` where packages lie below it, uninstalled: unittest finds them only with that on the path."""
    src = root / "src"
    return "src" if src.is_dir() and not (src / "__init__.py").exists() else None


def names_begin_in(arguments: list[str]) -> str:
    """The folder that the dotted names of these unittest arguments are relative to; "" for the root."""
    if "-s" not in arguments or "-t" in arguments:
        return ""
    folder = arguments[arguments.index("-s") + 1]
    return "" if folder == "." else folder


def node_id(root: Path, folder: str, dotted: str) -> str:
    """A dotted unittest name as `path::Class::test`, which `checks` and pytest take; what is none stays as it is."""
    if "::" in dotted or "/" in dotted or dotted.endswith(".py") or (root / dotted).exists():
        return dotted
    name, space, rest = dotted.partition(" ")
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        file = "/".join([*([folder] if folder else []), *parts[:size]]) + ".py"
        if (root / file).is_file():
            return "::".join([file, *parts[size:]]) + space + rest
    return dotted


def _start(root: Path, folder: str) -> list[str]:
    """Where discovery starts; from the top where the folder is a package, so that its imports work."""
    if folder in ("", "."):
        return ["-s", "."]
    return ["-s", folder, "-t", "."] if _is_package(root, folder) else ["-s", folder]


def _is_package(root: Path, folder: str) -> bool:
    parts = folder.split("/") if folder else []
    return all((root.joinpath(*parts[: size + 1]) / "__init__.py").is_file() for size in range(len(parts)))


def _discovery_folder(test_files: tuple[str, ...]) -> str:
    """The deepest folder that holds all test files."""
    folders = [file.split("/")[:-1] for file in test_files]
    common: list[str] = []
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return "/".join(common) or "."


def _pattern(test_files: tuple[str, ...]) -> str:
    names = [file.rpartition("/")[2] for file in test_files]
    return "test*.py" if any(name.startswith("test") for name in names) else "*_test.py"


def _pytest_section(root: Path) -> bool:
    if (root / "pytest.ini").is_file() or (root / ".pytest.ini").is_file():
        return True
    if re.search(r"^\[tool:pytest\]", peek(root, "setup.cfg"), re.MULTILINE):
        return True
    if re.search(r"^\[pytest\]", peek(root, "tox.ini"), re.MULTILINE):
        return True
    try:
        tools = parse_toml(peek(root, "pyproject.toml").encode("utf-8", "replace")).get("tool", {})
    except FileRefused:
        return False
    return isinstance(tools, dict) and "pytest" in tools


def _npm_script(root: Path) -> bool:
    try:
        scripts = json.loads(peek(root, "package.json") or "{}").get("scripts", {})
        script = scripts.get("test")
    except (ValueError, AttributeError, RecursionError):
        return False
    return isinstance(script, str) and bool(script.strip()) and _NPM_DEFAULT not in script


def peek(root: Path, name: str) -> str:
    """The start of a text file below `root`; "" if it is none."""
    data = read_start(root, name, _PEEK_BYTES)
    decoded = decode(data) if data is not None else None
    return decoded[0] if decoded else ""
