"""The programs for the client's Python, run for real on real projects."""

from __future__ import annotations

import ast
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from agent_core.repair import scratch
from agent_core.repair.operators.base import Candidate
from agent_core.repair.scratch import Patch, Survey, Verdicts
from agent_core.repair.source import Replacement
from tests.support.repair.corpus import snapshot
from tests.support.repair.tools import LEAN

MODULE = '''\
"""A module whose edits touch bodies, defaults, constants, classes and decorated functions."""

import functools

LIMIT = 3
TABLE = [LIMIT * step for step in range(3)]


def body(number):
    return number - 1


def default(number=1):
    return number


@functools.lru_cache(maxsize=None)
def cached(number):
    return number * 3


class Thing:
    size = 1

    def __init__(self):
        self.kind = "old"

    @property
    def double(self):
        return self.size + 2

    @staticmethod
    def fixed():
        return 5


def spin(number):
    while number:
        number = number
    return number
'''
TESTS = """\
from pkg.mod import LIMIT, TABLE, Thing, body, cached, default, spin


def test_body():
    assert body(1) == 2


def test_default():
    assert default() == 2


def test_constant():
    assert LIMIT == 4


def test_table():
    assert TABLE == [0, 4, 8]


def test_cached():
    assert cached(2) == 4


def test_size():
    assert Thing().size == 2


def test_double():
    assert Thing().double == 2


def test_kind():
    assert Thing().kind == "new"


def test_good():
    assert spin(0) == 0
    assert Thing.fixed() == 5


def test_spin():
    assert spin(1) == 0
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "pkg").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "pkg" / "__init__.py").write_text("")
    (root / "pkg" / "mod.py").write_text(MODULE)
    (root / "tests" / "test_mod.py").write_text(TESTS)
    (root / "conftest.py").write_text("")
    return root


def run(script: str, root: Path) -> str:
    environment = {**os.environ, **LEAN}
    done = subprocess.run(
        [sys.executable, "-"], input=script, text=True, cwd=root, env=environment, capture_output=True, timeout=100
    )
    assert done.stderr == ""
    return done.stdout


def change(old: str, new: str, text: str = MODULE, path: str = "pkg/mod.py") -> Patch:
    assert text.count(old) == 1
    at = text.index(old)
    return (Candidate(path, (Replacement(at, at + len(old), new),), "k", "r", text.count("\n", 0, at) + 1, 0.5),)


def trial(
    root: Path,
    patches: list[Patch],
    tests: list[str],
    *,
    cold: list[int] | None = None,
    runner: str = "pytest",
    **more: object,
) -> Verdicts:
    settings: dict[str, object] = {
        "tests": tests, "test_args": [], "known": tests,
        "sources": {"pkg/mod.py": (root / "pkg" / "mod.py").read_text()},
        "base": (), "patches": patches, "cold": cold or [], "limit_s": 0.3, "suite_limit_s": 0.3, "budget_s": 60.0,
        "survivors": 99, "all_suites": True, "patience_s": 2.0, "near": (), "paths": (),
    }  # fmt: skip
    script = scratch.trial_script(runner, [], **(settings | more))  # type: ignore[arg-type]
    verdicts = scratch.read_trial(run(script, root))
    assert isinstance(verdicts, Verdicts), verdicts
    return verdicts


def test_survey(project: Path) -> None:
    before = snapshot(project)
    survey = scratch.read_survey(run(scratch.survey_script("pytest", [], limit_s=0.5), project))
    assert isinstance(survey, Survey)
    assert (survey.tests, survey.failed, survey.passed) == (10, 9, 1)
    failures = {failure.test.rpartition("::")[2]: failure for failure in survey.failures}
    assert failures["test_body"].error == "AssertionError"
    assert failures["test_body"].message.startswith("assert 0 == 2")
    (mod,) = [item for item in survey.coverage if item.path == "pkg/mod.py"]
    lines = MODULE.splitlines()
    assert mod.lines[lines.index("    return number - 1") + 1] == (1, 0)
    assert lines.index("        return 5") + 1 not in mod.lines
    assert lines.index("LIMIT = 3") + 1 in mod.at_import
    assert snapshot(project) == before


def test_survey_of_a_test_that_never_ends(project: Path) -> None:
    (project / "tests" / "test_mod.py").write_text(
        "from pkg.mod import spin\n\n\ndef test_spin():\n    spin(1)\n\n\ndef test_after():\n    assert spin(0) == 0\n"
    )
    survey = scratch.read_survey(run(scratch.survey_script("pytest", [], limit_s=0.4), project))
    assert isinstance(survey, Survey)
    assert (survey.failed, survey.passed) == (1, 1)
    assert survey.failures[0].error == "TimeIsUp"
    (mod,) = [item for item in survey.coverage if item.path == "pkg/mod.py"]
    assert mod.lines[MODULE.splitlines().index("        number = number") + 1] == (1, 0)


def test_survey_of_a_test_that_ends_the_process(project: Path) -> None:
    (project / "tests" / "test_mod.py").write_text(
        "import os\n\n\ndef test_exit():\n    os._exit(3)\n\n\ndef test_after():\n    assert True\n"
    )
    survey = scratch.read_survey(run(scratch.survey_script("pytest", [], limit_s=0.4), project))
    assert isinstance(survey, Survey)
    assert (survey.failed, survey.passed) == (1, 1)


def test_every_place_of_an_edit_takes_effect(project: Path) -> None:
    edits = {
        "test_body": (change("number - 1", "number + 1"), False),
        "test_default": (change("number=1", "number=2"), True),
        "test_constant": (change("LIMIT = 3", "LIMIT = 4"), True),
        "test_cached": (change("number * 3", "number * 2"), False),
        "test_size": (change("size = 1", "size = 2"), True),
        "test_double": (change("self.size + 2", "self.size + 1"), False),
        "test_kind": (change('"old"', '"new"'), False),
        "test_spin": (change("        number = number", "        number -= 1"), False),
    }
    tests = [f"tests/test_mod.py::{name}" for name in ["test_table", *edits]]  # what hangs ends a trial
    patches = [patch for patch, _ in edits.values()]
    cold = [at for at, (_, is_cold) in enumerate(edits.values()) if is_cold]
    verdicts = trial(project, patches, tests, cold=cold)
    assert verdicts.baseline == (0, 9)
    assert verdicts.members("partial") == tuple(range(8))
    assert [verdicts.gained[at] for at in range(8)] == [1, 1, 2, 1, 1, 1, 1, 1], "the constant mends the table too"
    assert all(broke == () for broke in verdicts.suites.values())


def test_functions_on_one_line_are_told_apart(project: Path) -> None:
    text = MODULE + "\n\nSTEPS = (lambda number: number + 1, lambda number: number - 2)\n"
    (project / "pkg" / "mod.py").write_text(text)
    (project / "tests" / "test_steps.py").write_text(
        "from pkg.mod import STEPS, body\n\n\n"
        "def test_steps():\n    assert [step(body(1)) for step in STEPS] == [3, 0]\n"
    )
    verdicts = trial(project, [change("number - 1", "number + 1", text)], ["tests/test_steps.py::test_steps"])
    assert verdicts.members("pass") == (0,)


def test_verdicts(project: Path) -> None:
    before = snapshot(project)
    patches = [
        change("number - 1", "number + 1"),
        change("number - 1", "number - 0 - 1"),
        change("number - 1", "number - 5"),
        change("number - 1", "number -"),
        change("number - 1", "spin(7)"),
        change("number - 1", "__import__('os')._exit(0)"),
    ]
    verdicts = trial(project, patches, ["tests/test_mod.py::test_body"])
    words = ("pass", "same", "changed", "no_python", "too_slow", "crashed")
    assert {word: verdicts.members(word) for word in words} == {word: (at,) for at, word in enumerate(words)}
    assert verdicts.tried == 6
    assert snapshot(project) == before


def test_survivors_face_the_whole_suite(project: Path) -> None:
    patches = [change("return 5", "return 6"), change("number - 1", "number + 1")]
    test = "tests/test_mod.py::test_body"
    breaking = (*patches[1], *patches[0])
    verdicts = trial(
        project, [breaking, patches[1]], [test], known=[f"tests/test_mod.py::{name}" for name in ALL_BUT_GOOD]
    )
    assert verdicts.members("pass") == (0, 1)
    assert verdicts.suites == {0: ("tests/test_mod.py::test_good",), 1: ()}


ALL_BUT_GOOD = [line[4:-3] for line in TESTS.splitlines() if line.startswith("def ") and "good" not in line]


def test_a_base_is_in_place_first(project: Path) -> None:
    base = change("number - 1", "number + 1 + 1")
    text = MODULE.replace("number - 1", "number + 1 + 1")
    patch = change("number + 1 + 1", "number + 1", text)
    sources = {"pkg/mod.py": text}
    verdicts = trial(project, [patch], ["tests/test_mod.py::test_body"], base=base, sources=sources)
    assert verdicts.members("pass") == (0,)


def test_files_that_do_not_load_are_tried_with_new_imports(project: Path) -> None:
    broken = MODULE.replace("import functools\n", "")
    (project / "pkg" / "mod.py").write_text(broken)
    patch = (
        Candidate(
            "pkg/mod.py",
            (Replacement(broken.index("LIMIT"), broken.index("LIMIT"), "import functools\n"),),
            "k",
            "r",
            1,
            1.0,
        ),
    )
    (project / "tests" / "test_mod.py").write_text(
        "from pkg.mod import body\n\n\ndef test_body():\n    assert body(3) == 2\n"
    )
    survey = scratch.read_survey(run(scratch.survey_script("pytest", []), project))
    assert isinstance(survey, Survey)
    assert [failure.test for failure in survey.failures] == ["tests/test_mod.py"]
    assert "name 'functools' is not defined" in survey.failures[0].message
    wrong = change("LIMIT = 3", "LIMIT = 4", broken)
    verdicts = trial(project, [wrong, patch], ["tests/test_mod.py"], cold=[0, 1])
    assert verdicts.members("pass") == (1,)
    assert verdicts.suites == {1: ()}


def test_unittest(project: Path) -> None:
    (project / "tests" / "__init__.py").write_text("")
    (project / "tests" / "test_mod.py").write_text(
        "import unittest\nfrom pkg.mod import body, spin\n\n\nclass ModTest(unittest.TestCase):\n"
        "    def test_body(self):\n        self.assertEqual(body(1), 2)\n\n"
        "    def test_parts(self):\n        for n in range(2):\n            with self.subTest(n=n):\n"
        "                self.assertEqual(body(n), n + 1)\n\n"
        "    @unittest.skip('later')\n    def test_later(self):\n        pass\n\n"
        "    def test_good(self):\n        self.assertEqual(spin(0), 0)\n"
    )
    survey = scratch.read_survey(run(scratch.survey_script("unittest", ["discover"]), project))
    assert isinstance(survey, Survey)
    assert (survey.tests, survey.failed, survey.passed) == (4, 2, 1)
    tests = [failure.test for failure in survey.failures]
    assert tests == ["tests.test_mod.ModTest.test_body", "tests.test_mod.ModTest.test_parts"]
    verdicts = trial(project, [change("number - 1", "number + 1")], tests, runner="unittest", test_args=["discover"])
    assert verdicts.members("pass") == (0,)
    assert verdicts.suites == {0: ()}


def test_stale_text_is_noticed(project: Path) -> None:
    patch = change("number - 1", "number + 1")
    script = scratch.trial_script(
        "pytest", [], tests=["t"], test_args=[], known=[], sources={"pkg/mod.py": MODULE}, base=(), patches=[patch],
        cold=[], limit_s=1, suite_limit_s=1, patience_s=2, near=(), paths=(), budget_s=5, survivors=1,
    )  # fmt: skip
    (project / "pkg" / "mod.py").write_text(MODULE + "\n# more\n")
    assert scratch.read_trial(run(script, project)) == "pkg/mod.py changed on disk meanwhile"


def test_newlines_and_byte_order_mark_are_of_no_matter(project: Path) -> None:
    (project / "pkg" / "mod.py").write_bytes(b"\xef\xbb\xbf" + MODULE.replace("\n", "\r\n").encode())
    patch = change("number - 1", "number + 1")
    verdicts = trial(project, [patch], ["tests/test_mod.py::test_body"], sources={"pkg/mod.py": MODULE})
    assert verdicts.members("pass") == (0,)


def test_an_editable_install_is_moved_or_noticed(project: Path) -> None:
    """The project's folder on the path, as an editable install puts it: the copy must win."""
    script = f"import sys\nsys.path.append({str(project)!r})\n" + scratch.survey_script("pytest", []).partition("\n")[2]
    survey = scratch.read_survey(run(script, project))
    assert isinstance(survey, Survey)
    assert survey.outside == ()


