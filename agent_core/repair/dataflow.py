"""Where a value came from, inside one function: steps from a statement to the one that shows the failure. Pure.

Flow is followed by name (`x`, `self.x`) over all assignments of the function that precede the use or share a loop with
it, and by the conditions that decide whether a statement runs. That over-counts a little and misses nothing inside.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable

from agent_core.repair.source import Region, Source


def distances(region: Region, lines: Iterable[int]) -> dict[int, int]:
    """Line -> steps back from the nearest of `lines` along data and conditions. Lines out of reach are absent."""
    source = region.source
    writers: dict[str, list[ast.stmt]] = {}
    for statement in region.statements:
        for name in written(statement):
            writers.setdefault(name, []).append(statement)
    wanted = set(lines)
    start = [item for item in region.statements if wanted & set(_own_lines(item))]
    found: dict[ast.stmt, int] = dict.fromkeys(start, 0)
    queue = deque(start)
    while queue:
        statement = queue.popleft()
        reached: list[ast.stmt] = []
        for name in read(statement):
            reached += [item for item in writers.get(name, ()) if _may_precede(source, item, statement)]
        parent = source.parents.get(statement)
        if isinstance(parent, ast.stmt) and parent is not region.node:
            reached.append(parent)
        for item in reached:
            if item not in found:
                found[item] = found[statement] + 1
                queue.append(item)
    steps: dict[int, int] = {}
    for statement, distance in found.items():
        for line in _own_lines(statement):
            steps[line] = min(distance, steps.get(line, distance))
    return steps


def written(statement: ast.stmt) -> set[str]:
    """Names and attributes that a statement binds or changes itself (not the statements inside it)."""
    names: set[str] = set()
    for node in _own_nodes(statement):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            names.add(ast.unparse(node))
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            names.add(ast.unparse(node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            names.add(ast.unparse(node.func.value))  # a method may change what it is called on
    return names


def read(statement: ast.stmt) -> set[str]:
    """Names and attributes that a statement looks at itself."""
    return {
        ast.unparse(node)
        for node in _own_nodes(statement)
        if isinstance(node, ast.Name | ast.Attribute)
        and (isinstance(node.ctx, ast.Load) or isinstance(statement, ast.AugAssign))
    }


def _own_nodes(statement: ast.stmt) -> list[ast.AST]:
    found: list[ast.AST] = []
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        found.append(node)
        stack.extend(
            child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt | ast.ExceptHandler)
        )
    return found


def _own_lines(statement: ast.stmt) -> range:
    """The lines of a statement without those of the statements inside it."""
    inner = [
        item[0].lineno
        for name in ("body", "cases")
        if isinstance(item := getattr(statement, name, None), list) and item and hasattr(item[0], "lineno")
    ]
    last = min(inner) - 1 if inner else statement.end_lineno or statement.lineno
    return range(statement.lineno, max(last, statement.lineno) + 1)


def _may_precede(source: Source, writer: ast.stmt, reader: ast.stmt) -> bool:
    return writer.lineno <= reader.lineno or source.loop_of(reader) is not None
