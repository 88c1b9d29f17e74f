"""Which runner a project's tests need and with what arguments; the order in which its tests are run first."""

# Sent as text to interpreters that may be older: short beats modern.
# ruff: noqa: PTH110, PTH113, PTH118, PTH119, PTH120, PTH123, PTH202, PTH204, PTH206

from __future__ import annotations

import importlib.util
import json
import os
import re
from typing import Any

SKIPPED = {".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".nox", ".cache"}
MAX_FILES = 20000
JUST_CHANGED_S = 60
"""How much newer than most files one is that is taken for work in progress."""
MAX_TELLING = 3
"""Test files of the first look."""
QUICK_BYTES = 60000
"""Test files of so many bytes together are loaded in no time."""
_PLAIN = r"(?m)^(?:async )?def test\w*\(|^\s*(?:import pytest|from pytest\b)"
_UNITTEST = r"(?m)^\s*(?:import unittest|from unittest\b)"


def text_of(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(200000)
    except OSError:
        return ""


def python_files() -> list[str]:
    """Relative paths of the project's Python files, a bounded number."""
    found: list[str] = []
    for folder, folders, names in os.walk("."):
        folders[:] = sorted(
            name
            for name in folders
            if name not in SKIPPED and not os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))
        )
        found += [os.path.relpath(os.path.join(folder, name)) for name in sorted(names) if name.endswith(".py")]
        if len(found) > MAX_FILES:
            break
    return found


def is_test(path: str) -> bool:
    name = os.path.basename(path)
    return name.startswith("test_") or name.endswith("_test.py")


def choose() -> tuple[str, list[str]]:
    """(pytest or unittest, its arguments) for the tests below the working folder."""
    files = python_files()
    tests = [path for path in files if is_test(path)]
    texts = [text_of(path) for path in tests[:200]]
    configured = any(os.path.basename(path) == "conftest.py" for path in files) or _has_section()
    plain = configured or any(re.search(_PLAIN, text) for text in texts)
    of_unittest = any(re.search(_UNITTEST, text) for text in texts)
    if importlib.util.find_spec("pytest") is not None and (plain or not of_unittest):
        return "pytest", []
    folders = [os.path.dirname(path).split(os.sep) if os.path.dirname(path) else [] for path in tests] or [[]]
    common = os.path.commonprefix(folders)
    folder = os.path.join(*common) if common else "."
    parts = [os.path.join(*common[: size + 1]) for size in range(len(common))]
    whole = common and all(os.path.isfile(os.path.join(part, "__init__.py")) for part in parts)
    pattern = "test*.py" if any(os.path.basename(path).startswith("test") for path in tests) else "*_test.py"
    return "unittest", ["discover", "-s", folder, *(["-t", "."] if whole else []), "-p", pattern]


def _has_section() -> bool:
    found = os.path.isfile("pytest.ini") or os.path.isfile(".pytest.ini")
    wanted = {
        "setup.cfg": r"(?m)^\[tool:pytest\]",
        "tox.ini": r"(?m)^\[pytest\]",
        "pyproject.toml": r"(?m)^\[tool\.pytest",
    }
    return found or any(re.search(pattern, text_of(name)) for name, pattern in wanted.items())


class Order:
    """Which tests say most, by what the task names, what failed last and what was just changed."""

    def __init__(self, wanted: list[str], root: str) -> None:
        self.wanted = wanted
        self.failed = _failed_last(root)
        self.changed = _just_changed()
        self._uses: dict[str, bool] = {}

    def of_test(self, name: str, path: str) -> int:
        """0: named; 1: failed last; 2: uses what was just changed; 3: any other."""
        return 0 if is_named(name, path, self.wanted) else 1 if name in self.failed else 2 if self.uses(path) else 3

    def uses(self, path: str) -> bool:
        if path not in self._uses:
            words = set(re.findall(r"[a-zA-Z0-9]+", os.path.basename(path)))
            words |= set(re.findall(r"\w+", text_of(path))) if self.changed else set()
            self._uses[path] = bool(words & self.changed)
        return self._uses[path]

    def telling_files(self) -> list[str]:
        """The few test files to look at first; none where there is no sign, or where looking at all is no trouble."""
        tests = [path for path in python_files() if is_test(path)]
        if sum(os.path.getsize(path) for path in tests) < QUICK_BYTES:
            return []
        failed = {name.partition("::")[0] for name in self.failed}
        ranks = {path: 0 if is_named(path, path, self.wanted) else 1 if path in failed else 2 for path in tests}
        found = [path for path in tests if ranks[path] < 2 or self.uses(path)]
        found.sort(key=lambda path: (ranks[path], not self._is_of_changed(path), os.path.getsize(path)))
        return found[:MAX_TELLING]

    def _is_of_changed(self, path: str) -> bool:
        """`test_x.py` for a changed `x.py`."""
        return os.path.basename(path)[:-3].replace("test_", "").replace("_test", "") in self.changed


def is_named(name: str, path: str, wanted: list[str]) -> bool:
    """Whether a word is the test's id, file, class or function."""
    parts = {name, name.partition("[")[0], path, os.path.basename(path)}
    parts |= set(re.split(r"::|\.|\[", name)[1:]) - {"py"}
    return any(word in parts or ("/" in word and path.startswith(word.rstrip("/") + "/")) for word in wanted)


def _failed_last(root: str) -> set[str]:
    try:
        found: Any = json.loads(text_of(os.path.join(root, ".pytest_cache", "v", "cache", "lastfailed")))
    except ValueError:
        return set()
    return set(found) if isinstance(found, dict) else set()


def _just_changed() -> set[str]:
    """Names of modules whose files are newer than most."""
    times = {path: os.path.getmtime(path) for path in python_files() if not is_test(path)}
    usual = sorted(times.values())[len(times) // 2] if times else 0.0
    return {
        os.path.basename(path)[:-3]
        for path, time_s in times.items()
        if time_s > usual + JUST_CHANGED_S and os.path.basename(path) != "__init__.py"
    }
