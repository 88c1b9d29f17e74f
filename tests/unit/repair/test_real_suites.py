"""Suites as real projects have them: tests that fail anyway, that take long, that hang; the wrong interpreter."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agent_core.repair import rank
from agent_core.repair.limits import SearchLimits
from agent_core.repair.operators.base import Clues
from agent_core.repair.project import patched
from agent_core.repair.source import Source
from tests.support.repair.cases import cases
from tests.support.repair.corpus import judge
from tests.support.repair.tools import LooplineTools, Played, play
from tests.support.system.cli import environment, loopline

SHORT = SearchLimits(search_s=6.0)
LIMITS = "def clamp(value, low, high):\n    if value > high:\n        return low\n    return max(value, low)\n"
SPANS = "def span(low, high):\n    return high + low\n"


def write(root: Path, **files: str) -> Path:
    (root / "tests").mkdir(parents=True)
    for name, text in files.items():
        (root / f"{name.replace('__', '/')}.py").write_text(text)
    return root


async def played(root: Path, task: str = "make the failing tests pass", limits: SearchLimits = SHORT) -> Played:
    return await play(LooplineTools(root), task, limits=limits)


@pytest.mark.parametrize("name", ["unrelated_failure_1", "endless_loop_1", "endless_recursion_1"])
async def test_a_case_of_its_own_kind(name: str) -> None:
    (case,) = [case for case in cases() if case.name == name]
    verdict = await judge(case)
    assert verdict.outcome == "fixed", verdict.last
    if name == "unrelated_failure_1":
        assert "As before, 1 test fails: `tests/test_package.py::test_has_a_version`" in verdict.last


async def test_only_the_test_that_the_task_names_is_mended(tmp_path: Path) -> None:
    root = write(
        tmp_path / "project",
        limits=LIMITS,
        spans=SPANS,
        tests__test_limits="from limits import clamp\n\n\ndef test_clamp():\n    assert clamp(9, 2, 5) == 5\n",
        tests__test_spans="from spans import span\n\n\ndef test_span():\n    assert span(2, 9) == 7\n",
    )
    done = await played(root, "test_span fails, please mend it")
    assert done.fixed, done.last
    assert (root / "limits.py").read_text() == LIMITS
    assert (root / "spans.py").read_text() == SPANS.replace("+", "-")
    assert "As before, 1 test fails: `tests/test_limits.py::test_clamp`" in done.last


async def test_the_first_answer_says_what_fails_and_where_it_looks(tmp_path: Path) -> None:
    root = write(
        tmp_path / "project",
        limits=LIMITS,
        tests__test_limits="from limits import clamp\n\n\ndef test_clamp():\n    assert clamp(9, 2, 5) == 5\n",
    )
    done = await played(root)
    assert "`tests/test_limits.py::test_clamp`" in done.texts[1]
    assert "I look at `limits.py` lines 2-3" in done.texts[1]
    assert [name for name, _, _ in done.calls[:2]] == ["list", "shell"]


async def test_of_a_slow_suite_only_the_tests_that_matter_run_before_the_end(tmp_path: Path) -> None:
    slow = (
        "import time\n\nimport pytest\n\n\n@pytest.mark.parametrize('number', range(4))\n"
        "def test_slow(number):\n    time.sleep(0.6)\n"
    )
    root = write(
        tmp_path / "project",
        limits=LIMITS,
        tests__test_limits="from limits import clamp\n\n\ndef test_clamp():\n    assert clamp(9, 2, 5) == 5\n\n\n"
        "def test_inside():\n    assert clamp(3, 2, 5) == 3\n",
        tests__test_slow=slow,
    )
    done = await played(root, limits=SearchLimits(look_s=1.0, survey_s=8.0, quick_s=0.5))
    assert done.last.startswith("Fixed: `limits.py` line 3"), done.last
    jobs = [
        line for _, given, _ in done.calls for line in str(given.get("command")).splitlines() if "'near': [" in line
    ]
    assert jobs
    for job in jobs:
        near = job.partition("'near': [")[2].partition("]")[0]
        assert near == "'tests/test_limits.py::test_inside'"
    assert [name for name, given, _ in done.calls if name == "checks" and not given] == ["checks"], "whole once"


async def test_tests_that_load_only_because_others_did_are_tried_with_what_those_left(tmp_path: Path) -> None:
    """Where pytest collects the sources too, it is these that bring their folder into the import path."""
    root = write(
        tmp_path / "project",
        tests__test_limits="from limits import clamp\n\n\ndef test_clamp():\n    assert clamp(9, 2, 5) == 5\n",
    )
    (root / "src").mkdir()
    (root / "src" / "limits.py").write_text(LIMITS)
    (root / "pytest.ini").write_text("[pytest]\naddopts = --doctest-modules\n")
    done = await played(root)
    assert done.last.startswith("Fixed: `src/limits.py` line 3"), done.last


async def test_a_missing_module_names_the_interpreter_and_the_way_to_another(tmp_path: Path) -> None:
    root = write(
        tmp_path / "project",
        limits="import surely_not_installed\n",
        tests__test_limits="from limits import clamp\n\n\ndef test_clamp():\n    assert clamp(9, 2, 5) == 5\n",
    )
    done = await played(root)
    assert f"`{sys.executable}`" in done.last
    assert "--python PATH" in done.last


def test_run_takes_an_interpreter(tmp_path: Path) -> None:
    """The one that is named runs the tests, in `checks` and in commands; it is looked for from here."""
    root = write(
        tmp_path / "project",
        limits=LIMITS,
        tests__test_limits="from limits import clamp\n\n\ndef test_clamp():\n    assert clamp(9, 2, 5) == 5\n",
    )
    named = root / "bin" / "other-python"
    named.parent.mkdir()
    named.write_text(f'#!/bin/sh\nexport NAMED=yes\nexec {sys.executable} "$@"\n')
    named.chmod(0o755)
    (root / "tests" / "test_named.py").write_text("import os\n\n\ndef test_it():\n    assert os.environ['NAMED']\n")
    done = loopline(
        "run", "make the failing tests pass", "-w", str(root), "--approve", "auto", "--json",
        "--python", "project/bin/other-python", env=environment(tmp_path / "home"), cwd=tmp_path,
    )  # fmt: skip
    texts = [line["text"] for line in done.lines if line["type"] == "text.done"]
    assert texts[1].startswith("1 of 2 tests fails"), texts
    assert texts[-1].startswith("Fixed"), texts


def test_where_a_test_hangs_what_moves_the_loop_comes_first() -> None:
    (case,) = [case for case in cases() if case.name == "endless_loop_1"]
    source = Source("pages.py", case.files["pages.py"])
    weights = {"pages.py": dict.fromkeys(range(6, 16), 1.0)}

    def place(clues: Clues) -> int:
        found = rank.candidates({"pages.py": source}, weights, (), clues)
        texts = [patched(source.text, "pages.py", (item,)) for item in found]
        return texts.index(case.fixed().files["pages.py"])

    assert place(Clues(errors=(("TimeIsUp", "ran too long"),))) * 2 < place(Clues())
