"""Wrong variable, wrong attribute, wrong key."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

from agent_core.repair.operators.base import Candidate, Clues, Maker, brief, called_name
from agent_core.repair.operators.scope import attributes_of_self, kinds, readable
from agent_core.repair.source import Region, Replacement, Source, remembered

_REASON = "the wrong variable"


def wrong_names(region: Region, clues: Clues) -> Iterator[Candidate]:
    maker = Maker(region, "wrong variable")
    parts = _parts(region)
    for node in region.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield from _variable(maker, node, parts)
        elif (
            isinstance(node, ast.Name)
            and not region.is_module
            and not isinstance(region.source.parents[node], ast.comprehension)
        ):
            yield from _target(maker, node)
        elif isinstance(node, ast.Attribute):
            yield from _attribute(maker, node, parts)
        elif isinstance(node, ast.Call) and called_name(node) == "len" and len(node.args) == 1:
            yield from _measured(maker, node.args[0])


def wrong_keys(region: Region, clues: Clues) -> Iterator[Candidate]:
    maker = Maker(region, "wrong key")
    keys = _keys(region.source)
    for node in region.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_key(region.source, node):
            quote = region.source.segment(node)[:1]
            for key in keys:
                if key != node.value and quote in "\"'":
                    yield maker.expression(node, f"{quote}{key}{quote}", "the wrong key", 0.3)


def _measured(maker: Maker, thing: ast.expr) -> Iterator[Candidate]:
    """The length of a row where that of the rows is meant, and the other way round."""
    text = maker.source.segment(thing)
    if isinstance(thing, ast.Name | ast.Attribute):
        yield maker.expression(thing, f"{text}[0]", "the length of one item is meant", 0.2)
    elif isinstance(thing, ast.Subscript) and not isinstance(thing.slice, ast.Slice):
        whole = maker.source.segment(thing.value)
        yield maker.expression(thing, whole, "the length of the whole is meant, not of one item", 0.3)


def _variable(maker: Maker, node: ast.Name, parts: dict[str, list[str]]) -> Iterator[Candidate]:
    region = maker.region
    parent = region.source.parents[node]
    called = isinstance(parent, ast.Call) and parent.func is node
    if called or (node.id not in readable(region, node) and hasattr(builtins, node.id)):
        return
    known = kinds(region)
    own = known.get(node.id)
    others = [name for name in readable(region, node) if name not in (node.id, "self", "cls")]
    for name in others:
        other = known.get(name)
        factor = 1.0 if own is None or other is None else 1.4 if own == other else 0.25
        yield maker.expression(node, name, _REASON, 0.3 * factor)
    receiver = isinstance(parent, ast.Attribute | ast.Subscript) and getattr(parent, "value", None) is node
    if not receiver:
        for text in parts.get(node.id, ()):
            yield maker.expression(node, text, "a part is meant, not the whole", 0.2)
    if others or receiver:
        for attribute in attributes_of_self(region)["data"]:
            same = attribute.strip("_") == node.id.strip("_")
            if "self" in region.parameters and node.id != "self":
                yield maker.expression(node, f"self.{attribute}", _REASON, 0.35 if same else 0.05)


def _target(maker: Maker, node: ast.Name) -> Iterator[Candidate]:
    """The name that is assigned to."""
    known = kinds(maker.region)
    statement = maker.source.parents[node]
    prior = 0.22 if isinstance(statement, ast.AugAssign) else 0.15
    if not isinstance(statement, ast.Assign | ast.AugAssign | ast.Tuple):
        return
    for name in maker.region.locals:
        if name not in (node.id, "self", "cls"):
            fits = known.get(name) is None or known.get(node.id) is None or known[name] == known[node.id]
            code = brief(maker.source.segment(maker.source.statement_of(node)))
            reason = f"the wrong variable is assigned: `{node.id}` becomes `{name}` in `{code}`"
            yield maker.edit(
                [Replacement(*maker.source.span(node), name)], node.lineno, reason, prior if fits else prior * 0.25
            )


def _attribute(maker: Maker, node: ast.Attribute, parts: dict[str, list[str]]) -> Iterator[Candidate]:
    region, source = maker.region, maker.source
    parent = source.parents[node]
    if isinstance(parent, ast.Call) and parent.func is node:
        return
    base = source.segment(node.value)
    known = kinds(region)
    if base == "self":
        others = [name for name in attributes_of_self(region)["data"] if name != node.attr]
        for name in others:
            own, other = known.get(f"self.{node.attr}"), known.get(f"self.{name}")
            factor = 1.0 if own is None or other is None else 1.3 if own == other else 0.3
            yield maker.edit(
                [_attr(source, node, name)],
                node.lineno,
                f"the wrong attribute: `self.{node.attr}` becomes `self.{name}`",
                0.3 * factor,
            )
        if isinstance(node.ctx, ast.Load):
            for name in readable(region, node):
                if name not in ("self", "cls"):
                    yield maker.expression(
                        node, name, _REASON, 0.3 if name.strip("_") == node.attr.strip("_") else 0.08
                    )
        return
    if not isinstance(node.ctx, ast.Load) and not isinstance(node.ctx, ast.Store):
        return
    seen = _attributes(source)
    near = [
        item.attr
        for item in region.nodes
        if isinstance(item, ast.Attribute) and source.segment(item.value) == base and not _is_called(source, item)
    ]
    for name in dict.fromkeys([*near, *seen, *_fields(source)]):
        if name != node.attr:
            yield maker.edit(
                [_attr(source, node, name)],
                node.lineno,
                f"the wrong attribute: `{base}.{node.attr}` becomes `{base}.{name}`",
                0.35 if name in near else 0.15,
            )
    if isinstance(node.ctx, ast.Load):
        yield maker.expression(node, base, "the whole is meant, not a part", 0.15)
    for text in parts.get(base, ()):
        if text != f"{base}.{node.attr}" and isinstance(node.ctx, ast.Load):
            yield maker.expression(node, text, "another part is meant", 0.1)


def _attr(source: Source, node: ast.Attribute, name: str) -> Replacement:
    end = source.span(node)[1]
    return Replacement(end - len(node.attr), end, name)


def _is_called(source: Source, node: ast.Attribute) -> bool:
    parent = source.parents[node]
    return isinstance(parent, ast.Call) and parent.func is node


def _is_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


@remembered
def _attributes(source: Source) -> list[str]:
    """Attributes of anything but `self` that the file reads or sets."""
    found = [
        node.attr
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and not _is_called(source, node) and not _is_self(node)
    ]
    return list(dict.fromkeys(found))


@remembered
def _fields(source: Source) -> list[str]:
    """Annotated fields of the file's classes."""
    return [
        item.target.id
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ClassDef)
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    ]


