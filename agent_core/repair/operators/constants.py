"""Wrong constants and wrong initial values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from agent_core.repair.operators.base import Candidate, Clues, Maker, constant_value
from agent_core.repair.operators.scope import readable
from agent_core.repair.source import Region, Replacement

_INFINITY = ("float('inf')", "float('-inf')")


def wrong_constants(region: Region, clues: Clues) -> Iterator[Candidate]:
    maker = Maker(region, "wrong constant")
    told = _told_numbers(region)
    for node in region.nodes:
        if isinstance(node, ast.JoinedStr):
            yield from _format(maker, node)
        parent = region.source.parents.get(node)
        if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub):
            continue
        if isinstance(parent, ast.Expr):
            continue  # a docstring
        value = constant_value(node)
        if value is ... or not isinstance(node, ast.expr):
            yield from _infinity(maker, node)
        elif isinstance(value, bool):
            yield maker.expression(node, str(not value), "the wrong truth value", 0.5)
        elif isinstance(value, int | float):
            yield from _number(maker, node, value, told, clues)
        elif isinstance(value, str):
            yield from _text(maker, node, value, clues)
        elif value is None:
            yield from _nothing(maker, node)


def initial_values(region: Region, clues: Clues) -> Iterator[Candidate]:
    """What an accumulator or a search starts from."""
    maker = Maker(region, "wrong initial value")
    for node in region.nodes:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        pairs = [(targets[0], node.value)]
        if isinstance(node.value, ast.Tuple) and isinstance(targets[0], ast.Tuple):
            pairs = list(zip(targets[0].elts, node.value.elts, strict=False))
        for target, value in pairs:
            for text, prior in [*_starts(region, value), *_starts_by_use(region, target, value)]:
                yield maker.expression(value, text, "the initial value is wrong", prior)


def _starts_by_use(region: Region, target: ast.expr, value: ast.expr) -> Iterator[tuple[str, float]]:
    """What the later use of a name says of where it starts: a running maximum, a test for None."""
    name = ast.unparse(target)
    for node in region.nodes:
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            continue
        sides = [ast.unparse(node.left), ast.unparse(node.comparators[0])]
        if name not in sides:
            continue
        if isinstance(node.ops[0], ast.Is | ast.IsNot) and "None" in sides:
            yield "None", 0.6
        elif isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
            upwards = isinstance(node.ops[0], ast.Gt | ast.GtE) == (sides[1] == name)
            yield ("float('-inf')" if upwards else "float('inf')"), 0.5
            for parameter in region.parameters:
                if parameter not in ("self", "cls"):
                    yield f"{parameter}[0]", 0.3


def _starts(region: Region, value: ast.expr) -> Iterator[tuple[str, float]]:
    lists = [name for name in region.parameters if name not in ("self", "cls")]
    number = constant_value(value)
    if isinstance(number, int | float) and not isinstance(number, bool):
        for text in ("float('inf')", "float('-inf')", "None"):
            yield text, 0.2
        for name in lists:
            yield f"{name}[0]", 0.25
            yield name, 0.15
            yield f"len({name})", 0.15
            yield f"len({name}) - 1", 0.15
    elif number is None:
        yield from (("0", 0.25), ("[]", 0.2), ("{}", 0.2), ('""', 0.15), ("set()", 0.1))
        for name in lists:
            yield name, 0.25
            yield f"{name}[0]", 0.2
    elif isinstance(value, ast.List) and len(value.elts) <= 1:
        text = region.source.segment(value)
        if not value.elts:
            yield from (
                ("[[]]", 0.3),
                ("[0]", 0.3),
                ("[1]", 0.3),
                ("{}", 0.15),
                ("set()", 0.15),
                ("[None]", 0.1),
                ('""', 0.1),
            )
            for name in readable(region, value):
                if name not in ("self", "cls"):
                    yield f"[{name}]", 0.2
        else:
            yield "[]", 0.35
            yield f"[{text}]", 0.1
    elif isinstance(value, ast.Dict) and not value.keys:
        yield from (("[]", 0.15), ("set()", 0.2))
    elif isinstance(value, ast.Call) and region.source.segment(value) == "set()":
        yield from (("[]", 0.2), ("{}", 0.2))
        for name in readable(region, value):
            if name not in ("self", "cls"):
                yield f"{{{name}}}", 0.25
    elif isinstance(number, str) and not number:
        yield from (("[]", 0.2), ("None", 0.1))
    elif isinstance(value, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
        yield from (("0", 0.15), ("[]", 0.1), ("None", 0.1), ("1", 0.1))


def _told_numbers(region: Region) -> list[str]:
    """Numbers in the function's own documentation and comments, and constants of the module."""
    text = "\n".join(region.source.lines[region.first - 1 : region.last]) if not region.is_module else ""
    words = re.findall(r"#.*", text)
    if not region.is_module:
        words.append(ast.get_docstring(region.node) or "")
    words.append(ast.get_docstring(region.source.tree) or "")
    return list(dict.fromkeys(re.findall(r"(?<![\w.])(?:0|[1-9]\d*)(?:\.\d+)?(?![\w.]*\w)", " ".join(words))))[:12]


