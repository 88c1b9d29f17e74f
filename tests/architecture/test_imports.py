"""No circle of modules, whatever kind of import closes it, and folders that can be taken in at a glance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("agent_core", "lsp_server", "dashboard")

MAX_MODULES = 20
LARGER = {"agent_core/bench": 24, "agent_core/repair/operators": 23, "agent_core/wire": 22}
"""Folders that may hold more, and how many."""


def _circles(imports: Mapping[str, set[str]]) -> Iterator[set[str]]:
    """Strongly connected groups of more than one module (Tarjan 1972, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    for start in imports:
        if start in index:
            continue
        index[start] = low[start] = len(index)
        stack.append(start)
        work = [(start, iter(imports[start]))]
        while work:
            module, left = work[-1]
            for other in left:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    work.append((other, iter(imports[other])))
                    break
                if other in stack:
                    low[module] = min(low[module], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[module])
                if low[module] == index[module]:
                    at = stack.index(module)
                    group, stack[at:] = set(stack[at:]), []
                    if len(group) > 1:
                        yield group


def test_no_circle_of_modules_by_imports_of_any_kind() -> None:
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=False, cache_dir=None)
    imports = {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}
    assert [sorted(group) for group in _circles(imports)] == []


def test_circles_are_found() -> None:
    tree = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": set[str](), "f": {"g"}, "g": {"f"}}
    assert sorted(map(sorted, _circles(tree))) == [["a", "b", "c"], ["f", "g"]]


def test_no_folder_holds_more_modules_than_one_can_take_in() -> None:
    over = {}
    for package in PACKAGES:
        for folder in (ROOT / package, *(path for path in (ROOT / package).rglob("*") if path.is_dir())):
            place = str(folder.relative_to(ROOT))
            count = sum(1 for path in folder.glob("*.py") if path.name != "__init__.py")
            if count > LARGER.get(place, MAX_MODULES):
                over[place] = count
    assert over == {}
