"""The wrong function or method is called, or a call is too much."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent_core.repair.operators.arguments import signatures
from agent_core.repair.operators.base import Candidate, Clues, Maker, constant_value, operand
from agent_core.repair.operators.relatives import FUNCTIONS, METHODS
from agent_core.repair.operators.scope import attributes_of_self
from agent_core.repair.source import FunctionNode, Region, Replacement, Source, remembered


def wrong_calls(region: Region, clues: Clues) -> Iterator[Candidate]:
    maker = Maker(region, "wrong call")
    for node in region.nodes:
        if isinstance(node, ast.Call):
            yield from _callee(maker, node, signatures(region.source))
            yield from _unwrapped(maker, node)


def _callee(maker: Maker, node: ast.Call, signatures: dict[str, ast.arguments]) -> Iterator[Candidate]:
    source, region = maker.source, maker.region
    if isinstance(node.func, ast.Name):
        for at, other in enumerate(FUNCTIONS.get(node.func.id, ())):
            yield maker.expression(node.func, other, "the wrong function", 0.6 if at == 0 else 0.3)
        own = signatures.get(node.func.id)
        if own is not None:
            for name, arguments in signatures.items():
                if name != node.func.id and len(arguments.args) == len(own.args):
                    yield maker.expression(node.func, name, "the wrong function", 0.25)
    elif isinstance(node.func, ast.Attribute):
        attribute = node.func
        others = [(name, 0.55 if at == 0 else 0.4) for at, name in enumerate(METHODS.get(attribute.attr, ()))]
        if source.segment(attribute.value) == "self":
            others += [(name, 0.25) for name in attributes_of_self(region)["methods"] if not name.startswith("__")]
        else:
            others += [(name, 0.1) for name in methods(source) if attribute.attr in methods(source)]
        end = source.span(attribute)[1]
        for name, prior in dict(reversed(others)).items():
            if name != attribute.attr:
                reason = f"the wrong method: `{attribute.attr}` becomes `{name}` in `{source.segment(node)[:50]}`"
                yield maker.edit(
                    [Replacement(end - len(attribute.attr), end, name)],
                    attribute.end_lineno or node.lineno,
                    reason,
                    prior,
                )
        if attribute.attr == "append" and len(node.args) == 1:
            front = f"{source.segment(attribute.value)}.insert(0, {source.segment(node.args[0])})"
            yield maker.expression(node, front, "the item is put at the wrong end", 0.25)
        if attribute.attr == "pop" and not node.args:
            yield maker.expression(
                node, f"{source.segment(attribute.value)}.pop(0)", "the item is taken from the wrong end", 0.4
            )
        if attribute.attr == "pop" and [constant_value(item) for item in node.args] == [0]:
            yield maker.expression(
                node, f"{source.segment(attribute.value)}.pop()", "the item is taken from the wrong end", 0.4
            )


def _unwrapped(maker: Maker, node: ast.Call) -> Iterator[Candidate]:
    source = maker.source
    if isinstance(node.func, ast.Name) and len(node.args) >= 1 and not isinstance(source.parents[node], ast.Expr):
        for item in node.args[:3]:
            if not isinstance(item, ast.Starred):
                yield maker.expression(
                    node, operand(source, item, 2), "the call is too much", 0.2 if len(node.args) == 1 else 0.1
                )
    elif isinstance(node.func, ast.Attribute):
        if not isinstance(source.parents[node], ast.Expr):
            yield maker.expression(
                node, source.segment(node.func.value), "the call is too much", 0.2 if not node.args else 0.1
            )
        if not node.args and not node.keywords:
            yield maker.expression(
                node, source.segment(node.func), "an attribute is called as if it were a method", 0.08
            )


@remembered
def methods(source: Source) -> list[str]:
    """Methods of the file's classes that take no argument of their own and are no properties."""
    found: dict[str, None] = {}
    for node in ast.walk(source.tree):
        for item in node.body if isinstance(node, ast.ClassDef) else []:
            if (
                isinstance(item, FunctionNode)
                and not item.decorator_list
                and len(item.args.args) == 1
                and not item.name.startswith("__")
            ):
                found[item.name] = None
    return list(found)
