"""Missing checks: a condition that lacks a part, a loop that should pass over some items."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent_core.repair.operators.base import Candidate, Clues, Maker, operand
from agent_core.repair.operators.boolean import conditions
from agent_core.repair.operators.scope import kind_of, kinds, readable
from agent_core.repair.source import Region, Source, remembered


def checks_in_conditions(region: Region, clues: Clues) -> Iterator[Candidate]:
    """A condition that lacks a part."""
    maker = Maker(region, "missing guard")
    source = region.source
    tests = [(test, 1.0) for test in conditions(region)]
    tests += [
        (node.value, 0.8)
        for node in region.nodes
        if isinstance(node, ast.Return) and kind_of(node.value) == "truth" and node.value
    ]
    others = [source.segment(test) for test, _ in tests if len(source.segment(test)) <= 40]
    for test, factor in tests:
        text = source.segment(test)
        parts = [*_parts(region, test), *((other, 0.15) for other in others if other != text)]
        for part, prior in parts:
            if part not in text:
                for made, order in (
                    (f"{part} and {operand(source, test, 5)}", 1.0),
                    (f"{operand(source, test, 5)} and {part}", 0.45),
                ):
                    order = 1.45 - order if "." in part and part.split(".")[0] in text else order
                    yield maker.expression(test, made, "the condition lacks a check", prior * order * factor)
        for part, prior in _parts(region, test, absent=True):
            if part not in text:
                for made, order in (
                    (f"{part} or {operand(source, test, 4)}", 1.0),
                    (f"{operand(source, test, 4)} or {part}", 0.5),
                ):
                    yield maker.expression(test, made, "the condition lacks a case", prior * order * factor)


@remembered
def _truth_attributes(source: Source) -> list[str]:
    """Attributes that the file sets to True or False."""
    found = [
        ast.unparse(target).rpartition(".")[2]
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Assign | ast.AnnAssign) and kind_of(node.value) == "truth"
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Attribute)
    ]
    return list(dict.fromkeys(found))


def _parts(region: Region, test: ast.expr, *, absent: bool = False) -> Iterator[tuple[str, float]]:
    """Checks on the things that a condition looks at; `absent` gives their opposites."""
    known = kinds(region)
    parent = region.source.parents[test]
    inside = list(ast.walk(parent)) if isinstance(parent, ast.While | ast.If) else list(ast.walk(test))
    seen: dict[str, None] = {}
    for node in [*ast.walk(test), *inside]:
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Load)
            and isinstance(node.slice, ast.Name | ast.BinOp)
        ):
            base, index = ast.unparse(node.value), ast.unparse(node.slice)
            if len(base) < 20 and known.get(base) != "map":
                yield (f"{index} >= len({base})", 0.2) if absent else (f"{index} < len({base})", 0.4)
                yield (f"{index} < 0", 0.12) if absent else (f"{index} >= 0", 0.3)
            if isinstance(node.slice, ast.Name) and known.get(base) in (None, "map"):
                yield (f"{index} not in {base}", 0.2) if absent else (f"{index} in {base}", 0.3)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            text = ast.unparse(node)
            called = (
                isinstance(region.source.parents.get(node), ast.Call)
                and getattr(region.source.parents[node], "func", None) is node
            )
            if not called and text != "cls" and not text[:1].isupper() and len(text) <= 30:
                seen[text] = None
    for text in list(seen)[:8]:
        if text == "self" or text.split(".")[0] not in readable(region, test):
            continue
        if absent:
            yield f"not {text}", 0.12
            yield f"{text} is None", 0.2
        else:
            yield text, 0.25
            yield f"{text} is not None", 0.3
            yield f"not {text}", 0.12
    for name in dict.fromkeys(text.split(".")[0] for text in seen):
        for attribute in _truth_attributes(region.source):
            if (name != "self" or region.owner is not None) and f"{name}.{attribute}" not in seen:
                yield (f"not {name}.{attribute}", 0.2) if absent else (f"{name}.{attribute}", 0.35)


def checks_in_loops(region: Region, clues: Clues) -> Iterator[Candidate]:
    """`if …: continue` (or `break`) at the top of a loop."""
    maker = Maker(region, "missing guard")
    step, known = region.source.indent_unit, kinds(region)
    hangs = 2.5 if clues.has_error("TimeIsUp", "TimeoutError", "RecursionError") else 1.0
    for node in region.nodes:
        if not isinstance(node, ast.For | ast.While) or not maker.stands_alone(node.body[-1]):
            continue
        names = (
            [item.id for item in ast.walk(node.target) if isinstance(item, ast.Name)]
            if isinstance(node, ast.For)
            else []
        )
        if isinstance(node, ast.While) and isinstance(node.body[0], ast.Assign):
            names = [
                item.id for target in node.body[0].targets for item in ast.walk(target) if isinstance(item, ast.Name)
            ]
        tests: list[tuple[str, float]] = []
        for name in names:
            tests += [(f"not {name}", 0.25), (f"{name} is None", 0.2)]
            for other in readable(region, node.body[0]):
                if other in names or other in ("self", "cls"):
                    continue
                if known.get(other) in ("set", "list", "map"):
                    tests += [(f"{name} in {other}", 0.25), (f"{name} not in {other}", 0.12)]
                elif known.get(other) == known.get(name):
                    tests.append((f"{name} == {other}", 0.12))
            if known.get(name) == "number":
                tests += [(f"{name} < 0", 0.12), (f"{name} == 0", 0.12)]
        place = node.body[1] if isinstance(node, ast.While) and len(node.body) > 1 else node.body[0]
        for test, prior in tests:
            for word, factor in (("continue", 1.0), ("break", 0.5)):
                lines = [f"if {test}:", f"{step}{word}"]
                yield maker.insert_before(
                    place, lines, f"a check is missing: `if {test}: {word}`", prior * factor * hangs
                )
