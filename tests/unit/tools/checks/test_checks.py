from __future__ import annotations

import asyncio
import re
import shutil
import sys
from pathlib import Path

import pytest

from agent_core.tools.port import ToolContext, ToolResult
from tests.support.suite.parts import program
from tests.support.system.processes import alive
from tests.support.system.waiting import lines_of_file
from tests.support.tools.toolbox import BIN, Bench

SAMPLE = Path(__file__).parents[4] / "agent_core" / "demo" / "sample"

UNITTEST = """import unittest
from pkg.calc import double

class CalcTest(unittest.TestCase):
    def test_double(self):
        self.assertEqual(double(2), 4)

    def test_zero(self):
        self.assertEqual(double(0), 0)

    @unittest.skip("later")
    def test_skipped(self):
        pass

    def test_error(self):
        double(None)
"""

PYTEST = """import pytest
from pkg.calc import double

class TestCalc:
    @pytest.mark.parametrize("n", [0, 2])
    def test_double(self, n):
        assert double(n) == 2 * n

def test_raises():
    double(None)

@pytest.fixture
def broken():
    raise RuntimeError("no fixture")

def test_fixture(broken):
    pass

@pytest.mark.skip
def test_skipped():
    pass
"""

FIRST_LINE = re.compile(
    r"checks: status=(passed|failed|none|error) failed=(\d+|\?) passed=(\d+|\?) errors=(\d+|\?) skipped=(\d+|\?) "
    r"duration_s=\d+\.\d\d runner=(pytest|unittest|npm|none) command=(.+)"
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    # Without the plugins of this environment pytest starts in a third of the time.
    bench = Bench(tmp_path, environment={**BIN, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    bench.write("pkg/__init__.py", "")
    bench.write("pkg/calc.py", "def double(n):\n    return n + 2\n")
    return bench


def first_line(result: ToolResult) -> tuple[str, ...]:
    match = FIRST_LINE.fullmatch(result.output.split("\n")[0])
    assert match is not None, result.output
    return match.groups()


@pytest.mark.parametrize("package", [True, False], ids=["package", "plain folder"])
async def test_unittest_is_found_run_and_read(bench: Bench, package: bool) -> None:
    bench.write("tests/test_calc.py", UNITTEST)
    if package:
        bench.write("tests/__init__.py", "")
    result = await bench.run("checks")
    top = " -t ." if package else ""
    command = f"python -m unittest discover -v -s tests{top} -p 'test*.py'"
    assert first_line(result) == ("failed", "1", "1", "1", "1", "unittest", command)
    assert (result.status, result.summary) == ("ok", "1 failed, 1 errors, 1 passed")
    assert result.data["failures"] == [
        {
            "id": "tests/test_calc.py::CalcTest::test_error",
            "file": "pkg/calc.py",
            "line": 2,
            "message": "TypeError: unsupported operand type(s) for +: 'NoneType' and 'int'",
        },
        {
            "id": "tests/test_calc.py::CalcTest::test_zero",
            "file": "tests/test_calc.py",
            "line": 9,
            "message": "AssertionError: 2 != 0",
        },
    ]
    assert f'File "{bench.root}/tests/test_calc.py", line 9, in test_zero' in result.output
    assert not list(bench.root.rglob("__pycache__"))


@pytest.mark.parametrize(
    ("target", "counts"),
    [
        ("tests/test_calc.py", ("1", "1", "1", "1")),
        ("tests", ("1", "1", "1", "1")),
        ("tests/test_calc.py::CalcTest", ("1", "1", "1", "1")),
        ("tests/test_calc.py::CalcTest::test_zero", ("1", "0", "0", "0")),
        ("tests.test_calc.CalcTest.test_double", ("0", "1", "0", "0")),
        ("tests.test_calc", ("1", "1", "1", "1")),
    ],
)
@pytest.mark.parametrize("package", [True, False], ids=["package", "plain folder"])
async def test_unittest_targets(bench: Bench, target: str, counts: tuple[str, ...], package: bool) -> None:
    bench.write("tests/test_calc.py", UNITTEST)
    if package:
        bench.write("tests/__init__.py", "")
    assert first_line(await bench.run("checks", target=target))[1:5] == counts


async def test_failures_name_targets_that_run_again(bench: Bench) -> None:
    bench.write("tests/unit/test_calc.py", UNITTEST)
    for failure in (await bench.run("checks")).data["failures"]:
        again = await bench.run("checks", target=failure["id"])
        assert [item["id"] for item in again.data["failures"]] == [failure["id"]]


async def test_pytest_is_found_run_and_read(bench: Bench) -> None:
    bench.write("tests/test_calc.py", PYTEST)
    result = await bench.run("checks")
    assert first_line(result) == ("failed", "2", "1", "1", "1", "pytest", "python -m pytest")
    failures = {item["id"]: item for item in result.data["failures"]}
    assert set(failures) == {
        "tests/test_calc.py::TestCalc::test_double[0]",
        "tests/test_calc.py::test_raises",
        "tests/test_calc.py::test_fixture",
    }
    raises = failures["tests/test_calc.py::test_raises"]
    assert (raises["file"], raises["line"]) == ("pkg/calc.py", 2)
    assert "unsupported operand" in raises["message"]
    wrong = failures["tests/test_calc.py::TestCalc::test_double[0]"]
    assert (wrong["file"], wrong["line"]) == ("tests/test_calc.py", 7)
    assert f'File "{bench.root}/pkg/calc.py", line 2, in double' in result.output
    again = await bench.run("checks", target=wrong["id"])
    assert first_line(again)[1:5] == ("1", "0", "0", "0")
    assert sorted(path.name for path in bench.root.iterdir()) == ["pkg", "tests"]


async def test_pytest_settings_of_the_project_hold(bench: Bench) -> None:
    bench.write("pytest.ini", "[pytest]\naddopts = --strict-config -x --lf\npython_files = check_*.py\n")
    bench.write("check_it.py", "def test_one():\n    assert False\n\ndef test_two():\n    assert False\n")
    assert first_line(await bench.run("checks"))[:3] == ("failed", "1", "0")


async def test_a_test_file_that_can_not_be_imported_is_an_error_with_its_place(bench: Bench) -> None:
    bench.write("conftest.py", "")
    bench.write("tests/test_calc.py", "import unittest\nimport nowhere_to_be_found\n")
    result = await bench.run("checks")
    assert first_line(result)[0] == "failed"
    assert result.data["failures"][0]["file"] == "tests/test_calc.py"
    assert "nowhere_to_be_found" in result.output
    (bench.root / "conftest.py").unlink()
    result = await bench.run("checks")
    assert first_line(result)[0:6] == ("failed", "0", "0", "1", "0", "unittest")
    assert (result.data["failures"][0]["file"], result.data["failures"][0]["line"]) == ("tests/test_calc.py", 2)


async def test_the_sample_has_the_failures_it_says(tmp_path: Path) -> None:
    folder = tmp_path / "sample"
    shutil.copytree(SAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    bench = Bench(folder)
    result = await bench.run("checks")
    assert first_line(result)[:6] == ("failed", "3", "21", "0", "0", "unittest")
    assert result.summary == "3 failed, 21 passed"
    bench.write("conftest.py", "")
    as_pytest = await bench.run("checks")
    assert first_line(as_pytest)[:6] == ("failed", "3", "21", "0", "0", "pytest")
    assert {item["id"] for item in as_pytest.data["failures"]} == {item["id"] for item in result.data["failures"]}


async def test_no_tests_is_a_status_of_its_own(bench: Bench) -> None:
    result = await bench.run("checks")
    assert first_line(result) == ("none", "0", "0", "0", "0", "none", "none")
    assert (result.status, result.summary) == ("ok", "no tests found")
    bench.write("package.json", '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}')
    assert first_line(await bench.run("checks"))[0] == "none"
    bench.write("test_empty.py", "import unittest\n")
    assert first_line(await bench.run("checks"))[0] == "none"
    bench.write("conftest.py", "")
    assert first_line(await bench.run("checks"))[0] == "none"


async def test_what_runs_the_tests_is_missing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, python=None, environment={"PATH": str(tmp_path)})
    bench.write("test_a.py", "import unittest\n")
    result = await bench.run("checks")
    assert first_line(result)[0] == "error"
    assert (result.status, result.data["code"]) == ("error", "no_interpreter")
    assert "no Python found for this workspace" in result.output


async def test_tests_that_need_pytest_are_not_called_passed_without_it(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    (bare / "python3").chmod(0o755)
    bench = Bench(tmp_path / "bare", python=None, environment={"PATH": f"{bare}:{BIN['PATH']}"})
    bench.write("test_a.py", "def test_a():\n    assert False\n")
    result = await bench.run("checks")
    assert (first_line(result)[0], result.data["code"]) == ("error", "no_runner")
    assert "the tests need pytest" in result.output


async def test_a_runner_that_dies_is_an_error(bench: Bench) -> None:
    bench.write("test_a.py", "import os, unittest\nos._exit(9)\n")
    assert first_line(await bench.run("checks"))[0] == "error"
    bench.write("conftest.py", "raise SystemExit(3)\n")
    assert first_line(await bench.run("checks"))[0] == "error"


async def test_packages_below_src_are_found(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.write("src/pkg/__init__.py", "")
    bench.write("src/pkg/calc.py", "def double(n):\n    return n * 2\n")
    bench.write("tests/test_calc.py", UNITTEST)
    result = await bench.run("checks", target="tests/test_calc.py::CalcTest::test_zero")
    assert first_line(result)[:3] == ("passed", "0", "1")
    assert "command=PYTHONPATH=src python -m unittest" in result.output


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("../x.py", "outside"),
        ("tests/nope.py", "no such file"),
        ("-c", "not an option"),
        ("nope.py::A", "no such file"),
    ],
)
async def test_bad_targets(bench: Bench, target: str, message: str) -> None:
    bench.write("tests/test_calc.py", UNITTEST)
    assert message in await bench.refused("checks", target=target)


async def test_a_target_of_another_root_runs_there(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    (two / "test_two.py").write_text("import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n")
    assert first_line(await Bench(one, two).run("checks", target="two/test_two.py"))[:3] == ("passed", "0", "1")


async def test_npm_test_is_run_and_read(tmp_path: Path) -> None:
    program("npm")
    bench = Bench(tmp_path, environment={**BIN, "HOME": str(tmp_path / "home")})
    bench.write("package.json", '{"name": "x", "scripts": {"test": "node --test"}}')
    bench.write(
        "sum.test.js",
        'const test = require("node:test"); const assert = require("node:assert");\n'
        'test("adds", () => assert.equal(1 + 1, 2));\n'
        'test("subtracts", () => assert.equal(3 - 1, 1));\n',
    )
    result = await bench.run("checks")
    assert first_line(result) == ("failed", "1", "1", "0", "0", "npm", "npm test")
    failure = result.data["failures"][0]
    assert (failure["id"], failure["file"], failure["line"]) == ("subtracts", "sum.test.js", 3)


async def test_cancel_ends_the_tests(bench: Bench) -> None:
    bench.write(
        "test_slow.py", "import os, time, unittest\nopen('pid', 'w').write(f'{os.getpid()}\\n')\ntime.sleep(300)\n"
    )
    task = asyncio.ensure_future(bench.box.run("checks", "{}", ToolContext(tool_call="c")))
    pid = int((await lines_of_file(bench.root / "pid"))[0])
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(pid)


async def test_an_edit_within_the_same_second_is_what_runs(bench: Bench) -> None:
    """Bytecode is found stale by seconds and size: the old code must not answer for the new."""
    bench.write("test_a.py", "import unittest, pkg.calc\nclass T(unittest.TestCase):\n"
                "    def test_a(self): self.assertEqual(pkg.calc.double(3), 6)\n")  # fmt: skip
    await bench.ok("shell", command=f"{sys.executable} -c 'import pkg.calc'")
    assert first_line(await bench.run("checks"))[0] == "failed"
    await bench.ok("edit", path="pkg/calc.py", old="n + 2", new="n * 2")
    assert first_line(await bench.run("checks"))[0] == "passed"
