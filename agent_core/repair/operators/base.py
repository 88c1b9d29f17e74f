"""What every operator shares: the candidate, the clues and the rendering of expressions with right brackets.

An operator is a pure function `(region, clues) -> candidates`. It states a prior (how often such a fault is the
cause) and a reason; where the fault is likely is not its business (`rank.py` knows).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from agent_core.repair.failures import ended_by_time
from agent_core.repair.source import Region, Replacement, Source


@dataclass(frozen=True, slots=True)
class Candidate:
    """One edit that might be the fix. `line` is where it happens, `prior` in (0, 1] how usual such a fault is."""

    path: str
    replacements: tuple[Replacement, ...]
    kind: str
    reason: str
    line: int
    prior: float


@dataclass(frozen=True, slots=True)
class Clues:
    """What the failing tests say beyond where they fail.

    `errors` are (exception type, message) of failing tests; `expected_errors` the exceptions they wait for; `constants`
    literals written in them; `names` identifiers in their messages; `project` names that other modules define, with the
    module to import each from; `vocabulary` attribute and method names seen in the project.
    """

    errors: tuple[tuple[str, str], ...] = ()
    expected_errors: tuple[str, ...] = ()
    constants: tuple[object, ...] = ()
    project: tuple[tuple[str, str], ...] = ()
    vocabulary: tuple[str, ...] = ()

    def has_error(self, *types: str) -> bool:
        return any(kind.rpartition(".")[2] in types for kind, _ in self.errors)

    @property
    def hangs(self) -> bool:
        """Whether a test was ended by a time limit."""
        return any(ended_by_time(kind, message) for kind, message in self.errors)


Operator = Callable[[Region, Clues], Iterator[Candidate]]

_PRECEDENCE: list[tuple[type[ast.AST], ...]] = [
    (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Tuple),
    (ast.Lambda,),
    (ast.IfExp,),
]
BINARY = {
    ast.BitOr: 8, ast.BitXor: 9, ast.BitAnd: 10, ast.LShift: 11, ast.RShift: 11, ast.Add: 12, ast.Sub: 12, ast.Mult: 13,
    ast.Div: 13, ast.FloorDiv: 13, ast.Mod: 13, ast.MatMult: 13, ast.Pow: 15,
}  # fmt: skip
ATOM = 18
NOT = 6
COMPARE = 7
UNARY = 14


def precedence(node: ast.expr) -> int:
    """How tightly an expression binds; `ATOM` never needs brackets."""
    for level, types in enumerate(_PRECEDENCE, start=1):
        if isinstance(node, types):
            return level
    if isinstance(node, ast.BoolOp):
        return 4 if isinstance(node.op, ast.Or) else 5
    if isinstance(node, ast.UnaryOp):
        return NOT if isinstance(node.op, ast.Not) else UNARY
    if isinstance(node, ast.Compare):
        return COMPARE
    if isinstance(node, ast.BinOp):
        return BINARY[type(node.op)]
    return 16 if isinstance(node, ast.Await) else ATOM


def operand(source: Source, node: ast.expr, level: int) -> str:
    """Text of `node` as an operand of something that binds at `level`, in brackets where it binds less tightly."""
    text = source.segment(node)
    if isinstance(node, ast.Tuple) and not text.startswith("("):
        return f"({text})"
    bare_generator = isinstance(node, ast.GeneratorExp) and not text.startswith("(")
    return f"({text})" if precedence(node) < level or bare_generator else text


def required_level(source: Source, node: ast.expr) -> int:
    """How tightly an expression must bind to stand in the place of `node` without brackets."""
    if source.is_enclosed(node):
        return 0
    parent = source.parents[node]
    if isinstance(parent, ast.BinOp):
        level = BINARY[type(parent.op)]
        right_associative = isinstance(parent.op, ast.Pow)
        return level + (1 if (parent.right is node) != right_associative else 0)
    if isinstance(parent, ast.UnaryOp):
        return NOT if isinstance(parent.op, ast.Not) else UNARY
    if isinstance(parent, ast.Compare):
        return COMPARE + 1
    if isinstance(parent, ast.BoolOp):
        return precedence(parent) + 1
    if isinstance(parent, ast.IfExp):
        return 4
    if isinstance(parent, ast.Attribute | ast.Await) or (isinstance(parent, ast.Call) and parent.func is node):
        return ATOM
    if isinstance(parent, ast.Subscript):
        return ATOM if parent.value is node else 0
    if isinstance(parent, ast.Starred):
        return 8
    if isinstance(parent, ast.Assign | ast.Return | ast.Expr | ast.AugAssign | ast.AnnAssign | ast.For):
        return 0
    return 2


def level_of(text: str) -> int:
    """Precedence of an expression given as text; 0 where it can't be parsed."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return 0
    in_brackets = isinstance(node, ast.Tuple) and (not node.elts or node.elts[0].col_offset > node.col_offset)
    return ATOM if in_brackets else precedence(node)


