"""Guards: a missing early return or base case; the wrong exception, raised or caught."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent_core.repair.operators.base import Candidate, Clues, Maker
from agent_core.repair.operators.scope import attributes_of_self, kind_of, kinds
from agent_core.repair.source import Region

_EXCEPTIONS = (
    "ValueError",
    "KeyError",
    "TypeError",
    "IndexError",
    "AttributeError",
    "ZeroDivisionError",
    "LookupError",
    "Exception",
)


def early_exits(region: Region, clues: Clues) -> Iterator[Candidate]:
    """`if …: return …` ahead of everything else: an empty input, a base case of a recursion, an argument to refuse."""
    if region.is_module or not region.body:
        return
    maker = Maker(region, "missing base case" if region.is_recursive else "missing guard")
    first = region.body[0]
    if not maker.stands_alone(first) and not isinstance(first, ast.If | ast.For | ast.While | ast.With | ast.Try):
        return
    step = region.source.indent_unit
    likely = region.is_recursive or clues.has_error(
        "RecursionError",
        "IndexError",
        "ZeroDivisionError",
        "AttributeError",
        "TypeError",
        "ValueError",
        "StopIteration",
    )
    what = "the base case" if region.is_recursive else "a guard"
    raises = [name for name in clues.expected_errors if name.rpartition(".")[2][:1].isupper()]
    waits = any("RAISE" in message.upper() and "NOT" in message.upper() for _, message in clues.errors)
    for condition, natural in _tests(region):
        if not region.is_generator and region.name != "__init__":
            for value, usual in _results(region):
                lines = [f"if {condition}:", f"{step}return {value}"]
                prior = (0.55 if region.is_recursive else 0.3 if likely else 0.14) * natural * usual
                yield maker.insert_before(first, lines, f"{what} is missing: `if {condition}: return {value}`", prior)
        elif natural > 0.4:
            lines = [f"if {condition}:", f"{step}return"]
            yield maker.insert_before(first, lines, f"{what} is missing: `if {condition}: return`", 0.25 * natural)
        for name in raises:
            lines = [f"if {condition}:", f'{step}raise {name}("{_complaint(condition)}")']
            yield maker.insert_before(
                first,
                lines,
                f"the check is missing: `if {condition}: raise {name}`",
                (0.8 if waits else 0.12) * natural,
            )


def _complaint(condition: str) -> str:
    return f"not allowed: {condition}".replace('"', "'")


def _tests(region: Region) -> Iterator[tuple[str, float]]:
    """Conditions on the arguments, with how natural each is for the kind of thing that the argument seems to be."""
    known = kinds(region)
    names = [name for name in region.parameters if name not in ("self", "cls")]
    names += [f"self.{name}" for name in attributes_of_self(region)["data"]][:6]
    used_in_loops = {ast.unparse(node.iter) for node in region.nodes if isinstance(node, ast.For)}
    compared = {
        ast.unparse(part)
        for node in region.nodes
        if isinstance(node, ast.BinOp | ast.Compare)
        for part in ast.iter_child_nodes(node)
        if isinstance(part, ast.Name | ast.Attribute)
    }
    for at, name in enumerate(names):
        kind = known.get(name)
        weight = (1.0 if at < 2 else 0.7) * (0.4 if name.startswith("self.") else 1.0)
        if kind in ("list", "map", "set", "text") or name in used_in_loops or kind is None:
            yield f"not {name}", weight
        if kind is None or kind == "object":
            yield f"{name} is None", 0.7 * weight
        if kind in ("list", "text") or name in used_in_loops:
            yield f"len({name}) <= 1", (0.9 if region.is_recursive else 0.4) * weight
            yield f"len({name}) == 1", 0.3 * weight
        if kind == "number" or (kind is None and name in compared):
            for test, natural in (
                ("== 0", 0.9),
                ("<= 0", 0.8),
                ("< 0", 0.7),
                ("<= 1", 0.9 if region.is_recursive else 0.4),
                ("== 1", 0.6),
                ("< 2", 0.4),
            ):
                yield f"{name} {test}", natural * weight
    if 2 <= len(names) <= 4:
        for first in names[:3]:
            for second in names[:3]:
                if first != second and known.get(first) in (None, "number") and known.get(second) in (None, "number"):
                    yield f"{first} > {second}", 0.35
                    if first < second:
                        yield f"{first} == {second}", 0.35


def _results(region: Region) -> list[tuple[str, float]]:
    """What a guard may give back."""
    found: dict[str, float] = {}
    for node in region.nodes:
        if isinstance(node, ast.Return) and node.value is not None:
            text = ast.unparse(node.value)
            constant = isinstance(node.value, ast.Constant) or text in ("[]", "{}", "()", "set()")
            if constant:
                found[text] = 1.0
            for part in ast.walk(node.value):
                if isinstance(part, ast.Tuple):
                    found.setdefault("(" + ", ".join("0" for _ in part.elts) + ")", 0.3)
    builds = {kind for name, kind in kinds(region).items() if name not in region.parameters}
    guesses = {
        "[]": 0.6 if "list" in builds else 0.3,
        "0": 0.6 if "number" in builds else 0.4,
        '""': 0.5 if "text" in builds else 0.2,
    }
    guesses |= {
        "None": 0.5,
        "False": 0.4,
        "True": 0.35,
        "1": 0.35,
        "{}": 0.5 if "map" in builds else 0.12,
        "0.0": 0.25,
        "-1": 0.15,
        "[[]]": 0.12,
        "set()": 0.12,
    }
    numbers = any(isinstance(node, ast.Return) and kind_of(node.value) == "number" for node in region.nodes)
    truths = any(isinstance(node, ast.Return) and kind_of(node.value) == "truth" for node in region.nodes)
    if numbers or truths:
        guesses |= dict.fromkeys(("True", "False") if numbers else ("0", "1", "0.0"), 0.1)
    for text, usual in guesses.items():
        found.setdefault(text, usual)
    for name in region.parameters:
        if name not in ("self", "cls"):
            found.setdefault(name, 0.5)
            found.setdefault(f"[{name}]", 0.12)
    return list(found.items())


def exceptions(region: Region, clues: Clues) -> Iterator[Candidate]:
    """The wrong exception is raised or caught, or an error of the tests is not caught at all."""
    maker = Maker(region, "wrong exception")
    told = [name.rpartition(".")[2] for name, _ in clues.errors if name.endswith("Error")]
    wanted = list(dict.fromkeys([*clues.expected_errors, *told, *_EXCEPTIONS]))
    for node in region.nodes:
        if isinstance(node, ast.Raise) and node.exc is not None:
            name = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            for other in wanted:
                prior = 0.7 if other in clues.expected_errors else 0.08
                yield maker.expression(name, other, "the wrong exception is raised", prior)
        elif isinstance(node, ast.ExceptHandler) and node.type is not None:
            names = (
                [maker.source.segment(item) for item in node.type.elts]
                if isinstance(node.type, ast.Tuple)
                else [maker.source.segment(node.type)]
            )
            for other in wanted:
                prior = 0.5 if other in told else 0.12
                if other not in names:
                    yield maker.expression(node.type, other, "the wrong exception is caught", prior * 0.6)
                    yield maker.expression(
                        node.type, f"({', '.join([*names, other])})", "an exception is not caught", prior
                    )
