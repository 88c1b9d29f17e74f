"""Slices, indices, ranges, and what a recursion is called with."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent_core.repair.operators.base import ATOM, Candidate, Clues, Maker, constant_value, is_int, operand
from agent_core.repair.operators.scope import kind_of, kinds, readable
from agent_core.repair.source import Region, Replacement


def slices(region: Region, clues: Clues) -> Iterator[Candidate]:
    maker = Maker(region, "slice or index")
    for node in region.nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            yield from _slice(maker, node, node.slice)
        elif isinstance(node, ast.Subscript):
            yield from _index(maker, node)
        elif isinstance(node, ast.For | ast.comprehension):
            yield from _iteration(maker, node.iter)
        elif isinstance(node, ast.Call):
            for item in node.args:
                if isinstance(item, ast.Name | ast.Attribute) and kinds(region).get(ast.unparse(item)) in (
                    None,
                    "list",
                    "text",
                ):
                    for part in ("[1:]", "[:-1]", "[::-1]"):
                        yield maker.expression(
                            item, f"{maker.source.segment(item)}{part}", "only a part of it is meant", 0.07
                        )
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Name | ast.Attribute | ast.Call):
            for part in ("[::-1]", "[0]", "[-1]", "[1:]", "[:-1]"):
                text = f"{maker.source.segment(node.value)}{part}"
                yield maker.expression(
                    node.value,
                    text,
                    "only a part of it is meant, or the order is the wrong way round",
                    0.12 if part == "[::-1]" else 0.08,
                )


def _slice(maker: Maker, node: ast.Subscript, part: ast.Slice) -> Iterator[Candidate]:
    source = maker.source
    base = source.segment(node.value)
    lower = source.segment(part.lower) if part.lower else ""
    upper = source.segment(part.upper) if part.upper else ""
    step = f":{source.segment(part.step)}" if part.step else ""
    forms: dict[str, float] = {}
    if lower and upper:
        forms |= {f"{lower}:": 0.35, f":{upper}": 0.35, f"{upper}:{lower}": 0.15, f"{lower}:{lower} + {upper}": 0.3}
    elif lower:
        forms |= {f":{lower}": 0.45, f"{lower}:-1": 0.2, f"-{_bare(part.lower, lower)}:": 0.25, f"{lower} + 1:": 0.3}
    elif upper:
        forms |= {f"{upper}:": 0.45, f"1:{upper}": 0.25, f":-{_bare(part.upper, upper)}": 0.25, f":{upper} + 1": 0.3}
    else:
        forms |= {"1:": 0.2, ":-1": 0.2}
    for form, prior in forms.items():
        yield maker.expression(node, f"{base}[{form}{step}]", "the slice is wrong", prior)
    if step == ":-1":
        yield maker.expression(node, f"{base}[{lower}:{upper}]", "the order is the wrong way round", 0.3)
    elif not step:
        yield maker.expression(node, f"{base}[{lower}:{upper}:-1]", "the order is the wrong way round", 0.1)
        yield maker.expression(node, f"{base}[{lower}:{upper}:2]", "the step is missing", 0.05)
    yield maker.expression(node, base, "the whole is meant, not a part", 0.12)
    for name in readable(maker.region, node):
        if kinds(maker.region).get(name) in ("number", None) and name not in ("self", "cls", lower, upper, base):
            more = [f"{name}:{upper}"] if upper and not lower else [f"{lower}:{name}"] if lower and not upper else []
            for form in more:
                yield maker.expression(node, f"{base}[{form}{step}]", "a bound of the slice is missing", 0.2)
    for bound in (part.lower, part.upper):
        if isinstance(bound, ast.Name):
            for name in readable(maker.region, node):
                if name not in (bound.id, "self") and kinds(maker.region).get(name) in ("number", None):
                    yield maker.expression(bound, f"{bound.id} + {name}", "the bound of the slice is wrong", 0.12)


def _bare(node: ast.expr | None, text: str) -> str:
    return (
        text.removeprefix("-")
        if node is not None and is_int(node)
        else f"({text})"
        if not text.isidentifier()
        else text
    )


def _index(maker: Maker, node: ast.Subscript) -> Iterator[Candidate]:
    source = maker.source
    base, index = source.segment(node.value), node.slice
    value = constant_value(index)
    if is_int(index):
        for other, prior in (("0", 0.45), ("-1", 0.45), ("1", 0.4), ("2", 0.1)):
            if other != str(value):
                yield maker.expression(index, other, "the wrong index", prior)
    elif isinstance(index, ast.Name) and kinds(maker.region).get(base) != "map":
        yield maker.expression(index, f"-{index.id}", "the index counts from the wrong end", 0.06)
        for other in ("0", "-1"):
            yield maker.expression(index, other, "the wrong index", 0.08)
        if isinstance(node.ctx, ast.Load):
            yield maker.expression(node, index.id, "the index itself is meant", 0.12)
            yield maker.expression(index, f"len({base}) - 1 - {index.id}", "the index counts from the wrong end", 0.06)
    if isinstance(node.value, ast.Subscript) and not isinstance(node.value.slice, ast.Slice):
        inner, outer = source.segment(node.value.slice), source.segment(index)
        swap = [Replacement(*source.span(node.value.slice), outer), Replacement(*source.span(index), inner)]
        yield maker.edit(swap, node.lineno, f"the indices are swapped in `{source.segment(node)}`", 0.35)
    if isinstance(index, ast.Tuple) and len(index.elts) == 2:
        first, second = (source.segment(item) for item in index.elts)
        swap = [Replacement(*source.span(index.elts[0]), second), Replacement(*source.span(index.elts[1]), first)]
        yield maker.edit(swap, node.lineno, f"the indices are swapped in `{source.segment(node)}`", 0.35)
    if isinstance(node.ctx, ast.Load):
        yield maker.expression(node, base, "the whole is meant, not an item", 0.12)


def _iteration(maker: Maker, place: ast.expr) -> Iterator[Candidate]:
    source = maker.source
    if (
        isinstance(place, ast.Call)
        and isinstance(place.func, ast.Name)
        and place.func.id == "range"
        and not place.keywords
    ):
        texts = [source.segment(item) for item in place.args]
        if len(texts) == 1:
            end = operand(source, place.args[0], 12)
            forms = {
                f"1, {texts[0]}": 0.4,
                f"1, {end} + 1": 0.45,
                f"{end} - 1, -1, -1": 0.3,
                f"2, {texts[0]}": 0.1,
                f"2, {end} + 1": 0.12,
            }
            if isinstance(place.args[0], ast.Name) and kinds(maker.region).get(place.args[0].id) in ("list", "text"):
                forms[f"len({texts[0]})"] = 0.5
        elif len(texts) == 2:
            start, end = operand(source, place.args[0], 12), operand(source, place.args[1], 12)
            forms = {
                texts[1]: 0.3,
                f"{end} - 1, {start} - 1, -1": 0.25,
                f"{texts[1]}, {texts[0]}, -1": 0.25,
                f"{texts[0]}, {texts[1]}, -1": 0.25,
            }
            for name in readable(maker.region, place):
                if (
                    name != texts[0]
                    and kinds(maker.region).get(name) in ("number", None)
                    and name not in ("self", "cls")
                ):
                    forms[f"{name} + 1, {texts[1]}"] = 0.2
        else:
            forms = {f"{texts[0]}, {texts[1]}": 0.3, f"{texts[0]}, {texts[1]}, -{_bare(place.args[2], texts[2])}": 0.25}
            for name in readable(maker.region, place):
                if kinds(maker.region).get(name) == "number" and name != texts[2]:
                    forms[f"{texts[0]}, {texts[1]}, {name}"] = 0.2
        for form, prior in forms.items():
            yield maker.expression(place, f"range({form})", "the range is wrong", prior)
    elif isinstance(place, ast.Name | ast.Attribute):
        text = source.segment(place)
        for part, prior in (("[1:]", 0.22), ("[:-1]", 0.15), ("[::-1]", 0.15), ("[::2]", 0.03)):
            yield maker.expression(place, f"{text}{part}", "the loop runs over the wrong part", prior)


def recursion(region: Region, clues: Clues) -> Iterator[Candidate]:
    """The arguments of a function's call of itself."""
    if not region.is_recursive:
        return
    maker = Maker(region, "recursion argument")
    source, known = region.source, kinds(region)
    for node in region.nodes:
        if not isinstance(node, ast.Call) or not region.is_self_call(node):
            continue
        for at, item in enumerate(node.args):
            text = operand(source, item, 12)
            whole = operand(source, item, ATOM)
            forms: dict[str, float] = {}
            kind = known.get(ast.unparse(item)) or kind_of(item)
            if isinstance(item, ast.Name | ast.Attribute) and kind in ("number", None):
                forms |= {
                    f"{text} - 1": 0.5,
                    f"{text} + 1": 0.4,
                    f"{text} // 2": 0.25,
                    f"{text} // 10": 0.15,
                    f"{text} - 2": 0.15,
                }
                for name in readable(region, node):
                    if name != text and known.get(name) in ("number", None) and name not in ("self", "cls"):
                        forms |= {f"{text} - {name}": 0.25, f"{text} + {name}": 0.2, f"{text} % {name}": 0.12}
            if isinstance(item, ast.Name | ast.Attribute) and kind in ("list", "text", None):
                forms |= {f"{whole}[1:]": 0.45, f"{whole}[:-1]": 0.3}
            if isinstance(item, ast.Subscript) and isinstance(item.slice, ast.Slice):
                forms |= {source.segment(item.value): 0.2}
            parameters = [name for name in region.parameters if name not in ("self", "cls")]
            if at < len(parameters):
                forms |= {parameters[at]: 0.25}
            for form, prior in forms.items():
                yield maker.expression(item, form, "the recursion goes on with the wrong argument", prior)
