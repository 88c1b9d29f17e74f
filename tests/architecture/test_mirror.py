"""The table of tests/README.md: where the tests of a module are, and that no module is without."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.support.suite.quick import graph, module_of

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
ROW = re.compile(r"^\| `([^`]+)` \| (.+?)( as processes)? \|$", re.MULTILINE)
STARTERS = frozenset(
    f"tests.support.{name}"
    for name in (
        "system.cli",
        "service.running",
        "service.serving",
        "lsp.client",
        "editors.nvim",
        "editors.vscode",
        "terminal.pty",
        "web.running",
    )
)
"""What starts the programs. A test that starts one by hand has `sys.executable`."""
BENCH = "by `make bench` alone"
NOT_WRITTEN = ("/__init__.py", "/sample/", "/generated/")


@dataclass(frozen=True)
class Row:
    source: str
    tests: tuple[str, ...]
    processes: bool

    @property
    def files(self) -> list[str]:
        """Paths of the files of tests that the row names, from the root."""
        named = [TESTS / name for name in self.tests]
        found = [path for place in named for path in (place.rglob("test_*.py") if place.is_dir() else [place])]
        return [str(path.relative_to(ROOT)) for path in found]


def rows() -> list[Row]:
    text = (TESTS / "README.md").read_text().partition("## What covers what")[2].partition("\n## ")[0]
    return [
        Row(source, () if tests.startswith(BENCH) else tuple(re.findall(r"`([^`]+)`", tests)), bool(how))
        for source, tests, how in ROW.findall(text)
    ]


def sources() -> list[str]:
    """Modules that people write."""
    ours = (path for path in imported() if not path.startswith("tests/"))
    return sorted(path for path in ours if not any(part in path for part in NOT_WRITTEN))


@cache
def imported() -> dict[str, frozenset[str]]:
    return graph()


@cache
def reached(path: str) -> frozenset[str]:
    """Files that a file imports, at any remove, and itself."""
    by_module = {module_of(each): each for each in imported()}
    seen, left = {path}, [path]
    while left:
        new = {by_module[module] for module in imported()[left.pop()]} - seen
        seen |= new
        left += new
    return frozenset(seen)


def row_of(path: str) -> Row | None:
    fitting = [row for row in rows() if path == row.source or path.startswith(row.source.rstrip("/") + "/")]
    return max(fitting, key=lambda row: len(row.source), default=None)


def test_what_the_table_names_is_there() -> None:
    assert len(rows()) > 20
    for row in rows():
        assert (ROOT / row.source).exists(), row.source
        assert row.tests or row.source.startswith("agent_core/bench/"), row.source
        for name in row.tests:
            assert (TESTS / name).exists(), f"{row.source}: {name}"


def test_no_module_is_without_tests_that_reach_it() -> None:
    without = []
    for path in sources():
        row = row_of(path)
        if row is None:
            without.append(f"{path} has no row")
        elif row.source == path and not row.tests:
            continue
        elif not (row.processes and starts_programs(row)) and not any(path in reached(test) for test in row.files):
            without.append(f"{path} is reached by none of {', '.join(row.tests)}")
    assert without == []


def starts_programs(row: Row) -> bool:
    return any(imported()[test] & STARTERS or "sys.executable" in (ROOT / test).read_text() for test in row.files)


@pytest.mark.parametrize("room", ["unit"])
def test_every_folder_of_units_is_one_of_the_source(room: str) -> None:
    """`unit/` mirrors the tree, so that whoever knows the one knows the other."""
    strays = [
        str(path.relative_to(TESTS))
        for path in sorted((TESTS / room).rglob("*"))
        if path.is_dir() and any(path.glob("test_*.py"))
        and not any((ROOT / base / path.relative_to(TESTS / room)).is_dir() for base in ("", "agent_core"))
    ]  # fmt: skip
    assert strays == []


def test_no_two_helpers_have_one_name() -> None:
    """What tests share is found by its name, so a public name is borne once in tests/support."""
    pattern = re.compile(r"^(?:async )?(?:def|class) ([a-zA-Z]\w*)", re.MULTILINE)
    homes: dict[str, list[str]] = {}
    for path in sorted((TESTS / "support").rglob("*.py")):
        for name in set(pattern.findall(path.read_text())) - {"main"}:
            homes.setdefault(name, []).append(path.name)
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
