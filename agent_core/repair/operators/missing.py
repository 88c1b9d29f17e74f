"""What lacks a part: an operand of a sum (`total` where `total + step` is meant), an element of a written row."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TypeGuard

from agent_core.repair.operators.base import BINARY, Candidate, Clues, Maker, called_name, constant_value, operand
from agent_core.repair.operators.scope import kinds, may_be_number, numbers
from agent_core.repair.source import Region, Replacement

_OPERATORS = (("+", ast.Add, 0.14), ("-", ast.Sub, 0.1), ("*", ast.Mult, 0.1), ("%", ast.Mod, 0.04))
MAX_OTHERS = 8
Written = ast.Tuple | ast.List | ast.Set
MAX_ELEMENTS = 40
MAX_NEW = 12
"""New elements that are offered to one place."""
_TAKE_A_TUPLE = ("startswith", "endswith", "isinstance", "issubclass", "frozenset", "set")


def missing_operands(region: Region, clues: Clues) -> Iterator[Candidate]:
    maker = Maker(region, "operator")
    for node in region.nodes:
        if _is_value(node, region) and may_be_number(region, node):
            text = maker.source.segment(node)
            sure = kinds(region).get(text) == "number"
            for other in [name for name in numbers(region, node) if name != text][:MAX_OTHERS]:
                for sign, kind, prior in _OPERATORS:
                    made = f"{operand(maker.source, node, BINARY[kind])} {sign} {other}"
                    yield maker.expression(node, made, "an operand is missing", prior * (1.0 if sure else 0.7))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and _is_gathered(maker, node):
            for base in ("10", "2"):
                made = f"{maker.source.segment(node.left)} * {base}"
                yield maker.expression(node.left, made, "digits are gathered, so what is there moves up", 0.1)


def _is_value(node: ast.AST, region: Region) -> TypeGuard[ast.expr]:
    """A name or an item that is handed on: assigned, returned, compared, passed."""
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return False
    parent = region.source.parents[node]
    if isinstance(parent, ast.Call):
        return node is not parent.func
    return isinstance(
        parent, ast.Assign | ast.AugAssign | ast.Return | ast.Yield | ast.Tuple | ast.Compare | ast.keyword
    )


def _is_gathered(maker: Maker, node: ast.BinOp) -> bool:
    """`x = x + y`."""
    parent = maker.source.parents[node]
    return (
        isinstance(parent, ast.Assign)
        and isinstance(node.left, ast.Name)
        and node.left.id in [target.id for target in parent.targets if isinstance(target, ast.Name)]
    )


def elements(region: Region, clues: Clues) -> Iterator[Candidate]:
    """A written row of constants that is asked for membership or has a name."""
    maker = Maker(region, "missing element")
    for node in region.nodes:
        if not isinstance(node, Written) or not 0 < len(node.elts) <= MAX_ELEMENTS:
            continue
        values = [constant_value(item) for item in node.elts]
        prior = _prior(region, node)
        if not prior or ... in values or len({type(value) for value in values}) > 1:
            continue
        for text, factor, at_start in _new(maker, node, values, clues):
            yield _added(maker, node, text, at_start=at_start, prior=prior * factor)
        yield from _taken(Maker(region, "extra element"), node, 0.2 * prior)


def _prior(region: Region, node: Written) -> float:
    """How likely a row is to lack something, by what is done with it; 0.0 where its length is fixed by its use."""
    parent = region.source.parents.get(node)
    if isinstance(parent, ast.Compare) and isinstance(parent.ops[-1], ast.In | ast.NotIn):
        return 0.55
    if isinstance(parent, ast.Call) and called_name(parent) in _TAKE_A_TUPLE:
        return 0.4
    if isinstance(parent, ast.For | ast.comprehension) and parent.iter is node:
        return 0.3
    if isinstance(parent, ast.Assign | ast.AnnAssign) and not isinstance(node, ast.Tuple):
        return 0.25
    return 0.25 if isinstance(parent, ast.Assign | ast.AnnAssign) and region.is_module else 0.0


def _new(maker: Maker, node: Written, values: Sequence[object], clues: Clues) -> Iterator[tuple[str, float, bool]]:
    """(text, factor, at the start) of what may be missing: the row's own continuation first, then what the failing
    tests mention."""
    numbers = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    steps = {after - before for before, after in zip(numbers, numbers[1:], strict=False)}
    told: list[str] = []
    if len(numbers) == len(values) and len(steps) == 1 and (step := steps.pop()):
        told = [str(numbers[-1] + step), str(numbers[0] - step)]
        yield told[0], 1.0, False
        yield told[1], 0.8, True
    quote = maker.source.segment(node.elts[0])[:1]
    for value in clues.constants:
        if type(value) is not type(values[0]) or value in values or len(told) >= MAX_NEW:
            continue
        text = repr(value)
        if isinstance(value, str):
            if not value or len(value) > 40 or not value.isprintable():
                continue
            text = f'"{value}"' if quote == '"' and not set(value) & {'"', "\\"} else text
        if text not in told:
            told.append(text)
            yield text, 0.3, False


def _added(maker: Maker, node: Written, text: str, *, at_start: bool, prior: float) -> Candidate:
    reason = f"an element is missing in `{maker.source.segment(node)[:60]}`: `{text}`"
    if at_start:
        at = maker.source.span(node.elts[0])[0]
        return maker.edit([Replacement(at, at, f"{text}, ")], node.lineno, reason, prior)
    at = maker.source.span(node.elts[-1])[1]
    return maker.edit([Replacement(at, at, f", {text}")], node.lineno, reason, prior)


def _taken(maker: Maker, node: Written, prior: float) -> Iterator[Candidate]:
    if len(node.elts) < 3:
        return
    for at, item in enumerate(node.elts[:MAX_ELEMENTS]):
        start, end = maker.source.span(item)
        if at + 1 < len(node.elts):
            end = maker.source.span(node.elts[at + 1])[0]
        else:
            start = maker.source.span(node.elts[at - 1])[1]
        reason = f"an element is too many: `{maker.source.segment(item)}`"
        yield maker.edit([Replacement(start, end, "")], item.lineno, reason, prior)
