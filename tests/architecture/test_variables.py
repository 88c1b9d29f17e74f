"""The environment of this process is read through `agent_core/variables.py`, which owns the keys in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAY = {
    "agent_core/variables.py": "the owner",
    "agent_core/launch.py": "PATH, for the browser that a library starts",
    "agent_core/cli/app.py": "sets the switch of quick benchmarks",
    "agent_core/bench/scale.py": "reads it",
    "agent_core/tools/sandbox/landlock.py": "it is the command's own, which was made from a list",
    "agent_core/repair/scripts/": "run as a command of the agent, with its environment",
    "agent_core/demo/sample/": "a project, not ours",
}


def looks(tree: ast.AST) -> Iterator[int]:
    """Lines that reach for the process's environment."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv", "getenvb"):
            yield node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module == "os":
            yield from (node.lineno for alias in node.names if alias.name.startswith(("environ", "getenv")))


def test_nobody_else_reads_it() -> None:
    wrong = []
    for package in ("agent_core", "lsp_server", "dashboard"):
        for path in sorted((ROOT / package).rglob("*.py")):
            relative = path.relative_to(ROOT).as_posix()
            if not relative.startswith(tuple(MAY)):
                wrong += [f"{relative}:{line}" for line in looks(ast.parse(path.read_text(encoding="utf-8")))]
    assert not wrong, "ask agent_core.variables.variables()"


@pytest.mark.parametrize("code", ["os.environ['A']", "x = os.getenv('A')", "from os import environ as e"])
def test_each_way_is_found(code: str) -> None:
    assert list(looks(ast.parse(code)))