def _number(maker: Maker, node: ast.expr, value: int | float, told: list[str], clues: Clues) -> Iterator[Candidate]:
    reason = "the wrong constant"
    found: dict[str, float] = {}

    def offer(text: str, prior: float) -> None:
        found.setdefault(text, prior)

    for text in told:
        offer(text, 0.4)
    if isinstance(value, int):
        near = 0.5 if abs(value) <= 3 else 0.4
        offer(str(value + 1), near)
        offer(str(value - 1), near)
        if value:
            offer(str(-value), 0.3)
            offer(str(value * 2), 0.12)
            offer("0", 0.25)
        if value not in (1, 0):
            offer("1", 0.25)
        if value and value % 2 == 0:
            offer(str(value // 2), 0.12)
        if abs(value) >= 10:
            offer(str(value * 10), 0.3)
            if value % 10 == 0:
                offer(str(value // 10), 0.25)
        if value in (0, 1, -1):
            for text in ("2", "-1"):
                offer(text, 0.15)
        if value in (24, 60, 3600, 100, 1000, 1024, 7, 12, 365):
            for text in ("60", "24", "3600", "86400", "100", "1000", "1024", "7", "12", "30", "365", "366"):
                offer(text, 0.2)
    else:
        for text in (
            f"{value * 10:g}",
            f"{value / 10:g}",
            f"{value * 100:g}",
            f"{value / 100:g}",
            f"{1 - value:g}",
            f"{1 + value:g}",
            f"{-value:g}",
        ):
            offer(text, 0.25)
        offer(f"{value + 1:g}", 0.2)
        if value == int(value):
            offer(str(int(value)), 0.1)
    for other in clues.constants:
        if isinstance(other, int | float) and not isinstance(other, bool) and other != value:
            offer(repr(other), 0.08)
    for text, prior in found.items():
        if text != maker.source.segment(node):
            yield maker.expression(node, text, reason, prior)


def _infinity(maker: Maker, node: ast.AST) -> Iterator[Candidate]:
    """Plus for minus infinity, and the other way round."""
    if isinstance(node, ast.Call):
        text = maker.source.segment(node).replace('"', "'")
        if text in _INFINITY:
            other = _INFINITY[1 - _INFINITY.index(text)]
            yield maker.expression(node, other, "the wrong infinity", 0.6)
            yield maker.expression(node, "0", "the initial value is wrong", 0.2)
    elif isinstance(node, ast.Attribute) and node.attr in ("inf", "maxsize"):
        parent = maker.source.parents[node]
        if isinstance(parent, ast.UnaryOp):
            yield maker.expression(parent, maker.source.segment(node), "the wrong infinity", 0.6)
        else:
            yield maker.expression(node, f"-{maker.source.segment(node)}", "the wrong infinity", 0.6)


def _text(maker: Maker, node: ast.expr, value: str, clues: Clues) -> Iterator[Candidate]:
    raw = maker.source.segment(node)
    quote = raw[:1]
    if quote not in "\"'" or raw[:3] in ('"""', "'''") or isinstance(maker.source.parents[node], ast.JoinedStr):
        return
    others: dict[str, float] = {}
    if len(value) <= 2:
        for text in ("", " ", ",", ", ", "\n", "-", "_", ".", ":", "/", ";", "\t"):
            others[text] = 0.2 if value in ("", " ", ",", ", ", "\n") or text in ("", " ") else 0.1
    if value != value.strip() and value.strip():
        others[value.strip()] = 0.2
    elif value.strip() and len(value) < 20:
        others[f"{value} "], others[f" {value}"] = 0.08, 0.08
    for changed in (value.lower(), value.upper(), value.title(), value.rstrip(".,:;"), value[:-1], value[1:]):
        others.setdefault(changed, 0.15)
    for other in clues.constants:
        if isinstance(other, str) and len(other) <= 40 and other.isprintable():
            others.setdefault(other, 0.3 if _distance(other, value) <= 2 else 0.06)
    for text, prior in others.items():
        if text != value:
            yield maker.expression(node, _quoted(text, quote), "the wrong text", prior)


def _quoted(text: str, quote: str) -> str:
    inner = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace(quote, "\\" + quote)
    return f"{quote}{inner}{quote}"


def _distance(first: str, second: str) -> int:
    """Edit distance, bounded: 9 for texts of very different length."""
    if abs(len(first) - len(second)) > 3:
        return 9
    row = list(range(len(second) + 1))
    for at, left in enumerate(first, 1):
        previous, row[0] = row[0], at
        for place, right in enumerate(second, 1):
            previous, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, previous + (left != right))
    return row[-1]


def _nothing(maker: Maker, node: ast.expr) -> Iterator[Candidate]:
    for text, prior in (("0", 0.15), ("[]", 0.15), ("True", 0.1), ("False", 0.15), ('""', 0.12), ("{}", 0.1)):
        yield maker.expression(node, text, "the wrong value", prior)


def _format(maker: Maker, node: ast.JoinedStr) -> Iterator[Candidate]:
    """Precision and padding in f-strings."""
    start = maker.source.span(node)[0]
    text = maker.source.segment(node)
    for found in re.finditer(r"(:[^{}:]*?)(\d)([fdxe%]?)\}", text):
        digit = int(found[2])
        for other in (digit + 1, digit - 1, 2):
            if other >= 0 and other != digit:
                at = start + found.start(2)
                reason = f"the wrong format: `{found[0][:-1]}` becomes `{found[1]}{other}{found[3]}`"
                yield maker.edit([Replacement(at, at + 1, str(other))], node.lineno, reason, 0.25)
