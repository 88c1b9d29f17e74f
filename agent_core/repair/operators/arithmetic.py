"""Arithmetic: wrong operator, swapped or superfluous operand, wrong sign, wrong grouping."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent_core.repair.operators.base import BINARY, UNARY, Candidate, Clues, Maker, constant_value, operand
from agent_core.repair.source import Region, Replacement

_TEXT: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.MatMult: "@",
}  # fmt: skip

_OTHERS: dict[str, tuple[tuple[str, float], ...]] = {
    "+": (("-", 0.6), ("*", 0.25)),
    "-": (("+", 0.6), ("*", 0.1), ("/", 0.08), ("%", 0.08)),
    "*": (("/", 0.4), ("+", 0.35), ("**", 0.3), ("//", 0.2), ("-", 0.1)),
    "/": (("//", 0.35), ("*", 0.4), ("%", 0.2)),
    "//": (("/", 0.6), ("%", 0.4), ("*", 0.2)),
    "%": (("//", 0.45), ("/", 0.2), ("*", 0.1)),
    "**": (("*", 0.5),),
    "&": (("|", 0.5), ("^", 0.4), ("-", 0.15)),
    "|": (("&", 0.5), ("^", 0.4)),
    "^": (("&", 0.45), ("|", 0.4), ("**", 0.35)),
    "<<": ((">>", 0.6),),
    ">>": (("<<", 0.6),),
}
_ACCUMULATED: dict[str, tuple[tuple[str, float], ...]] = {"+": (("-", 0.6), ("*", 0.5))}
"""The same for `+=` and the like: what grows step by step may have to grow by a factor."""
_ORDERED = ("-", "/", "//", "%", "**", "<<", ">>")
"""Operators whose operands can't be swapped without a change, numbers given."""


def arithmetic(region: Region, clues: Clues) -> Iterator[Candidate]:
    maker = Maker(region, "operator")
    for node in region.nodes:
        if isinstance(node, ast.BinOp):
            yield from _binary(maker, node)
            yield from _grouping(maker, node)
        elif isinstance(node, ast.AugAssign):
            yield from _augmented(maker, node)
        elif isinstance(node, ast.UnaryOp):
            yield from _unary(maker, node)
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Name | ast.Attribute | ast.Call):
            yield maker.expression(node.value, f"-{maker.source.segment(node.value)}", "the sign is wrong", 0.06)


def _binary(maker: Maker, node: ast.BinOp) -> Iterator[Candidate]:
    source, text = maker.source, _TEXT[type(node.op)]
    if (
        text == "%"
        and isinstance(node.left, ast.Constant | ast.JoinedStr)
        and isinstance(constant_value(node.left), str)
    ):
        return
    for other, prior in _OTHERS.get(text, ()):
        replacement = _operator(maker, node.left, node.right, text, other)
        if replacement is not None:
            reason = f"the wrong operator: `{text}` becomes `{other}` in `{source.segment(node)}`"
            line = node.left.end_lineno or node.lineno
            yield maker.edit([replacement], line, reason, prior)
    level = BINARY[type(node.op)]
    left, right = operand(source, node.left, level), operand(source, node.right, level + 1)
    if text in _ORDERED or (text == "+" and not isinstance(constant_value(node.right), int | float)):
        swapped = f"{operand(source, node.right, level)} {text} {operand(source, node.left, level + 1)}"
        yield maker.expression(node, swapped, "the operands are swapped", 0.4 if text in _ORDERED else 0.2)
    small = isinstance(constant_value(node.right), int)
    yield maker.expression(node, left, "one operand too many", 0.3 if small else 0.12)
    yield maker.expression(
        node, right, "one operand too many", 0.3 if isinstance(constant_value(node.left), int) else 0.1
    )
    if text == "-":
        yield maker.expression(node, f"abs({source.segment(node)})", "the sign of the difference must not count", 0.1)
    if text == "/":
        yield maker.expression(node, f"round({source.segment(node)})", "the quotient must be rounded", 0.08)


def _augmented(maker: Maker, node: ast.AugAssign) -> Iterator[Candidate]:
    text = _TEXT[type(node.op)]
    for other, prior in _ACCUMULATED.get(text) or _OTHERS.get(text, ()):
        replacement = _operator(maker, node.target, node.value, f"{text}=", f"{other}=")
        if replacement is not None:
            reason = f"the wrong operator: `{text}=` becomes `{other}=` in `{maker.source.segment(node)}`"
            yield maker.edit([replacement], node.lineno, reason, prior)
    replacement = _operator(maker, node.target, node.value, f"{text}=", "=")
    if replacement is not None:
        reason = (
            f"a value is accumulated that must be replaced: `{text}=` becomes `=` in `{maker.source.segment(node)}`"
        )
        yield maker.edit([replacement], node.lineno, reason, 0.3)


def _operator(maker: Maker, left: ast.expr, right: ast.expr, old: str, new: str) -> Replacement | None:
    start, end = maker.source.span(left)[1], maker.source.span(right)[0]
    between = maker.source.text[start:end]
    at = between.find(old)
    if at < 0 or "#" in between or between.strip("()\\ \n\t") != old:
        return None
    return Replacement(start + at, start + at + len(old), new)


def _unary(maker: Maker, node: ast.UnaryOp) -> Iterator[Candidate]:
    if isinstance(node.op, ast.USub | ast.Invert):
        yield maker.expression(node, operand(maker.source, node.operand, UNARY), "the sign is wrong", 0.4)


def _grouping(maker: Maker, node: ast.BinOp) -> Iterator[Candidate]:
    """`a + b / c` against `(a + b) / c`, and the way back."""
    source, outer = maker.source, BINARY[type(node.op)]
    text = _TEXT[type(node.op)]
    right, left = node.right, node.left
    if isinstance(right, ast.BinOp):
        inner, inner_text = BINARY[type(right.op)], _TEXT[type(right.op)]
        first = f"{operand(source, left, outer)} {text} {operand(source, right.left, outer + 1)}"
        if inner > outer:
            grouped = f"({first}) {inner_text} {operand(source, right.right, inner + 1)}"
            yield maker.expression(node, grouped, "brackets are missing", 0.3)
        elif inner < outer or (inner == outer and text in _ORDERED):
            flat = f"{first} {inner_text} {operand(source, right.right, inner + 1)}"
            yield maker.expression(node, flat, "the brackets are wrong", 0.2)
    if isinstance(left, ast.BinOp):
        inner, inner_text = BINARY[type(left.op)], _TEXT[type(left.op)]
        last = f"{operand(source, left.right, outer)} {text} {operand(source, right, outer + 1)}"
        if inner > outer or (inner == outer and inner_text in _ORDERED):
            grouped = f"{operand(source, left.left, inner)} {inner_text} ({last})"
            yield maker.expression(node, grouped, "brackets are missing", 0.25)
        elif inner < outer:
            yield maker.expression(
                node, f"{operand(source, left.left, inner)} {inner_text} {last}", "the brackets are wrong", 0.2
            )
