"""Comparisons: boundary, direction, equality, membership, identity, swapped sides."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent_core.repair.operators.base import COMPARE, Candidate, Clues, Maker, operand
from agent_core.repair.source import Region, Replacement

_TEXT: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}

_ALTERNATIVES: dict[str, tuple[tuple[str, str, float], ...]] = {
    "<": (
        ("<=", "the boundary value is left out", 1.0),
        (">", "the comparison points the wrong way", 0.7),
        (">=", "the condition is inverted", 0.6),
        ("!=", "the wrong comparison", 0.15),
    ),
    "<=": (
        ("<", "the boundary value is counted in", 1.0),
        (">=", "the comparison points the wrong way", 0.7),
        (">", "the condition is inverted", 0.6),
        ("==", "the wrong comparison", 0.12),
    ),
    ">": (
        (">=", "the boundary value is left out", 1.0),
        ("<", "the comparison points the wrong way", 0.7),
        ("<=", "the condition is inverted", 0.6),
        ("!=", "the wrong comparison", 0.15),
    ),
    ">=": (
        (">", "the boundary value is counted in", 1.0),
        ("<=", "the comparison points the wrong way", 0.7),
        ("<", "the condition is inverted", 0.6),
        ("==", "the wrong comparison", 0.12),
    ),
    "==": (
        ("!=", "the condition is inverted", 0.7),
        ("<=", "equality is too narrow", 0.3),
        (">=", "equality is too narrow", 0.3),
        ("<", "the wrong comparison", 0.2),
        (">", "the wrong comparison", 0.2),
        ("in", "equality where membership is meant", 0.15),
    ),
    "!=": (
        ("==", "the condition is inverted", 0.7),
        ("<", "the wrong comparison", 0.25),
        (">", "the wrong comparison", 0.25),
        ("not in", "inequality where membership is meant", 0.15),
    ),
    "in": (("not in", "the membership test is inverted", 0.7), ("==", "membership where equality is meant", 0.2)),
    "not in": (("in", "the membership test is inverted", 0.7), ("!=", "membership where equality is meant", 0.2)),
    "is": (("==", "identity where equality is meant", 0.7), ("is not", "the condition is inverted", 0.6)),
    "is not": (("!=", "identity where equality is meant", 0.7), ("is", "the condition is inverted", 0.6)),
}


def comparisons(region: Region, clues: Clues) -> Iterator[Candidate]:
    maker = Maker(region, "comparison")
    for node in region.nodes:
        if not isinstance(node, ast.Compare):
            continue
        left: ast.expr = node.left
        for position, (operator, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            text = _TEXT[type(operator)]
            for other, reason, prior in _ALTERNATIVES[text]:
                replacement = _operator(maker, left, right, text, other)
                if replacement is None:
                    continue
                reason_text = f"{reason}: `{text}` becomes `{other}` in `{maker.source.segment(node)}`"
                yield maker.edit([replacement], left.end_lineno or node.lineno, reason_text, prior)
            if position == 0 and len(node.ops) == 1:
                yield from _whole(maker, node, text)
            left = right


def _operator(maker: Maker, left: ast.expr, right: ast.expr, old: str, new: str) -> Replacement | None:
    """The operator's text between two operands; None where a comment or line break hides it."""
    start, end = maker.source.span(left)[1], maker.source.span(right)[0]
    between = maker.source.text[start:end]
    at = between.find(old)
    if at < 0 or "#" in between or " ".join(between.strip("()\\ \n\t").split()) != old:
        return None
    return Replacement(start + at, start + at + len(old), new)


def _whole(maker: Maker, node: ast.Compare, text: str) -> Iterator[Candidate]:
    """Edits of a simple comparison as a whole: swapped sides of a membership test, a remainder, a length."""
    left, right = node.left, node.comparators[0]
    source = maker.source
    if text in ("in", "not in"):
        swapped = f"{operand(source, right, COMPARE + 1)} {text} {operand(source, left, COMPARE + 1)}"
        yield maker.expression(node, swapped, "the sides of the membership test are swapped", 0.25)
        if not isinstance(right, ast.Constant | ast.List | ast.Tuple | ast.Set):
            for view in ("values()", "keys()"):
                yield maker.expression(
                    right,
                    f"{operand(source, right, 18)}.{view}",
                    "the test looks at the wrong part of the mapping",
                    0.08,
                )
    if text in ("<", "<=", ">", ">="):
        for side in (left, right):
            if isinstance(side, ast.Name | ast.Attribute):
                yield maker.expression(
                    side, f"len({source.segment(side)})", "a size is compared, not the thing itself", 0.08
                )
                yield maker.expression(side, f"abs({source.segment(side)})", "the sign must not count", 0.08)
            elif isinstance(side, ast.BinOp) and isinstance(side.op, ast.Sub):
                yield maker.expression(
                    side, f"abs({source.segment(side)})", "the sign of the difference must not count", 0.3
                )
