"""Arguments: swapped, superfluous, missing."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from agent_core.repair.operators.base import Candidate, Clues, Maker, brief, called_name, operand
from agent_core.repair.operators.scope import attributes_of_self, readable
from agent_core.repair.source import FunctionNode, Region, Replacement, Source, remembered


def wrong_arguments(region: Region, clues: Clues) -> Iterator[Candidate]:
    maker = Maker(region, "wrong argument")
    for node in region.nodes:
        if isinstance(node, ast.Call):
            yield from _arguments(maker, node, signatures(region.source))
        elif isinstance(node, ast.Tuple | ast.List) and isinstance(node.ctx, ast.Load) and len(node.elts) == 2:
            yield from _pair(maker, node)


def _arguments(maker: Maker, node: ast.Call, signatures: dict[str, ast.arguments]) -> Iterator[Candidate]:
    source = maker.source
    args = [item for item in node.args if not isinstance(item, ast.Starred)]
    texts = [operand(source, item, 2) for item in args]
    names = _positions(signatures.get(called_name(node)))
    for at in range(len(args)):
        for other in range(at + 1, len(args)):
            swap = [
                Replacement(*source.span(args[at]), texts[other]),
                Replacement(*source.span(args[other]), texts[at]),
            ]
            reason = f"the arguments `{texts[at]}` and `{texts[other]}` are swapped in `{source.segment(node)[:60]}`"
            prior = 0.45 if other == at + 1 else 0.2
            yield maker.edit(swap, args[at].lineno, reason, prior * _misplaced(names, texts, at, other))
    values = [*args, *(item.value for item in node.keywords)]
    if len(node.args) + len(node.keywords) > 1:
        given: list[ast.expr | ast.keyword] = [*args, *node.keywords]
        for item in given:
            removal = _removal(source, node, item)
            if removal is not None:
                line = item.value.lineno if isinstance(item, ast.keyword) else item.lineno
                reason = f"the argument `{source.segment(item)}` is too much in `{source.segment(node)[:60]}`"
                yield maker.edit([removal], line, reason, 0.3 if isinstance(item, ast.keyword) else 0.15)
    name = called_name(node)
    if name in signatures and len(values) == len(node.args) + len(node.keywords):
        yield from _added(maker, node, signatures[name])
    yield from _defaults(maker, node, name)


def _pair(maker: Maker, node: ast.Tuple | ast.List) -> Iterator[Candidate]:
    """The two parts of a pair, swapped."""
    source = maker.source
    first, second = node.elts
    if any(isinstance(item, ast.Constant | ast.Starred) for item in node.elts):
        return
    swap = [
        Replacement(*source.span(first), operand(source, second, 2)),
        Replacement(*source.span(second), operand(source, first, 2)),
    ]
    yield maker.edit(swap, node.lineno, f"the parts of `{brief(source.segment(node))}` are swapped", 0.2)


def _positions(signature: ast.arguments | None) -> list[str]:
    """Names of parameters in the order in which a call gives them; [] where the function is not known."""
    every = [*signature.posonlyargs, *signature.args] if signature is not None else []
    return [item.arg for item in every if item.arg not in ("self", "cls")]


def _misplaced(names: Sequence[str], texts: Sequence[str], at: int, other: int) -> float:
    """How much likelier a swap is for what the parameters are called: arguments of the same names vouch for a place."""
    if other >= len(names):
        return 1.0
    ours = sum(texts[place].rpartition(".")[2] == names[place] for place in (at, other))
    swapped = (texts[at].rpartition(".")[2] == names[other]) + (texts[other].rpartition(".")[2] == names[at])
    return 1.0 + 0.5 * swapped if swapped > ours else 0.5 if ours > swapped else 1.0


def _removal(source: Source, node: ast.Call, item: ast.expr | ast.keyword) -> Replacement | None:
    """Takes an argument out of a call together with its comma."""
    start, end = source.span(item)
    before = source.text[:start].rstrip()
    if before.endswith(","):
        return Replacement(len(before) - 1, end, "")
    after = source.text[end:]
    comma = len(after) - len(after.lstrip())
    if after[comma : comma + 1] != ",":
        return None
    rest = after[comma + 1 :]
    return Replacement(start, end + comma + 1 + len(rest) - len(rest.lstrip(" ")), "")


def _added(maker: Maker, node: ast.Call, signature: ast.arguments) -> Iterator[Candidate]:
    """An argument that the function takes and the call does not give."""
    if any(isinstance(item, ast.Starred) for item in node.args) or any(item.arg is None for item in node.keywords):
        return
    names = _positions(signature)
    only = [item.arg for item in signature.kwonlyargs]
    given = {item.arg for item in node.keywords}
    missing = [item for item in names[len(node.args) :] if item not in given] + [
        item for item in only if item not in given
    ]
    end = maker.source.span(node)[1] - 1
    lead = ", " if node.args or node.keywords else ""
    for name in missing[:3]:
        by_position = not node.keywords and names[len(node.args) : len(node.args) + 1] == [name]
        for value in readable(maker.region, node):
            if value in ("self", "cls"):
                continue
            text = f"{lead}{value}" if by_position else f"{lead}{name}={value}"
            reason = f"the argument `{name}` is missing: `{value}` is passed to `{maker.source.segment(node.func)}`"
            yield maker.edit([Replacement(end, end, text)], node.lineno, reason, 0.6 if value == name else 0.15)
        if isinstance(maker.region.owner, ast.ClassDef):
            for value in attributes_of_self(maker.region)["data"]:
                text = f"{lead}self.{value}" if by_position else f"{lead}{name}=self.{value}"
                reason = (
                    f"the argument `{name}` is missing: `self.{value}` is passed to `{maker.source.segment(node.func)}`"
                )
                yield maker.edit(
                    [Replacement(end, end, text)], node.lineno, reason, 0.5 if value.strip("_") == name else 0.08
                )


def _defaults(maker: Maker, node: ast.Call, name: str) -> Iterator[Candidate]:
    """Arguments of Python's own functions that are easily forgotten."""
    source, end = maker.source, maker.source.span(node)[1] - 1
    if node.keywords:
        return
    count = len(node.args)
    extra: list[tuple[str, float]] = []
    if name == "sum" and count == 1:
        extra = [("1", 0.1), ("0.0", 0.1)]
    elif name in ("get", "getattr", "pop") and count == (2 if name == "getattr" else 1):
        extra = [
            ("0", 0.3),
            ("[]", 0.2),
            ("None", 0.25),
            ('""', 0.2),
            ("{}", 0.1),
            ("False", 0.1),
            ("1", 0.1),
            ("set()", 0.05),
        ]
    elif name in ("split", "rsplit") and count == 1:
        extra = [("1", 0.3)]
    elif name in ("split", "rsplit") and count == 0:
        extra = [('","', 0.12), ('" "', 0.15), ('"\\n"', 0.1), ("None, 1", 0.1)]
    elif name == "round" and count == 1:
        extra = [("2", 0.3), ("1", 0.1)]
    elif name in ("enumerate", "count") and count == 1:
        extra = [("1", 0.3)]
    elif name in ("max", "min") and count == 1:
        extra = [("default=0", 0.25), ("default=None", 0.25), ("key=len", 0.2)]
    elif name == "range" and count == 2:
        extra = [("-1", 0.2), ("2", 0.1)]
    elif name == "next" and count == 1:
        extra = [("None", 0.3)]
    elif name == "int" and count == 1:
        extra = [("2", 0.05), ("16", 0.05)]
    elif name == "replace" and count == 2:
        extra = [("1", 0.15)]
    for text, prior in extra:
        reason = f"an argument is missing: `{text}` is added to `{source.segment(node)[:60]}`"
        lead = ", " if count else ""
        yield maker.edit([Replacement(end, end, f"{lead}{text}")], node.lineno, reason, prior)


@remembered
def signatures(source: Source) -> dict[str, ast.arguments]:
    """Functions, methods and classes (by `__init__`) of the file -> their parameters."""
    found: dict[str, ast.arguments] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, FunctionNode):
            found.setdefault(node.name, node.args)
        if isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, FunctionNode) and item.name == "__init__":
                    found[node.name] = item.args
    return {name: arguments for name, arguments in found.items() if not name.startswith("__")}
