"""Linters in `checks`: which ones a project configures, what the real ones find, and what their reports look like."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from agent_core.tools.checks.linters import configured, read_report
from tests.support.service.clients import Client, ready
from tests.support.tools.toolbox import BIN, Bench

ESLINT = Client("eslint", "node", ("eslint@10.9.1",))
FIRST = re.compile(
    r"checks: status=(passed|failed|none|error) failed=\S+ passed=\S+ errors=\S+ skipped=\S+ duration_s=[\d.]+ "
    r"runner=\S+ command=\S.*"
)
TEST = "def test_one():\n    assert True\n"
BAD = "import os\n\n\ndef add(a: int, b: int) -> str:\n    return a + b\n"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, ()),
        ({"pyproject.toml": "[project]\nname='x'\n"}, ()),
        ({"pyproject.toml": "[tool.ruff]\n"}, ("ruff",)),
        ({"pyproject.toml": "[tool.ruff.lint]\n[tool.mypy]\nstrict=true\n"}, ("ruff", "mypy")),
        ({"ruff.toml": "", "mypy.ini": "[mypy]\n"}, ("ruff", "mypy")),
        ({"setup.cfg": "[mypy]\n"}, ("mypy",)),
        ({"setup.cfg": "[mypy-x]\n"}, ()),
        ({"eslint.config.mjs": ""}, ("eslint",)),
        ({"package.json": '{"eslintConfig": {}}'}, ("eslint",)),
        ({"package.json": "[1]", "pyproject.toml": "tool = 7"}, ()),
        ({"pyproject.toml": "not toml ["}, ()),
    ],
)
def test_only_what_a_project_configures_counts(bench: Bench, files: dict[str, str], expected: tuple[str, ...]) -> None:
    for name, text in files.items():
        bench.write(name, text)
    assert configured(bench.root) == expected


async def test_ruff_and_mypy_say_what_they_find_behind_the_tests(bench: Bench) -> None:
    bench.write("pyproject.toml", "[tool.ruff]\n[tool.mypy]\n")
    bench.write("test_one.py", TEST)
    bench.write("calc.py", BAD)
    before = {path.name for path in bench.root.iterdir()}
    result = await bench.run("checks")
    lines = result.output.split("\n")
    assert FIRST.fullmatch(lines[0]) and "status=passed failed=0 passed=1" in lines[0]
    assert result.data["status"] == "passed", "what linters find does not make tests fail"
    assert result.summary.endswith("2 lint findings")
    ruff, mypy = result.data["lint"]
    assert (ruff["tool"], ruff["status"], ruff["count"]) == ("ruff", "failed", 1)
    assert [(found["file"], found["line"], found["code"]) for found in ruff["findings"]] == [("calc.py", 1, "F401")]
    assert (mypy["tool"], mypy["status"], mypy["count"]) == ("mypy", "failed", 1)
    assert [(found["file"], found["line"], found["code"]) for found in mypy["findings"]] == [
        ("calc.py", 5, "return-value"),
    ]  # fmt: skip
    assert any(line.startswith("lint: ruff status=failed findings=1 ") for line in lines)
    assert any(line.startswith("calc.py:1:8: F401 ") for line in lines)
    assert {path.name for path in bench.root.iterdir()} == before, "no cache is left behind"


async def test_a_linter_runs_alone_when_it_is_named_and_tests_without_them_when_a_target_is(bench: Bench) -> None:
    bench.write("ruff.toml", "")
    bench.write("test_one.py", TEST)
    bench.write("calc.py", BAD)
    named = await bench.run("checks", target="ruff")
    first = named.output.split("\n")[0]
    assert FIRST.fullmatch(first) and "status=failed failed=1" in first and "runner=ruff command=ruff check" in first
    assert named.data["status"] == "failed" and named.data["lint"][0]["count"] == 1
    only = await bench.run("checks", target="test_one.py")
    assert "lint" not in only.data and only.data["status"] == "passed"
    bench.write("calc.py", "x = 1\n")
    clean = await bench.run("checks", target="ruff")
    assert (clean.data["status"], clean.data["lint"][0]["findings"]) == ("passed", [])


async def test_a_project_without_tests_keeps_its_first_line_and_hears_of_linters(bench: Bench) -> None:
    bench.write("ruff.toml", "")
    bench.write("calc.py", BAD)
    result = await bench.run("checks")
    assert result.output.startswith(
        "checks: status=none failed=0 passed=0 errors=0 skipped=0 duration_s=0.00 runner=none"
    )
    assert "lint: ruff status=failed findings=1" in result.output


async def test_settings_that_a_linter_can_not_read_and_one_that_is_not_there_are_told(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.write("ruff.toml", "select = 7\n")
    broken = await bench.run("checks", target="ruff")
    assert (broken.data["status"], broken.data["lint"][0]["status"]) == ("error", "error")
    assert "ruff.toml" in broken.output
    away = Bench(tmp_path, python=None, environment={**BIN, "PATH": "/nonexistent"})
    absent = await away.run("checks", target="mypy")
    assert (absent.data["status"], absent.data["lint"][0]["status"]) == ("error", "absent")
    assert absent.summary == "not installed here"


async def test_a_folder_with_a_linters_name_is_a_target_like_others(bench: Bench) -> None:
    bench.write("ruff/test_one.py", TEST)
    assert (await bench.run("checks", target="ruff")).data["runner"] == "pytest"


async def test_eslint_of_the_project_is_run(tmp_path: Path) -> None:
    client = ready(ESLINT)
    bench = Bench(tmp_path, environment={**BIN, "PATH": os.environ["PATH"]})
    (tmp_path / "node_modules").symlink_to(client.folder / "node_modules")
    bench.write("eslint.config.mjs", 'export default [{ rules: { "no-unused-vars": "error" } }];\n')
    bench.write("a.js", "const kept = 1;\nlet unused = kept;\n")
    result = await bench.run("checks", target="eslint")
    (lint,) = result.data["lint"]
    assert (lint["status"], lint["count"]) == ("failed", 1), result.output
    found = lint["findings"][0]
    assert (found["file"], found["line"], found["code"]) == ("a.js", 2, "no-unused-vars")


@pytest.mark.parametrize("report", [None, b"", b"{}", b"[1]", b'[{"filename": 1}]', b'[{"messages": [{}]}]', b"\xff"])
@pytest.mark.parametrize("name", ["ruff", "eslint"])
def test_a_report_that_is_none_is_an_error_not_a_pass(name: Any, report: bytes | None) -> None:
    assert read_report(name, report, "", "/r") in (None, []) and (
        report == b"{}" or read_report(name, report, "", "/r") is None
    )


def test_reports_are_read() -> None:
    eslint = [{"filePath": "/r/a.js", "messages": [{"ruleId": None, "message": "a\nb", "line": 3}]}]
    (found,) = read_report("eslint", json.dumps(eslint).encode(), "", "/r") or []
    assert str(found) == "a.js:3:0: error a b"
    printed = (
        "a.py:3: error: no column\nb/c.py:5:7: error: Odd: thing  [call-arg]\nb.py:1:1: note: not one\nFound 2 errors\n"
    )
    assert [str(each) for each in read_report("mypy", None, printed, "/r") or []] == [
        "a.py:3:0: error no column", "b/c.py:5:7: call-arg Odd: thing",
    ]  # fmt: skip
