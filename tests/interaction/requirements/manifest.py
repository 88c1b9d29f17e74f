"""All rules, and which tests name which of them; read from the tests' source, so nothing has to run."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from tests.interaction.requirements import (
    cancel,
    chain,
    clients,
    compaction,
    connection,
    errors,
    events,
    http,
    lanes,
    mechanisms,
    operation,
    process,
    settings,
    steering,
    tools,
)
from tests.interaction.requirements.rule import Rule

AREAS: tuple[ModuleType, ...] = (
    connection,
    lanes,
    events,
    errors,
    chain,
    cancel,
    steering,
    compaction,
    settings,
    tools,
    http,
    mechanisms,
    operation,
    process,
    clients,
)
RULES: dict[str, Rule] = {rule.id: rule for area in AREAS for rule in area.RULES}
ROOT = Path(__file__).resolve().parents[3]
FILES = ("tests/interaction/service/test_*.py", "tests/interaction/clients/test_*.py", "tests/fuzz/test_service*.py")
"""Where every test has to name its rule."""


class MarkedTest(NamedTuple):
    """`rules` are the ids that it names."""

    path: str
    name: str
    rules: tuple[str, ...]

    @property
    def id(self) -> str:
        return f"{self.path}::{self.name}"


def marked_tests() -> Iterator[MarkedTest]:
    for pattern in FILES:
        for path in sorted(ROOT.glob(pattern)):
            shared = str(path.relative_to(ROOT))
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                    yield MarkedTest(shared, node.name, tuple(_rules(node)))


def named_by() -> dict[str, list[MarkedTest]]:
    found: dict[str, list[MarkedTest]] = defaultdict(list)
    for test in marked_tests():
        for rule in test.rules:
            found[rule].append(test)
    return dict(found)


def _rules(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.rule":
            for argument in mark.args:
                assert isinstance(argument, ast.Constant), f"{node.name}: a rule is named by a plain string"
                yield str(argument.value)
