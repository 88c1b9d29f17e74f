"""Order and key of sorted, sort, min and max."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent_core.repair.operators.base import Candidate, Clues, Maker, called_name, operand
from agent_core.repair.operators.relatives import PLAIN_METHODS
from agent_core.repair.source import Region, Replacement, Source, remembered

_ORDERED = ("sorted", "sort", "min", "max", "nlargest", "nsmallest")


def orderings(region: Region, clues: Clues) -> Iterator[Candidate]:
    maker = Maker(region, "wrong order")
    for node in region.nodes:
        if isinstance(node, ast.Call) and called_name(node) in _ORDERED:
            given = {item.arg: item.value for item in node.keywords}
            if called_name(node) in ("sorted", "sort") and "reverse" not in given:
                reason = f"the order is the wrong way round in `{maker.source.segment(node)[:60]}`"
                yield maker.edit([_appended(maker, node, "reverse=True")], node.lineno, reason, 0.45)
            key = given.get("key")
            if key is None:
                yield from _missing_key(maker, node)
            elif isinstance(key, ast.Lambda) and len(key.args.args) == 1:
                yield from _key(maker, key, key.args.args[0].arg)


def _appended(maker: Maker, node: ast.Call, text: str) -> Replacement:
    end = maker.source.span(node)[1] - 1
    return Replacement(end, end, f"{', ' if node.args or node.keywords else ''}{text}")


def _missing_key(maker: Maker, node: ast.Call) -> Iterator[Candidate]:
    keys = [
        "len",
        "lambda item: item[1]",
        "lambda item: item[0]",
        "lambda item: item[-1]",
        "str.lower",
        "abs",
        "str",
        "int",
    ]
    keys += [f"lambda item: item.{attribute}" for attribute in _fields_read(maker.source)]
    for at, key in enumerate(keys[:14]):
        edit = _appended(maker, node, f"key={key}")
        yield maker.edit([edit], node.lineno, f"the sort key is missing: `key={key}`", 0.18 if at < 5 else 0.08)


def _key(maker: Maker, key: ast.Lambda, item: str) -> Iterator[Candidate]:
    source, body = maker.source, maker.source.segment(key.body)
    if isinstance(key.body, ast.Tuple):
        parts = [source.segment(part) for part in key.body.elts]
        for at, part in enumerate(key.body.elts):
            text = parts[at]
            flipped = text[1:] if text.startswith("-") else f"-{operand(source, part, 14)}"
            yield maker.expression(part, flipped, "the order of one part of the key is the wrong way round", 0.35)
            if at:
                swapped = [text, *parts[1:at], parts[0], *parts[at + 1 :]]
                yield maker.expression(key.body, f"({', '.join(swapped)})", "the parts of the key are swapped", 0.25)
        return
    negative = f"-{operand(source, key.body, 14)}"
    yield maker.expression(key.body, negative, "the order of the key is the wrong way round", 0.3)
    others = [f"{item}[0]", f"{item}[1]", f"{item}[-1]", item, *(f"{item}.{name}" for name in _fields_read(source))]
    for text in others:
        if text != body:
            yield maker.expression(key.body, text, "the wrong sort key", 0.25)
            yield maker.expression(key.body, f"({body}, {text})", "ties are not ordered", 0.15)
            yield maker.expression(key.body, f"({negative}, {text})", "the order of the key is wrong", 0.1)


@remembered
def _fields_read(source: Source) -> list[str]:
    found = {
        node.attr: None
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute)
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "os", "re", "math"))
    }
    return [name for name in found if name not in PLAIN_METHODS][:8]