def replace(source: Source, node: ast.expr, text: str) -> Replacement:
    """`node` becomes the expression `text`, with brackets where its place needs them."""
    start, end = source.span(node)
    parent = source.parents[node]
    number = isinstance(parent, ast.Attribute) and text.isdigit()
    if number or level_of(text) < required_level(source, node):
        text = f"({text})"
    return Replacement(start, end, text)


class Maker:
    """Makes the candidates of one operator in one region."""

    def __init__(self, region: Region, kind: str) -> None:
        self.region, self.source, self.kind = region, region.source, kind

    def expression(self, node: ast.expr, text: str, reason: str, prior: float) -> Candidate:
        """`node` becomes `text`. `reason` is one clause; what was and what it becomes are added."""
        replacement = replace(self.source, node, text)
        return self.edit(
            [replacement], node.lineno, f"{reason}: `{brief(self.source.segment(node))}` becomes `{brief(text)}`", prior
        )

    def edit(self, replacements: Sequence[Replacement], line: int, reason: str, prior: float) -> Candidate:
        ordered = tuple(sorted(replacements, key=lambda item: (item.start, item.end)))
        return Candidate(self.source.path, ordered, self.kind, reason, line, prior)

    def insert_before(self, statement: ast.stmt, lines: Sequence[str], reason: str, prior: float) -> Candidate:
        """New lines (indented relative to the statement) ahead of a statement."""
        line = min([statement.lineno, *(item.lineno for item in getattr(statement, "decorator_list", []))])
        return self._insert(
            self.source.line_start(line), self._indent(statement), lines, statement.lineno, reason, prior
        )

    def insert_after(self, statement: ast.stmt, lines: Sequence[str], reason: str, prior: float) -> Candidate:
        """New lines after a statement, at its own depth."""
        end = statement.end_lineno or statement.lineno
        at = self.source.line_start(end + 1) if end < len(self.source.lines) else len(self.source.text)
        return self._insert(at, self._indent(statement), lines, end, reason, prior)

    def _insert(self, at: int, indent: str, lines: Sequence[str], line: int, reason: str, prior: float) -> Candidate:
        text = "".join(f"{indent}{item}\n" for item in lines)
        if at and self.source.text[at - 1] != "\n":
            text = "\n" + text.rstrip("\n")
        return self.edit([Replacement(at, at, text)], line, reason, prior)

    def _indent(self, statement: ast.stmt) -> str:
        return self.source.indent_of(statement.lineno)

    def stands_alone(self, statement: ast.stmt) -> bool:
        """Whether the statement has its lines to itself, so that lines can be put around it or taken away."""
        start, end = self.source.span(statement)
        line_end = self.source.text.find("\n", end)
        after = self.source.text[end : line_end if line_end >= 0 else None].strip()
        before = self.source.text[self.source.line_start(statement.lineno) : start].strip()
        return not before and (not after or after.startswith("#"))


def brief(text: str, limit: int = 60) -> str:
    """One line of code for a sentence."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def apply(text: str, replacements: Sequence[Replacement]) -> str:
    """The text after non-overlapping replacements."""
    for item in sorted(replacements, key=lambda item: (item.start, item.end), reverse=True):
        text = text[: item.start] + item.text + text[item.end :]
    return text


def constant_value(node: ast.AST) -> object:
    """The value of a literal, negative numbers included; `...` for anything else."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return -value if isinstance(value, int | float) else ...
    return ...


def called_name(node: ast.Call) -> str:
    """The function's or method's own name; "" where an expression is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def is_preamble(statement: ast.stmt) -> bool:
    """A docstring or an import from `__future__`: nothing may stand before it."""
    docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return docstring or (isinstance(statement, ast.ImportFrom) and statement.module == "__future__")


def is_int(node: ast.AST) -> bool:
    value = constant_value(node)
    return isinstance(value, int) and not isinstance(value, bool)
