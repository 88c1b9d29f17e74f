"""What pytest and unittest print, from real runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agent_core.repair.failures import count, is_test_path, read_failures

MODULE = """\
def half(number):
    return number / zero(number)


def zero(number):
    return number - number
"""
PYTEST = """\
import pytest
from calc import half


class TestHalf:
    def test_method(self):
        assert half(2) == 1


@pytest.mark.parametrize("value", [1, "a b"])
def test_values(value):
    assert {"value": value, "more": [1, 2]} == {"value": 0}, "odd: 3"


def test_good():
    assert True


@pytest.fixture
def broken():
    raise KeyError("no such thing")


def test_fixture(broken):
    pass
"""
UNITTEST = """\
import unittest
from calc import half


class HalfTest(unittest.TestCase):
    def test_error(self):
        half(2)

    def test_failure(self):
        self.assertEqual([1, 2], [1, 3], "with words\\nOdd: line")

    def test_good(self):
        pass

    def test_parts(self):
        for part in range(2):
            with self.subTest(part=part):
                self.assertEqual(part, 0)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "calc.py").write_text(MODULE)
    return tmp_path


def run(folder: Path, *words: str) -> str:
    done = subprocess.run([sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


@pytest.mark.parametrize("style", ["auto", "long", "short", "native"])
def test_pytest_in_every_style(project: Path, style: str) -> None:
    (project / "tests" / "test_calc.py").write_text(PYTEST)
    output = run(project, "pytest", "-p", "no:cacheprovider", f"--tb={style}", "-q")
    failures = {failure.test: failure for failure in read_failures("pytest", output)}
    assert list(failures) == [
        "tests/test_calc.py::TestHalf::test_method",
        "tests/test_calc.py::test_values[1]",
        "tests/test_calc.py::test_values[a b]",
        "tests/test_calc.py::test_fixture",
    ]
    first = failures["tests/test_calc.py::TestHalf::test_method"]
    assert first.error == "ZeroDivisionError"
    assert first.file == "tests/test_calc.py"
    assert [(Path(path).name, line) for path, line, _ in first.frames][-1] == ("calc.py", 2)
    assert failures["tests/test_calc.py::test_values[a b]"].error == "AssertionError"
    assert failures["tests/test_calc.py::test_fixture"].error == "KeyError"
    assert count(output) == (4, 1)


def test_pytest_collection_error(project: Path) -> None:
    (project / "tests" / "test_calc.py").write_text("from calc import nothing\n")
    output = run(project, "pytest", "-p", "no:cacheprovider", "-q")
    (failure,) = read_failures("pytest", output)
    assert failure.test == "tests/test_calc.py"
    assert failure.error == "ImportError"
    assert "cannot import name 'nothing'" in failure.message


def test_pytest_output_cut_before_the_summary(project: Path) -> None:
    (project / "tests" / "test_calc.py").write_text(PYTEST)
    output = run(project, "pytest", "-p", "no:cacheprovider", "-q")
    cut = output[: output.index("short test summary info") - 30]
    names = [failure.test for failure in read_failures("pytest", cut)]
    assert "tests/test_calc.py::TestHalf::test_method" in names


def test_unittest(project: Path) -> None:
    (project / "tests" / "__init__.py").write_text("")
    (project / "tests" / "test_calc.py").write_text(UNITTEST)
    output = run(project, "unittest", "discover")
    failures = {failure.test: failure for failure in read_failures("unittest", output)}
    assert set(failures) == {f"tests.test_calc.HalfTest.test_{name}" for name in ("error", "failure", "parts")}
    crash = failures["tests.test_calc.HalfTest.test_error"]
    assert crash.error == "ZeroDivisionError"
    assert [line for _, line, _ in crash.frames] == [7, 2]
    failed = failures["tests.test_calc.HalfTest.test_failure"]
    assert failed.error == "AssertionError"
    assert failed.message.startswith("Lists differ: [1, 2] != [1, 3]")
    assert count(output) is not None


def test_unittest_import_error(project: Path) -> None:
    (project / "tests" / "__init__.py").write_text("")
    (project / "tests" / "test_calc.py").write_text("from calc import nothing\n")
    (failure,) = read_failures("unittest", run(project, "unittest", "discover"))
    assert failure.test.endswith("test_calc")
    assert failure.error == "ImportError"


def test_unittest_of_older_pythons() -> None:
    text = f"""\
F
{"=" * 70}
FAIL: test_sum (tests.test_a.SumTest)
{"-" * 70}
Traceback (most recent call last):
  File "/srv/app/tests/test_a.py", line 9, in test_sum
    self.assertEqual(total([1]), 2)
AssertionError: 1 != 2

{"-" * 70}
Ran 1 test in 0.001s

FAILED (failures=1)
"""
    (failure,) = read_failures("unittest", text)
    assert failure.test == "tests.test_a.SumTest.test_sum"
    assert failure.message == "1 != 2"
    assert failure.frames == (("/srv/app/tests/test_a.py", 9, "test_sum"),)
    assert count(text) == (1, 0)


def test_noise_holds_no_failures() -> None:
    for runner in ("pytest", "unittest"):
        assert read_failures(runner, "") == ()
        assert read_failures(runner, "Killed\n____ ____\n==== x\nE   odd") == ()
    assert count("no tests ran in 0.01s") is None


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("tests/helpers.py", True),
        ("pkg/test/data.py", True),
        ("test_a.py", True),
        ("pkg/a_test.py", True),
        ("conftest.py", True),
        ("setup.py", True),
        ("pyproject.toml", True),
        ("pkg/contest.py", False),
        ("latest/model.py", False),
        ("testing_tools.py", False),
    ],
)
def test_what_is_never_edited(path: str, wanted: bool) -> None:
    assert is_test_path(path) is wanted