def test_the_copy_is_removed_when_the_program_is_ended(project: Path) -> None:
    (project / "tests" / "test_mod.py").write_text("import time\n\n\ndef test_wait():\n    time.sleep(30)\n")
    process = subprocess.Popen([sys.executable, "-"], stdin=subprocess.PIPE, cwd=project, start_new_session=True)
    assert process.stdin is not None
    process.stdin.write(scratch.survey_script("pytest", []).encode())
    process.stdin.close()
    pattern = f"loopline-repair-{process.pid}-*"
    deadline = time.monotonic() + 60
    while not list(Path(tempfile.gettempdir()).glob(pattern)):
        assert time.monotonic() < deadline and process.poll() is None
        os.sched_yield()
    os.kill(process.pid, signal.SIGTERM)
    process.wait(timeout=60)
    assert list(Path(tempfile.gettempdir()).glob(pattern)) == []
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("call", "number"),
    [
        *((call, signal.SIGTERM) for call in ("tempfile.mkdtemp", "os.rename", "os.fork", "shutil.rmtree")),
        ("tempfile.mkdtemp", signal.SIGINT),
        ("os.fork", signal.SIGHUP),
    ],
)
def test_ended_right_after_any_step_it_leaves_nothing(project: Path, call: str, number: signal.Signals) -> None:
    """The signal comes while `call` returns: no moment is left in which a folder or a child belongs to nobody."""
    module, name = call.split(".")
    early = (
        f"import os, {module}\n_true = {call}\n"
        "def _called(*given, **named):\n"
        "    found = _true(*given, **named)\n"
        f"    if found != 0: {module}.{name} = _true; os.kill(os.getpid(), {int(number)})\n"
        "    return found\n"
        f"{call} = _called\n"
    )
    script = scratch.survey_script("pytest", ["tests/test_mod.py::test_good"])
    future, rest = script.split("from __future__ import annotations\n", 1)
    process = subprocess.Popen(
        [sys.executable, "-c", f"{future}from __future__ import annotations\n{early}{rest}"], cwd=project,
        start_new_session=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    process.wait(timeout=60)
    assert list(Path(tempfile.gettempdir()).glob(f"loopline-repair-{process.pid}-*")) == []
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def test_copies_left_by_killed_programs_are_removed_and_those_in_use_are_not(project: Path) -> None:
    left, used = (Path(tempfile.mkdtemp(prefix="loopline-repair-7-")) for _ in range(2))
    (left / "lock").touch()
    with (used / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run(scratch.survey_script("pytest", ["tests/test_mod.py::test_good"]), project)
        assert not left.exists()
        assert used.exists()
    shutil.rmtree(used)


def test_programs_run_on_python_3_9() -> None:
    for script in (scratch.survey_script("pytest", []), bare_text()):
        tree = ast.parse(script, feature_version=(3, 9))
        assert not any(isinstance(node, ast.Match) for node in ast.walk(tree))


def test_parts_of_a_program_do_not_share_names() -> None:
    """They become one text, so a name of one would hide that of another."""
    for script in (scratch.survey_script("pytest", []), bare_text()):
        names = [node.name for node in ast.parse(script).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        assert len(names) == len(set(names))


def bare_text() -> str:
    return scratch.trial_script(
        "pytest", [], tests=[], test_args=[], known=[], sources={}, base=(), patches=[], cold=[], limit_s=1,
        suite_limit_s=1, patience_s=2, near=(), paths=(), budget_s=1, survivors=1,
    )  # fmt: skip


def test_words_of_other_programs_are_no_verdicts() -> None:
    assert scratch.read_survey("") == "the program printed nothing"
    assert scratch.read_survey("survey of the land\nTraceback:\nOSError: disk full") == "OSError: disk full"
    assert (
        scratch.read_trial('done {"ok": false, "why": "the project is larger than 256 MiB"}')
        == "the project is larger than 256 MiB"
    )


@pytest.mark.parametrize(("cpu_s", "counted"), [(16.0, 8.0), (6.0, 6.0), (1.0, 2.0)])
def test_what_a_busy_machine_did_meanwhile_counts_a_quarter_at_least(cpu_s: float, counted: float) -> None:
    told = f'trial {{"tried": 3, "s": 8.0}}\nbaseline {{"passed": 0, "of": 1}}\ndone {{"ok": true, "cpu_s": {cpu_s}}}'
    verdicts = scratch.read_trial(told)
    assert isinstance(verdicts, Verdicts)
    assert verdicts.seconds == counted
