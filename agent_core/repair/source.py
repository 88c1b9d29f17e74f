"""A Python file as text and tree: character offsets, parents, regions. Pure; knows nothing of edits or tests.

All offsets count characters of the text with `\\n` newlines, so that the client side can apply an edit without parsing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, TypeVar

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

_Thing = TypeVar("_Thing")
_Fact = TypeVar("_Fact")


def remembered(find: Callable[[_Thing], _Fact]) -> Callable[[_Thing], _Fact]:
    """Finds a fact of a source or region once and keeps it there."""

    @wraps(find)
    def found(thing: _Thing) -> _Fact:
        memory: dict[Any, Any] = thing.__dict__.setdefault("_remembered", {})
        if find not in memory:
            memory[find] = find(thing)
        return memory[find]  # type: ignore[no-any-return]

    return found


_STEP_INTO = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Replacement:
    """Characters `start` to `end` (exclusive) of a file become `text`."""

    start: int
    end: int
    text: str


@dataclass(eq=False)
class Source:
    """One parsed file. Raises SyntaxError where the text is no Python."""

    path: str
    text: str
    tree: ast.Module = field(init=False)

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.text)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line) + 1)
        return starts

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: parent for parent in ast.walk(self.tree) for child in ast.iter_child_nodes(parent)}

    def offset(self, line: int, byte_column: int) -> int:
        """Offset of a position as `ast` gives it: `line` from 1, column in UTF-8 bytes."""
        text = self.lines[line - 1]
        column = byte_column if text.isascii() else len(text.encode()[:byte_column].decode(errors="ignore"))
        return self._line_starts[line - 1] + column

    def line_start(self, line: int) -> int:
        """Offset of the first character of a line (from 1); one past the last line is the end of the text."""
        return min(self._line_starts[line - 1], len(self.text))

    def line_of(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Offsets of an expression, statement or argument, without parentheses around it."""
        line, column = node.lineno, node.col_offset  # type: ignore[attr-defined]
        end_line, end_column = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
        return self.offset(line, column), self.offset(end_line, end_column)

    def segment(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def is_enclosed(self, node: ast.AST) -> bool:
        """Whether brackets stand directly around the node, so that any expression may take its place."""
        start, end = self.span(node)
        before = self.text[:start].rstrip(" \t\n")
        after = self.text[end:].lstrip(" \t\n")
        return before[-1:] + after[:1] in ("()", "[]")

    def indent_of(self, line: int) -> str:
        text = self.lines[line - 1]
        return text[: len(text) - len(text.lstrip())]

    @cached_property
    def indent_unit(self) -> str:
        for node in ast.walk(self.tree):
            if isinstance(node, _STEP_INTO):
                return self.indent_of(node.body[0].lineno)[node.col_offset :] or "    "
        return "    "

    def statement_of(self, node: ast.AST) -> ast.stmt:
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def is_elif(self, statement: ast.stmt) -> bool:
        return isinstance(statement, ast.If) and self.text.startswith("elif", self.span(statement)[0])

    def block_of(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that this one stands in."""
        for _, value in ast.iter_fields(self.parents[statement]):
            if isinstance(value, list) and statement in value:
                return value
        return [statement]

    def loop_of(self, node: ast.AST) -> ast.For | ast.AsyncFor | ast.While | None:
        """The innermost loop around a node, within its function."""
        current = self.parents.get(node)
        while current is not None and not isinstance(current, (*_STEP_INTO, ast.Lambda)):
            if isinstance(current, ast.For | ast.AsyncFor | ast.While):
                return current
            current = self.parents.get(current)
        return None

    @cached_property
    def regions(self) -> list[Region]:
        """Every function (methods and nested ones too), then the code outside of functions."""
        found = list(_functions(self, self.tree, "", None))
        return [*found, Region(self, self.tree, "<module>", None)]

    def region_at(self, line: int) -> Region:
        """The innermost function around a line, else the module."""
        best = self.regions[-1]
        for region in self.regions[:-1]:
            if region.first <= line <= region.last and (best.is_module or region.first >= best.first):
                best = region
        return best


def _functions(source: Source, node: ast.AST, prefix: str, owner: ast.ClassDef | None) -> Iterator[Region]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FunctionNode):
            yield Region(source, child, prefix + child.name, owner)
            yield from _functions(source, child, f"{prefix}{child.name}.", None)
        elif isinstance(child, ast.ClassDef):
            yield from _functions(source, child, f"{prefix}{child.name}.", child)
        else:
            yield from _functions(source, child, prefix, owner)


@dataclass(eq=False)
class Region:
    """Code that is searched as one: a function, or what stands outside of all functions."""

    source: Source
    node: FunctionNode | ast.Module
    qualname: str
    owner: ast.ClassDef | None
    """The class of a method, None elsewhere."""

    @property
    def is_module(self) -> bool:
        return isinstance(self.node, ast.Module)

    @property
    def name(self) -> str:
        return self.qualname.rpartition(".")[2]

    @property
    def first(self) -> int:
        if isinstance(self.node, ast.Module):
            return 1
        return min([self.node.lineno, *(item.lineno for item in self.node.decorator_list)])

    @property
    def last(self) -> int:
        return len(self.source.lines) if isinstance(self.node, ast.Module) else self.node.end_lineno or self.node.lineno

    @cached_property
    def body(self) -> list[ast.stmt]:
        """Its statements without the docstring."""
        statements = self.node.body
        if statements and isinstance(statements[0], ast.Expr) and isinstance(statements[0].value, ast.Constant):
            return statements[1:] if isinstance(statements[0].value.value, str) else statements
        return statements

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes that belong to the region itself (not to functions inside it), in source order."""
        found: list[ast.AST] = []
        stack: list[ast.AST] = list(reversed(self.body))
        if isinstance(self.node, FunctionNode):
            stack.append(self.node.args)
        while stack:
            node = stack.pop()
            found.append(node)
            children = [] if isinstance(node, FunctionNode) else list(ast.iter_child_nodes(node))
            if isinstance(node, FunctionNode) and self.is_module:
                children = [*node.args.defaults, *(item for item in node.args.kw_defaults if item is not None)]
            stack.extend(reversed(children))
        return found

    @cached_property
    def statements(self) -> list[ast.stmt]:
        return [node for node in self.nodes if isinstance(node, ast.stmt)]

    @cached_property
    def parameters(self) -> list[str]:
        if isinstance(self.node, ast.Module):
            return []
        arguments = self.node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        extra = [item for item in (arguments.vararg, arguments.kwarg) if item is not None]
        return [item.arg for item in [*every, *extra]]

    @cached_property
    def locals(self) -> list[str]:
        """Names bound here: parameters, then what is assigned, in source order."""
        names = list(self.parameters)
        names += [node.id for node in self.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
        names += [node.name for node in self.nodes if isinstance(node, ast.ExceptHandler) and node.name]
        return list(dict.fromkeys(names))

    @cached_property
    def is_recursive(self) -> bool:
        return not self.is_module and any(self.is_self_call(node) for node in self.nodes)

    def is_self_call(self, node: ast.AST) -> bool:
        """Whether the node calls this very function (`f(...)`, `self.f(...)`, `other.f(...)` in a method)."""
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Attribute):
            return self.owner is not None and node.func.attr == self.name
        return isinstance(node.func, ast.Name) and node.func.id == self.name

    @cached_property
    def is_generator(self) -> bool:
        return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in self.nodes)
