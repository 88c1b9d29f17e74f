"""An operand that is missing: `total` where `total + step` is meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from agent_core.repair.operators.base import BINARY, Candidate, Clues, Maker, operand
from agent_core.repair.operators.scope import kinds, may_be_number, numbers
from agent_core.repair.source import Region

_OPERATORS = (("+", ast.Add, 0.14), ("-", ast.Sub, 0.1), ("*", ast.Mult, 0.1), ("%", ast.Mod, 0.04))
MAX_OTHERS = 8


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
