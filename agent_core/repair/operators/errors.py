"""Edits that an error's own words point to: unknown names, attributes, keywords, imports; a missing `self`."""

from __future__ import annotations

import ast
import difflib
import re
import sys
from collections.abc import Iterator

from agent_core.repair.operators.base import Candidate, Clues, Maker, is_preamble, operand
from agent_core.repair.operators.scope import attributes_of_self, readable
from agent_core.repair.source import FunctionNode, Region, Replacement, Source

_NAME = re.compile(r"name '(\w+)' is not defined|(?:local|free) variable '(\w+)'")
_ATTRIBUTE = re.compile(r"has no attribute '(\w+)'")
_KEYWORD = re.compile(r"unexpected keyword argument '(\w+)'")
_IMPORT = re.compile(r"cannot import name '(\w+)'|No module named '([\w.]+)'")
_KNOWN_CLASSES = {
    "Counter": "collections",
    "defaultdict": "collections",
    "deque": "collections",
    "OrderedDict": "collections",
    "namedtuple": "collections",
    "dataclass": "dataclasses",
    "field": "dataclasses",
    "datetime": "datetime",
    "timedelta": "datetime",
    "date": "datetime",
    "Path": "pathlib",
    "Decimal": "decimal",
    "Fraction": "fractions",
    "reduce": "functools",
    "lru_cache": "functools",
    "wraps": "functools",
    "partial": "functools",
    "chain": "itertools",
    "groupby": "itertools",
    "product": "itertools",
    "combinations": "itertools",
    "permutations": "itertools",
    "islice": "itertools",
    "accumulate": "itertools",
    "zip_longest": "itertools",
    "heappush": "heapq",
    "heappop": "heapq",
    "sqrt": "math",
    "ceil": "math",
    "floor": "math",
    "Enum": "enum",
    "ABC": "abc",
    "Optional": "typing",
    "Any": "typing",
    "bisect_left": "bisect",
}
"""Where Python's own library keeps names that are often used bare."""


def unknown_names(region: Region, clues: Clues) -> Iterator[Candidate]:
    maker = Maker(region, "unknown name")
    for error, message in clues.errors:
        kind = error.rpartition(".")[2]
        if kind in ("NameError", "UnboundLocalError"):
            for found in _NAME.finditer(message):
                yield from _name(maker, found[1] or found[2], clues)
        elif kind == "AttributeError":
            for found in _ATTRIBUTE.finditer(message):
                yield from _attribute(maker, found[1], clues)
        elif kind == "TypeError":
            for found in _KEYWORD.finditer(message):
                yield from _keyword(maker, found[1], clues)
            yield from _types(maker, message)
        elif kind in ("ImportError", "ModuleNotFoundError", "Failed"):
            for found in _IMPORT.finditer(message):
                yield from _import(maker, found[1] or found[2], clues)


def _name(maker: Maker, name: str, clues: Clues) -> Iterator[Candidate]:
    region, source = maker.region, maker.source
    uses = [node for node in region.nodes if isinstance(node, ast.Name) and node.id == name]
    if not uses:
        return
    yield from _imported(maker, name, uses[0].lineno, clues)
    others = list(dict.fromkeys([*readable(region, uses[0]), *_top_level(source)]))
    for node in uses:
        if not isinstance(node.ctx, ast.Load):
            continue
        for other in difflib.get_close_matches(name, [item for item in others if item != name], n=4, cutoff=0.5):
            yield maker.expression(node, other, "the name is unknown", 0.8)
        if (
            name in [*attributes_of_self(region)["data"], *attributes_of_self(region)["methods"]]
            and "self" in region.parameters
        ):
            yield maker.expression(node, f"self.{name}", "the attribute is read without `self`", 1.0)
    if isinstance(region.node, FunctionNode) and region.body and any(isinstance(node.ctx, ast.Store) for node in uses):
        for word in ("nonlocal", "global"):
            yield maker.insert_before(region.body[0], [f"{word} {name}"], f"`{name}` of the code around is meant", 1.0)


def _imported(maker: Maker, name: str, line: int, clues: Clues) -> Iterator[Candidate]:
    """An import that is missing at the top of the file."""
    texts: list[str] = []
    if name in sys.stdlib_module_names:
        texts.append(f"import {name}")
    if name in _KNOWN_CLASSES:
        texts.append(f"from {_KNOWN_CLASSES[name]} import {name}")
    own = maker.source.path.removesuffix(".py").replace("/", ".")
    texts += [f"from {module} import {name}" for known, module in clues.project if known == name and module != own]
    if not texts:
        return
    body = maker.source.tree.body
    first = next((node for node in body if not is_preamble(node)), body[0])
    for text in texts:
        at = maker.source.line_start(first.lineno)
        yield maker.edit([Replacement(at, at, f"{text}\n")], line, f"an import is missing: `{text}`", 1.0)


