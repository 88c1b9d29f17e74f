"""SECURITY.md: a promise without a test is none, and what it names is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_NAMED = re.compile(r"`([^`]+)`")


def promises(text: str) -> dict[str, list[str]]:
    """What holds each promise, as named in the last cell of its row."""
    found: dict[str, list[str]] = {}
    in_table = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("|") else []
        if cells and cells[0] == "promise":
            in_table = True
        elif not cells:
            in_table = False
        elif in_table and not set(line) <= set("|- "):
            found[cells[0]] = _NAMED.findall(cells[-1])
    return found


def test_each_promise_names_a_test_that_exists() -> None:
    files = {path.name for path in (ROOT / "tests").rglob("*.py")}
    found = promises((ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    assert len(found) > 40
    for promise, names in found.items():
        paths = [name for name in names if "/" in name]
        assert paths or any(name in files for name in names), f"no test: {promise}"
        assert not [path for path in paths if not (ROOT / path).exists()], promise


def test_a_promise_without_one_is_found() -> None:
    page = "| promise | held by |\n|---|---|\n| a | `tests/unit/test_config.py` |\n| b | our word |\n"
    page += "\n| state | x |\n|---|---|\n| c | d |\n"
    assert promises(page) == {"a": ["tests/unit/test_config.py"], "b": []}
