"""Off by one: indices, bounds of ranges and slices, compared and returned numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent_core.repair.operators.base import Candidate, Clues, Maker, called_name, constant_value, is_int, operand
from agent_core.repair.operators.scope import kinds
from agent_core.repair.source import Region, Source

_NOT_NUMBERS = (
    ast.JoinedStr, ast.List, ast.Dict, ast.Set, ast.Tuple, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
    ast.Compare, ast.BoolOp, ast.Lambda, ast.Starred, ast.Slice, ast.Await, ast.Yield, ast.YieldFrom,
)  # fmt: skip
_NUMBER_CALLS = {
    "len",
    "int",
    "sum",
    "min",
    "max",
    "abs",
    "round",
    "index",
    "find",
    "rfind",
    "count",
    "bisect_left",
    "bisect_right",
}
_REASON = "the value is off by one"
_BEYOND = 1.0
"""A length that leads to an index which is out of range mostly lacks its `- 1`."""


def off_by_one(region: Region, clues: Clues) -> Iterator[Candidate]:
    maker = Maker(region, "off by one")
    known = kinds(region)
    for node, prior in _numbers(region, clues):
        if known.get(ast.unparse(node)) in ("truth", "text", "list", "map", "set"):
            continue
        beyond = clues.has_error("IndexError") and isinstance(node, ast.Call) and called_name(node) == "len"
        for text, factor in neighbours(maker.source, node):
            likely = beyond and text.endswith(" - 1")
            yield maker.expression(node, text, _REASON, max(prior, _BEYOND) if likely else prior * factor)


def _numbers(region: Region, clues: Clues) -> Iterator[tuple[ast.expr, float]]:
    """Expressions that count something, with how often such a place is off by one."""
    for node in region.nodes:
        found: list[tuple[ast.expr | None, float]] = []
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            found = [(node.slice.lower, 0.5), (node.slice.upper, 0.5)]
        elif isinstance(node, ast.Subscript):
            items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            found = [(item, 0.45) for item in items]
        elif isinstance(node, ast.Call):
            name = called_name(node)
            prior = 0.6 if name in ("range", "islice") else 0.3 if region.is_self_call(node) else 0.12
            found = [(item, prior) for item in [*node.args, *(keyword.value for keyword in node.keywords)]]
        elif isinstance(node, ast.Compare):
            numeric = any(isinstance(item, ast.Lt | ast.LtE | ast.Gt | ast.GtE | ast.Eq) for item in node.ops)
            found = [(item, 0.3 if numeric else 0.05) for item in [node.left, *node.comparators]]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            found = [(node.value, (0.6 if clues.hangs else 0.3) if _moves_loop(region, node) else 0.2)]
            if isinstance(node.value, ast.Tuple):
                found = [(item, 0.2) for item in node.value.elts]
        elif isinstance(node, ast.AugAssign):
            found = [(node.value, 0.15)]
        elif isinstance(node, ast.Return):
            found = [(node.value, 0.25)]
            if isinstance(node.value, ast.Tuple):
                found = [(item, 0.2) for item in node.value.elts]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mod | ast.Mult | ast.Div):
            found = [(node.left, 0.24), (node.right, 0.15)]
        for item, prior in found:
            for part in (item.body, item.orelse) if isinstance(item, ast.IfExp) else ():
                if _may_count(part):
                    yield part, prior
            if item is not None and _may_count(item):
                yield item, prior


def _moves_loop(region: Region, node: ast.Assign | ast.AnnAssign) -> bool:
    """Whether a `while` around the assignment looks at what is assigned: without a step ahead it never ends."""
    loop = region.source.loop_of(node)
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    looked_at = {ast.unparse(part) for part in ast.walk(loop.test)} if isinstance(loop, ast.While) else set()
    return any(ast.unparse(target) in looked_at for target in targets)


def _may_count(node: ast.expr) -> bool:
    if isinstance(node, _NOT_NUMBERS):
        return False
    if isinstance(node, ast.Constant | ast.UnaryOp):
        return is_int(node) or (isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not))
    if isinstance(node, ast.Call):
        name = called_name(node)
        return name in _NUMBER_CALLS
    return True


def neighbours(source: Source, node: ast.expr) -> Iterator[tuple[str, float]]:
    """One more and one less, written the simplest way, with a factor for how natural that is."""
    value = constant_value(node)
    if is_int(node) and isinstance(value, int):
        yield str(value + 1), 1.0
        yield str(value - 1), 1.0
        return
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) and is_int(node.right):
        step = constant_value(node.right)
        assert isinstance(step, int)
        step = step if isinstance(node.op, ast.Add) else -step
        left = source.segment(node.left)
        for change in (1, -1):
            total = step + change
            text = left if total == 0 else f"{left} {'+' if total > 0 else '-'} {abs(total)}"
            yield text, 1.3 if total == 0 else 0.6
        return
    text = operand(source, node, 12)
    yield f"{text} + 1", 1.0
    yield f"{text} - 1", 1.0