def _top_level(source: Source) -> list[str]:
    found: list[str] = []
    for node in source.tree.body:
        if isinstance(node, FunctionNode | ast.ClassDef):
            found.append(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found += [(item.asname or item.name).split(".")[0] for item in node.names]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found += [item.id for target in targets for item in ast.walk(target) if isinstance(item, ast.Name)]
    return found


def _attribute(maker: Maker, name: str, clues: Clues) -> Iterator[Candidate]:
    source = maker.source
    known = [
        *attributes_of_self(maker.region)["data"],
        *attributes_of_self(maker.region)["methods"],
        *clues.vocabulary,
        *_methods_everywhere(source),
    ]
    for node in maker.region.nodes:
        if isinstance(node, ast.Attribute) and node.attr == name:
            end = source.span(node)[1]
            for other in difflib.get_close_matches(
                name, [item for item in dict.fromkeys(known) if item != name], n=5, cutoff=0.5
            ):
                edit = Replacement(end - len(name), end, other)
                yield maker.edit([edit], node.lineno, f"there is no attribute `{name}`; `{other}` is meant", 0.9)
    for owner in [node for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef)]:
        for item in owner.body:
            if (
                isinstance(item, FunctionNode)
                and item.name != name
                and difflib.SequenceMatcher(None, item.name, name).ratio() > 0.75
            ):
                start = source.text.find(item.name, source.span(item)[0])
                edit = Replacement(start, start + len(item.name), name)
                yield maker.edit(
                    [edit], item.lineno, f"the method is called `{name}` elsewhere, not `{item.name}`", 0.4
                )


def _methods_everywhere(source: Source) -> list[str]:
    return [node.name for node in ast.walk(source.tree) if isinstance(node, FunctionNode)]


def _keyword(maker: Maker, name: str, clues: Clues) -> Iterator[Candidate]:
    source = maker.source
    parameters = [
        item.arg
        for node in ast.walk(source.tree)
        if isinstance(node, ast.arguments)
        for item in [*node.args, *node.kwonlyargs]
    ]
    for node in maker.region.nodes:
        if isinstance(node, ast.keyword) and node.arg == name:
            start = source.span(node)[0]
            for other in difflib.get_close_matches(
                name,
                [item for item in dict.fromkeys([*parameters, *clues.vocabulary]) if item != name],
                n=4,
                cutoff=0.4,
            ):
                yield maker.edit(
                    [Replacement(start, start + len(name), other)],
                    node.value.lineno,
                    f"there is no argument `{name}`; `{other}` is meant",
                    0.9,
                )


def _types(maker: Maker, message: str) -> Iterator[Candidate]:
    """Text and numbers that are mixed."""
    source = maker.source
    if (
        "can only concatenate str" in message
        or "must be str" in message
        or "unsupported operand" in message
        or "not supported between" in message
        or "expected str instance" in message
    ):
        for node in maker.region.nodes:
            parts: list[ast.expr] = []
            if isinstance(node, ast.BinOp):
                parts = [node.left, node.right]
            elif isinstance(node, ast.Compare):
                parts = [node.left, *node.comparators]
            elif (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "join"
                and len(node.args) == 1
            ):
                yield maker.expression(
                    node.args[0], f"map(str, {operand(source, node.args[0], 2)})", "the items are no text", 0.8
                )
            for part in parts:
                for name in ("str", "int", "float"):
                    if not isinstance(part, ast.Constant):
                        yield maker.expression(
                            part, f"{name}({source.segment(part)})", "text and numbers are mixed", 0.5
                        )
    if "takes" in message and "positional argument" in message:
        for region in source.regions[:-1]:
            if (
                region.owner is not None
                and region.parameters[:1] != ["self"]
                and isinstance(region.node, FunctionNode)
                and not region.node.decorator_list
            ):
                start = source.text.find("(", source.span(region.node)[0]) + 1
                lead = "self, " if region.parameters else "self"
                yield maker.edit(
                    [Replacement(start, start, lead)],
                    region.node.lineno,
                    f"`self` is missing in `{region.qualname}`",
                    0.7,
                )


def _import(maker: Maker, name: str, clues: Clues) -> Iterator[Candidate]:
    """A name or module that an import spells wrongly."""
    source = maker.source
    if not maker.region.is_module:
        return
    modules = [module for _, module in clues.project]
    names = [known for known, _ in clues.project]
    for node in source.tree.body:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        text = source.segment(node)
        start = source.span(node)[0]
        for found in re.finditer(rf"\b{re.escape(name)}\b", text):
            for other in difflib.get_close_matches(name, list(dict.fromkeys([*names, *modules])), n=4, cutoff=0.5):
                edit = Replacement(start + found.start(), start + found.end(), other)
                yield maker.edit([edit], node.lineno, f"`{name}` can't be imported; `{other}` is meant", 0.8)
        for item in node.names:
            if item.name == name and isinstance(node, ast.ImportFrom):
                for known, module in clues.project:
                    if known == name and node.module != module:
                        edit = Replacement(*source.span(node), text.replace(f"from {node.module}", f"from {module}", 1))
                        yield maker.edit([edit], node.lineno, f"`{name}` lives in `{module}`", 0.9)
