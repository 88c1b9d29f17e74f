"""A value that has to go through a function or method first."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from agent_core.repair.operators.base import ATOM, Candidate, Clues, Maker, operand
from agent_core.repair.operators.calls import methods
from agent_core.repair.operators.relatives import PLAIN_METHODS
from agent_core.repair.operators.scope import attributes_of_self, kind_of, kinds, may_be_number, numbers
from agent_core.repair.source import FunctionNode, Region, Source, remembered


def missing_calls(region: Region, clues: Clues) -> Iterator[Candidate]:
    maker = Maker(region, "missing call")
    for node in region.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            parent = region.source.parents[node]
            if not (isinstance(parent, ast.Call) and parent.func is node):
                known = (
                    node.attr in PLAIN_METHODS
                    or node.attr in attributes_of_self(region)["methods"]
                    or node.attr in methods(region.source)
                )
                if known:
                    yield maker.expression(
                        node, f"{maker.source.segment(node)}()", "the method is named but not called", 0.6
                    )
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            text = maker.source.segment(node)
            for call, prior in _calls_of(region.source).get(text, ()):
                inside = maker.source.parents[node]
                if not (isinstance(inside, ast.Call) and maker.source.segment(inside) == call) and _may_call(
                    region, node, call
                ):
                    yield maker.expression(node, call, "a call is missing", prior)
        for place, names, prior in _wrappable(region, node):
            for name in names:
                yield from _wrapped(maker, place, name, prior)
            for name in _converters(region):
                yield from _wrapped(maker, place, name, 0.16)


@remembered
def _calls_of(source: Source) -> dict[str, list[tuple[str, float]]]:
    """Name -> calls with it alone that the file makes elsewhere (`normal(address)`, `self.root(member)`)."""
    found: dict[str, dict[str, float]] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
            text, call = source.segment(node.args[0]), source.segment(node)
            own = isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id)
            if (
                isinstance(node.args[0], ast.Name | ast.Attribute)
                and len(call) <= 50
                and not isinstance(source.parents[node], ast.Expr)
            ):
                found.setdefault(text, {})[call] = 0.12 if own else 0.35
    return {text: list(calls.items()) for text, calls in found.items()}


@remembered
def _converters(region: Region) -> list[str]:
    """Functions of the file and methods of the class that take one argument."""
    found: list[str] = []
    for other in region.source.regions[:-1]:
        parameters = other.parameters[1:] if other.owner is not None else other.parameters
        plain = (
            isinstance(other.node, FunctionNode) and not other.node.decorator_list and not other.name.startswith("__")
        )
        if plain and len(parameters) == 1 and other.name != region.name:
            if other.owner is None and "." not in other.qualname:
                found.append(other.name)
            elif other.owner is not None and other.owner is region.owner and region.parameters[:1] == ["self"]:
                found.append(f"self.{other.name}")
    return found[:8]


def _may_call(region: Region, node: ast.AST, call: str) -> bool:
    """Whether what a call starts from is known at the place, and it is no call of the function itself."""
    root = call.split("(")[0].split(".")[0]
    return region.name != root and (root != "self" or "self" in region.parameters)


def _wrappable(region: Region, node: ast.AST) -> list[tuple[ast.expr, tuple[str, ...], float]]:
    """Places whose value may need a conversion, with the conversions that make sense there."""
    match node:
        case ast.For(target=target, iter=place) | ast.comprehension(target=target, iter=place):
            if (
                isinstance(place, ast.Call)
                and isinstance(place.func, ast.Name)
                and place.func.id in ("range", "enumerate", "zip")
            ):
                return [(place, ("reversed",), 0.15)] if place.func.id == "range" else []
            pair = isinstance(target, ast.Tuple) and len(target.elts) == 2
            return [
                (place, (".items", "enumerate"), 0.4 if pair else 0.05),
                (place, ("sorted", "reversed", "list", ".values", ".keys", "set"), 0.12),
                (place, ("range", "len>range"), 0.14),
            ]
        case ast.Return(value=place) if place is not None and not isinstance(place, ast.Constant | ast.Tuple):
            return [(place, _conversions(region, place), 0.14)]
        case ast.Assign(value=place) if not isinstance(place, ast.Constant | ast.Tuple | ast.List | ast.Dict):
            return [(place, _conversions(region, place), 0.11)]
        case ast.Call(args=arguments):
            return [
                (item, _conversions(region, item), 0.09)
                for item in arguments
                if isinstance(item, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
            ]
        case ast.Compare(left=left, comparators=comparators):
            return [
                (item, _conversions(region, item), 0.09)
                for item in [left, *comparators]
                if isinstance(item, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
            ]
        case ast.BinOp(left=left, right=right):
            return [
                (item, ("str", "int", "float", "len", "abs"), 0.08)
                for item in (left, right)
                if isinstance(item, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
            ]
        case ast.Subscript(slice=place) if isinstance(place, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            return [(place, (".lower", ".strip", "str", "int", "tuple"), 0.09)]
        case ast.Dict(values=values):
            return [
                (item, ("list", "len", ".copy", "dict"), 0.06)
                for item in values
                if isinstance(item, ast.Name | ast.Attribute)
            ]
    return []


def _conversions(region: Region, place: ast.expr) -> tuple[str, ...]:
    kind = kinds(region).get(ast.unparse(place)) or kind_of(place)
    if kind == "number":
        return ("abs", "int", "round", "str", "float", "round2")
    if kind == "text":
        return (".strip", ".lower", ".upper", "int", "float", ".split", "len", ".title", "list")
    if kind == "list":
        return ("sorted", "list", "len", "set", "tuple", "reversed>list", "sum", "max", "min", "dict")
    if kind == "map":
        return ("dict", ".values", ".keys", ".items", "len", "list", "sorted")
    if kind == "set":
        return ("sorted", "list", "len", "set")
    return (
        "len",
        "sorted",
        "list",
        "str",
        "int",
        "abs",
        ".strip",
        ".lower",
        "round",
        "set",
        "tuple",
        "dict",
        "sum",
        "float",
        ".copy",
        "bool",
    )


def _wrapped(maker: Maker, place: ast.expr, name: str, prior: float) -> Iterator[Candidate]:
    text = maker.source.segment(place)
    bare = operand(maker.source, place, 2)
    if name.startswith("."):
        made = f"{operand(maker.source, place, ATOM)}{name}()"
    elif name == "round2":
        made = f"round({bare}, 2)"
    elif ">" in name:
        inner, _, outer = name.partition(">")
        made = f"{outer}({inner}({bare}))"
    else:
        made = f"{name}({text if isinstance(place, ast.GeneratorExp) else bare})"
    if isinstance(place, ast.Call) and (
        text.startswith(f"{name}(") or (name.startswith(".") and text.endswith(f"{name}()"))
    ):
        return
    yield maker.expression(place, made, "a call is missing", prior)


def bounded(region: Region, clues: Clues) -> Iterator[Candidate]:
    """`x = y` where the larger or smaller of two values is meant, or the old value has to be kept in."""
    maker = Maker(region, "missing call")
    for node in region.nodes:
        places: list[tuple[ast.expr, str | None]] = []
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = maker.source.segment(node.targets[0])
            places = [(node.value, target)]
            if isinstance(node.value, ast.Tuple):
                places = [(item, None) for item in node.value.elts]
        elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Tuple):
            places = [(node.value, None)]
        elif isinstance(node, ast.Call):
            places = [(item, None) for item in node.args]
        for place, kept in places:
            if not may_be_number(region, place):
                continue
            others = [kept] if kept is not None else []
            others += [text for text in numbers(region, place) if text != kept]
            bare = operand(maker.source, place, 2)
            for text in others:
                if text != bare:
                    for name in ("max", "min"):
                        prior = 0.3 if text == kept else 0.12
                        yield maker.expression(
                            place, f"{name}({text}, {bare})", "the wrong one of two values is taken", prior
                        )
            for other in ("0", "1"):
                for name in ("max", "min"):
                    yield maker.expression(place, f"{name}({other}, {bare})", "the value has to be bounded", 0.07)
