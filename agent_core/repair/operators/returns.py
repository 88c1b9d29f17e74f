"""What a function gives back: wrong, missing, too early; a missing `else`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent_core.repair.operators.base import Candidate, Clues, Maker, brief
from agent_core.repair.operators.scope import attributes_of_self, kinds, readable
from agent_core.repair.source import FunctionNode, Region, Replacement


def returns(region: Region, clues: Clues) -> Iterator[Candidate]:
    if region.is_module:
        return
    maker = Maker(region, "wrong return")
    for node in region.nodes:
        if isinstance(node, ast.Return):
            yield from _value(maker, node)
            yield from _place(maker, node)
        elif isinstance(node, ast.Expr):
            yield from _yielding(maker, node)
    yield from _missing(maker)


def missing_else(region: Region, clues: Clues) -> Iterator[Candidate]:
    maker = Maker(region, "missing else")
    for node in region.nodes:
        if isinstance(node, ast.If) and not node.orelse and maker.stands_alone(node):
            yield from _else(maker, node, 3.0 if clues.has_error("UnboundLocalError") else 1.0)


def _values(region: Region) -> list[tuple[str, float]]:
    """What the function may give back, by what it builds and what it gives back elsewhere."""
    known = kinds(region)
    found: dict[str, float] = {}
    changed = [name for name in reversed(region.locals) if name not in region.parameters]
    given = [
        ast.unparse(node.value) for node in region.nodes if isinstance(node, ast.Return) and node.value is not None
    ]
    for text in given:
        if len(text) <= 24:
            found.setdefault(text, 0.3)
    for name in changed[:8]:
        found.setdefault(name, 0.4 if known.get(name) else 0.25)
    for name in region.parameters:
        if name not in ("self", "cls"):
            found.setdefault(name, 0.22)
    for text in ("True", "False", "None", "0", "[]", '""', "{}", "1", "-1"):
        found.setdefault(text, 0.14)
    if "self" in region.parameters:
        found.setdefault("self", 0.15)
        for name in attributes_of_self(region)["data"][:6]:
            found.setdefault(f"self.{name}", 0.12)
    return list(found.items())


def _value(maker: Maker, node: ast.Return) -> Iterator[Candidate]:
    region = maker.region
    if node.value is None:
        end = maker.source.span(node)[1]
        for text, prior in _values(region):
            if text != "None":
                yield maker.edit(
                    [Replacement(end, end, f" {text}")],
                    node.lineno,
                    f"`return` gives nothing back; `{text}` is meant",
                    prior,
                )
        return
    names = set(readable(region, node))
    for text, prior in _values(region):
        root = text.split(".")[0].split("[")[0]
        if root in names or not root.isidentifier() or root in ("True", "False", "None"):
            simple = isinstance(node.value, ast.Name | ast.Constant | ast.Attribute | ast.List)
            yield maker.expression(node.value, text, "the wrong value is returned", prior if simple else prior * 0.35)
    if isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
        first, second = (maker.source.segment(item) for item in node.value.elts)
        swap = [
            Replacement(*maker.source.span(node.value.elts[0]), second),
            Replacement(*maker.source.span(node.value.elts[1]), first),
        ]
        yield maker.edit(swap, node.lineno, f"the parts are returned in the wrong order: `{first}`, `{second}`", 0.4)
    if isinstance(node.value, ast.Name | ast.Attribute):
        text = maker.source.segment(node.value)
        for name in names:
            if name not in (text, "self", "cls") and kinds(region).get(name) in (None, "number"):
                yield maker.expression(node.value, f"{text} + {name}", "a part of the result is missing", 0.08)
                yield maker.expression(node.value, f"{text} - {name}", "a part of the result is missing", 0.05)
                for call in ("max", "min"):
                    yield maker.expression(
                        node.value, f"{call}({text}, {name})", "a part of the result is missing", 0.06
                    )
        yield maker.expression(node.value, f"[{text}]", "a list with the value is meant", 0.12)


def _place(maker: Maker, node: ast.Return) -> Iterator[Candidate]:
    """A return that comes inside a loop and belongs after it, or after an `if` and belongs into it."""
    source = maker.source
    parent = source.parents[node]
    if not maker.stands_alone(node) or not isinstance(parent, ast.For | ast.AsyncFor | ast.While | ast.If | ast.With):
        return
    block = source.block_of(node)
    text = source.segment(node)
    start, end = source.line_start(node.lineno), source.line_start((node.end_lineno or node.lineno) + 1)
    outer: ast.AST = parent
    for factor in (1.0, 0.7, 0.4):
        if not isinstance(outer, ast.stmt) or isinstance(outer, FunctionNode):
            return
        prior = (0.45 if isinstance(outer, ast.For | ast.While) else 0.2) * factor
        if block[-1] is node and len(block) > 1 and outer.end_lineno == node.end_lineno:
            moved = "".join(
                f"{source.indent_of(outer.lineno)}{line.strip() if at == 0 else line}\n"
                for at, line in enumerate(text.split("\n"))
            )
            yield maker.edit(
                [Replacement(start, end, moved)],
                node.lineno,
                f"`{brief(text)}` comes too early; it belongs after the block",
                prior,
            )
        outer = source.parents[outer]


def _yielding(maker: Maker, node: ast.Expr) -> Iterator[Candidate]:
    source = maker.source
    value = node.value
    if isinstance(value, ast.Yield) and value.value is not None:
        yield maker.expression(
            value, f"yield from {source.segment(value.value)}", "the items are meant, not the whole", 0.45
        )
    elif isinstance(value, ast.YieldFrom):
        yield maker.expression(
            value, f"yield {source.segment(value.value)}", "the value itself is meant, not its items", 0.45
        )
        if isinstance(value.value, ast.Call) and value.value.args:
            yield maker.expression(
                value, f"yield {source.segment(value.value.args[0])}", "the value itself is meant, not its items", 0.3
            )
    elif isinstance(value, ast.Call):
        start = source.span(node)[0]
        own = maker.region.is_self_call(value)
        block = source.block_of(node)
        prior = 0.55 if own else 0.3 if block[-1] is node else 0.05
        if maker.region.is_generator:
            if own:
                yield maker.edit(
                    [Replacement(start, start, "yield from ")],
                    node.lineno,
                    f"the items of `{brief(source.segment(value))}` are lost",
                    0.55,
                )
            return
        yield maker.edit(
            [Replacement(start, start, "return ")],
            node.lineno,
            f"the result of `{brief(source.segment(value))}` is lost",
            prior,
        )


def _missing(maker: Maker) -> Iterator[Candidate]:
    """A function or a branch that ends without giving anything back."""
    region = maker.region
    if region.is_generator or not region.body or region.name == "__init__":
        return
    has_value = any(isinstance(node, ast.Return) and node.value is not None for node in region.nodes)
    last = region.body[-1]
    ends: list[tuple[ast.stmt, float]] = []
    if not isinstance(last, ast.Return | ast.Raise):
        ends.append((last, 1.0 if has_value or not any(isinstance(node, ast.Return) for node in region.nodes) else 0.5))
    for node in region.nodes:
        if isinstance(node, ast.If | ast.ExceptHandler) and not isinstance(
            node.body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break
        ):
            ends.append((node.body[-1], 0.4 if has_value else 0.15))
        if (
            isinstance(node, ast.If)
            and node.orelse
            and not isinstance(node.orelse[-1], ast.Return | ast.Raise | ast.If | ast.Continue | ast.Break)
        ):
            ends.append((node.orelse[-1], 0.35 if has_value else 0.1))
    for statement, factor in ends:
        if not maker.stands_alone(statement):
            continue
        for text, prior in _values(region):
            yield maker.insert_after(
                statement, [f"return {text}"], f"a return is missing: `return {text}`", prior * factor
            )


def _else(maker: Maker, node: ast.If, factor: float) -> Iterator[Candidate]:
    """The branch for when the condition does not hold, after the form of the one for when it does."""
    source, region = maker.source, maker.region
    last = node.body[-1]
    options: list[tuple[str, float]] = []
    if isinstance(last, ast.Return) and not region.is_module:
        block = source.block_of(node)
        if block[-1] is node:
            options = [(f"return {text}", prior * 0.5) for text, prior in _values(region)]
    elif isinstance(last, ast.Assign | ast.AugAssign) and not region.is_module:
        target = last.targets[0] if isinstance(last, ast.Assign) else last.target
        name = source.segment(target)
        options = [(f"{name} = {text}", 0.15) for text in ("0", "None", "[]", '""', "False", "True", "1")]
        options += [
            (f"{name} = {other}", 0.15) for other in readable(region, node) if other not in (name, "self", "cls")
        ]
        if isinstance(last, ast.AugAssign):
            options += [
                (f"{name} -= {source.segment(last.value)}", 0.2),
                (f"{name} = {source.segment(last.value)}", 0.15),
            ]
    elif (
        isinstance(last, ast.Expr)
        and isinstance(last.value, ast.Call)
        and isinstance(last.value.func, ast.Attribute)
        and len(last.value.args) == 1
    ):
        call = source.segment(last.value.func)
        options = [(f"{call}({name})", 0.2) for name in readable(region, node) if name not in ("self", "cls")]
        for part in ast.walk(last.value.args[0]):
            if isinstance(part, ast.expr) and part is not last.value.args[0] and not isinstance(part, ast.Constant):
                options.append((f"{call}({source.segment(part)})", 0.25))
    if source.loop_of(node) is not None:
        options += [("break", 0.15), ("continue", 0.1)]
    for text, prior in options:
        lines = ["else:", f"{source.indent_unit}{text}"]
        yield maker.insert_after(
            node, lines, f"the case that the condition does not hold is missing: `else: {text}`", prior * factor
        )
