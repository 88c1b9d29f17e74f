"""Guards: a missing early return or base case, a missing check in a condition or loop, a wrong exception."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent_core.responses_server.engines.repair.edits.base import Candidate, Clues, Maker, operand
from agent_core.responses_server.engines.repair.edits.boolean import conditions
from agent_core.responses_server.engines.repair.edits.scope import attributes_of_self, kind_of, kinds, readable
from agent_core.responses_server.engines.repair.source import Region, Replacement

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


def checks_in_conditions(region: Region, clues: Clues) -> Iterator[Candidate]:
    """A condition that lacks a part."""
    maker = Maker(region, "missing guard")
    source = region.source
    others = [source.segment(item) for item in conditions(region) if len(source.segment(item)) <= 40]
    for test in conditions(region):
        parts = list(_parts(region, test))
        text = source.segment(test)
        for part, prior in [*parts, *((other, 0.15) for other in others if other != text)]:
            if part in text:
                continue
            yield maker.expression(test, f"{part} and {operand(source, test, 5)}", "the condition lacks a check", prior)
            yield maker.expression(
                test, f"{operand(source, test, 5)} and {part}", "the condition lacks a check", prior * 0.4
            )
        for part, prior in list(_parts(region, test, absent=True)):
            if part not in text:
                yield maker.expression(
                    test, f"{part} or {operand(source, test, 4)}", "the condition lacks a case", prior
                )
                yield maker.expression(
                    test, f"{operand(source, test, 4)} or {part}", "the condition lacks a case", prior * 0.5
                )


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
            if not called and text not in ("self", "cls") and not text[:1].isupper() and len(text) <= 30:
                seen[text] = None
    for text in list(seen)[:8]:
        if text.split(".")[0] not in readable(region, test):
            continue
        if absent:
            yield f"not {text}", 0.12
            yield f"{text} is None", 0.2
        else:
            yield text, 0.25
            yield f"{text} is not None", 0.3
            yield f"not {text}", 0.12


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


def safe_access(region: Region, clues: Clues) -> Iterator[Candidate]:
    """A key that may be missing, a divisor that may be zero."""
    maker = Maker(region, "missing guard")
    source = region.source
    absent = 0.8 if clues.has_error("KeyError") else 0.1
    for node in region.nodes:
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
            base, key = source.segment(node.value), source.segment(node.slice)
            parent = source.parents[node]
            if isinstance(node.ctx, ast.Load):
                for default, usual in (
                    ("0", 0.7),
                    ("None", 0.6),
                    ("[]", 0.6),
                    ('""', 0.4),
                    ("False", 0.3),
                    ("{}", 0.3),
                    ("1", 0.2),
                    (key, 0.3),
                    ("()", 0.2),
                    ("set()", 0.2),
                ):
                    text = f"{base}.get({key}, {default})" if default != "None" else f"{base}.get({key})"
                    yield maker.expression(node, text, "the key may be missing", absent * usual)
                if isinstance(parent, ast.Attribute) and parent.attr in ("append", "add", "extend", "update", "insert"):
                    for default in ("[]", "set()", "{}"):
                        yield maker.expression(
                            node, f"{base}.setdefault({key}, {default})", "the key may be missing", absent
                        )
            elif isinstance(parent, ast.AugAssign) and parent.target is node:
                sign = source.text[source.span(node)[1] : source.span(parent.value)[0]].strip().removesuffix("=")
                for default in ("0", "[]", '""', "1"):
                    made = f"{base}[{key}] = {base}.get({key}, {default}) {sign} {operand(source, parent.value, 13)}"
                    edit = Replacement(*source.span(parent), made)
                    yield maker.edit(
                        [edit],
                        parent.lineno,
                        f"the key may be missing: `{made}`",
                        absent * (0.9 if default == "0" else 0.4),
                    )
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod):
            by_zero = 0.7 if clues.has_error("ZeroDivisionError") else 0.06
            divisor = source.segment(node.right)
            if isinstance(node.right, ast.Constant):
                continue
            for default in ("0", "0.0", "None", "1"):
                text = f"{source.segment(node)} if {divisor} else {default}"
                yield maker.expression(
                    node, text, "the divisor may be zero", by_zero * (0.8 if default != "1" else 0.3)
                )
            yield maker.expression(node.right, f"max({divisor}, 1)", "the divisor may be zero", by_zero * 0.4)


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
