"""Boolean logic: `and` for `or`, a missing or superfluous `not`, a superfluous part, wrong grouping."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent_core.repair.operators.base import NOT, Candidate, Clues, Maker, operand
from agent_core.repair.source import Region, Replacement, Source


def conditions(region: Region) -> list[ast.expr]:
    """Expressions that decide what happens next."""
    found: list[ast.expr] = []
    for node in region.nodes:
        if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
            found.append(node.test)
        elif isinstance(node, ast.comprehension):
            found.extend(node.ifs)
    return found


def boolean_logic(region: Region, clues: Clues) -> Iterator[Candidate]:
    maker = Maker(region, "boolean logic")
    for node in region.nodes:
        if isinstance(node, ast.BoolOp):
            yield from _connective(maker, node)
    for test in conditions(region):
        yield from _negation(maker, test, 0.5)
        for constant in ("True", "False"):
            yield maker.expression(test, constant, "the condition does not belong here", 0.03)
    for node in region.nodes:
        if isinstance(node, ast.Return) and node.value is not None and _is_truth(region, node.value):
            yield from _negation(maker, node.value, 0.35)


def negated(source: Source, node: ast.expr) -> str:
    """The opposite of a condition, written as simply as possible."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return source.segment(node.operand)
    return f"not {operand(source, node, NOT)}"


def _negation(maker: Maker, node: ast.expr, prior: float) -> Iterator[Candidate]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return  # the comparison's own opposite reads better
    opposite = negated(maker.source, node)
    natural = 1.5 if isinstance(node, ast.UnaryOp) else 1.0  # a `not` that is there was put there
    yield maker.expression(node, opposite, "the condition is inverted", prior * natural)


def _is_truth(region: Region, node: ast.expr) -> bool:
    """Whether a returned value is a truth value by its form or by the name of its function."""
    if isinstance(node, ast.BoolOp) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        return True
    named = region.name.lstrip("_").startswith(("is_", "has_", "can_", "should_", "all_", "any_", "contains"))
    return named or (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("any", "all", "bool", "isinstance")
    )


def _connective(maker: Maker, node: ast.BoolOp) -> Iterator[Candidate]:
    source = maker.source
    old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    replacements: list[Replacement] = []
    for left, right in zip(node.values, node.values[1:], strict=False):
        start, end = source.span(left)[1], source.span(right)[0]
        between = source.text[start:end]
        at = between.find(old)
        if "#" in between or between.strip("()\\ \n\t") != old:
            return
        replacements.append(Replacement(start + at, start + at + len(old), new))
    reason = f"`{old}` where `{new}` is meant in `{source.segment(node)}`"
    yield maker.edit(replacements, node.lineno, reason, 0.6)
    for at, value in enumerate(node.values):
        rest = [item for item in node.values if item is not value]
        level = 4 if old == "or" else 5
        text = (
            source.segment(rest[0])
            if len(rest) == 1
            else f" {old} ".join(operand(source, item, level + 1) for item in rest)
        )
        yield maker.expression(node, text, "one part of the condition is too much", 0.22)
        if not (isinstance(value, ast.Compare) and len(value.ops) == 1):
            yield maker.expression(value, negated(source, value), "one part of the condition is inverted", 0.35)
        if len(node.values) > 2 and at < len(replacements):
            yield maker.edit([replacements[at]], node.lineno, f"{reason}, at one place", 0.2)
        if old == "or" and isinstance(value, ast.BoolOp) and isinstance(value.op, ast.And):
            yield from _regrouped(maker, node, at, value)


def _regrouped(maker: Maker, node: ast.BoolOp, at: int, inner: ast.BoolOp) -> Iterator[Candidate]:
    """`a or b and c` as `(a or b) and c`, or `a and b or c` as `a and (b or c)`."""
    source = maker.source
    before = [operand(source, item, 5) for item in node.values[:at]]
    after = [operand(source, item, 5) for item in node.values[at + 1 :]]
    parts = [operand(source, item, 6) for item in inner.values]
    if before:
        parts[0] = "(" + " or ".join([*before, parts[0]]) + ")"
    if after:
        parts[-1] = "(" + " or ".join([parts[-1], *after]) + ")"
    yield maker.expression(node, " and ".join(parts), "brackets are missing", 0.35)