def _parts(region: Region) -> dict[str, list[str]]:
    """Name -> short expressions in the region that take a part of it (`x.left`, `x[i]`, `len(x)`)."""
    found: dict[str, dict[str, None]] = {}
    for node in region.nodes:
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.value, ast.Name):
            text = region.source.segment(node)
            called = isinstance(node, ast.Attribute) and _is_called(region.source, node)
            if len(text) <= 30 and node.value.id != "self" and not called:
                found.setdefault(node.value.id, {})[text] = None
        elif (
            isinstance(node, ast.Call)
            and called_name(node) == "len"
            and node.args
            and isinstance(node.args[0], ast.Name)
        ):
            found.setdefault(node.args[0].id, {})[region.source.segment(node)] = None
    return {name: list(texts) for name, texts in found.items()}


def _is_key(source: Source, node: ast.Constant) -> bool:
    parent = source.parents[node]
    if isinstance(parent, ast.Subscript):
        return parent.slice is node
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute):
        return parent.func.attr in ("get", "pop", "setdefault") and parent.args[:1] == [node]
    if isinstance(parent, ast.Dict):
        return node in parent.keys
    return isinstance(parent, ast.Compare)


@remembered
def _keys(source: Source) -> list[str]:
    found = [
        node.value
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_key(source, node)
    ]
    return [text for text in dict.fromkeys(found) if re.fullmatch(r"[^\n\r\t\"'\\]{1,24}", text)][:30]
