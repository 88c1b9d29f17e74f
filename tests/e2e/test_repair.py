"""The repair engine through `loopline run`: what is fixed, and a tree as found after everything else."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.repair.corpus import snapshot
from tests.support.suite.leftovers import processes_of
from tests.support.system.cli import environment, loopline, started
from tests.support.system.processes import wait_until_none

TASK = "make the failing tests pass"
MODULE = """\
def longest(words):
    best = ""
    for word in words:
        if len(word) < len(best):
            best = word
    return best
"""
TESTS = """\
import unittest

from words import longest


class LongestTest(unittest.TestCase):
    def test_longest(self):
        self.assertEqual(longest(["a", "ccc", "bb"]), "ccc")

    def test_first_of_equals(self):
        self.assertEqual(longest(["aa", "bb"]), "aa")

    def test_none(self):
        self.assertEqual(longest([]), "")
"""
SLOW = "\n    def setUp(self):\n        time.sleep(0.3)\n"
"""What makes trials last long enough to be stopped in one."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def env(home: Path) -> dict[str, str]:
    return environment(home)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "tests").mkdir(parents=True)
    (root / "tests" / "__init__.py").write_text("")
    (root / "words.py").write_text(MODULE)
    (root / "tests" / "test_words.py").write_text(TESTS)
    return root


def make_hopeless(project: Path) -> None:
    """A bug that no small edit mends, and tests that take their time."""
    (project / "words.py").write_text("import os\n\n\ndef longest(words):\n    found = [os, words]\n    return found\n")
    slow = TESTS.replace("import unittest\n", "import time\nimport unittest\n").replace(
        "TestCase):\n", f"TestCase):{SLOW}\n"
    )
    (project / "tests" / "test_words.py").write_text(slow)


def command(project: Path, *more: str) -> list[str]:
    return ["run", TASK, "-w", str(project), "--approve", "auto", "--json", *more]


def until_edits_are_tried(process: subprocess.Popen[str], home: Path) -> None:
    """Reads lines until the engine's second command runs: the first measures, the second tries edits."""
    assert process.stdout is not None
    shells = 0
    while shells < 2 and (line := process.stdout.readline()):
        event: dict[str, Any] = json.loads(line)
        shells += event.get("type") == "tool.started" and event.get("name") == "shell"
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up and sum(_is_trial(words) for words in processes_of(home).values()) < 2:
        time.sleep(0.02)
    assert process.poll() is None


def _is_trial(words: str) -> bool:
    """A program on standard input, or a child of it."""
    return "python" in words and words.rstrip().endswith(" -")


def test_a_bug_is_fixed(project: Path, env: dict[str, str]) -> None:
    done = loopline(*command(project), env=env)
    assert done.code == 0, done.err
    assert done.summary["files_changed"] == ["words.py"]
    assert 5 <= done.summary["calls"] <= 10
    assert (project / "words.py").read_text() == MODULE.replace("<", ">")


def test_what_cannot_be_fixed_stays_as_found(project: Path, env: dict[str, str]) -> None:
    (project / "words.py").write_text("import os\n\n\ndef longest(words):\n    return os\n")
    before = snapshot(project)
    done = loopline(*command(project), env=env)
    assert done.code == 1, done.err
    assert done.summary["status"] == "failed"
    assert snapshot(project) == before


def test_ctrl_c_while_edits_are_tried(project: Path, home: Path, env: dict[str, str]) -> None:
    make_hopeless(project)
    before = snapshot(project)
    process = started(*command(project), env=env)
    until_edits_are_tried(process, home)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert wait_until_none(home, 5) == {}
    assert snapshot(project) == before


def test_kill_9_while_edits_are_tried_then_resume(project: Path, home: Path, env: dict[str, str]) -> None:
    make_hopeless(project)
    before = snapshot(project)
    process = started(*command(project), env=env)
    until_edits_are_tried(process, home)
    process.kill()
    process.communicate(timeout=30)
    assert snapshot(project) == before
    (project / "words.py").write_text(MODULE)  # the user makes it a bug that can be mended
    (session,) = (Path(env["XDG_STATE_HOME"]) / "loopline" / "sessions").glob("*.jsonl")
    done = loopline(*command(project, "--resume", session.stem), env=env)
    assert done.code == 0, done.out[-1500:]
    assert (project / "words.py").read_text() == MODULE.replace("<", ">")
    assert wait_until_none(home, 10) == {}
