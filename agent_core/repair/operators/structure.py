"""Order and nesting of statements: wrong place, wrong depth, superfluous, `break` for `continue`, `if` for `while`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent_core.repair.operators.base import Candidate, Clues, Maker, brief, operand
from agent_core.repair.source import FunctionNode, Region, Replacement

_COMPOUND = (
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Match,
)


def structure(region: Region, clues: Clues) -> Iterator[Candidate]:
    if region.is_module:
        return
    maker = Maker(region, "statement order")
    for statement in region.statements:
        if statement in region.node.body and statement not in region.body:
            continue  # the docstring
        yield from _word(maker, statement)
        if maker.stands_alone(statement):
            yield from _neighbours(maker, statement)
            yield from _depth(maker, statement)
            yield from _without(maker, statement)


def _word(maker: Maker, statement: ast.stmt) -> Iterator[Candidate]:
    source = maker.source
    start = source.span(statement)[0]
    if isinstance(statement, ast.Break | ast.Continue):
        old, new = ("break", "continue") if isinstance(statement, ast.Break) else ("continue", "break")
        yield maker.edit(
            [Replacement(start, start + len(old), new)], statement.lineno, f"`{old}` where `{new}` is meant", 0.45
        )
        if not maker.region.is_generator:
            for text in ("return", "return True", "return False"):
                yield maker.edit(
                    [Replacement(start, start + len(old), text)],
                    statement.lineno,
                    f"`{old}` where `{text}` is meant",
                    0.1,
                )
    elif isinstance(statement, ast.Return) and statement.value is None and source.loop_of(statement) is not None:
        for text in ("continue", "break"):
            yield maker.edit(
                [Replacement(*source.span(statement), text)],
                statement.lineno,
                f"`return` where `{text}` is meant",
                0.35,
            )
    elif isinstance(statement, ast.Return) and source.loop_of(statement) is not None:
        for text in ("continue", "break"):
            yield maker.edit(
                [Replacement(*source.span(statement), text)], statement.lineno, f"`return` where `{text}` is meant", 0.1
            )
    elif isinstance(statement, ast.If | ast.While) and source.text[start : start + 2] in ("if", "wh"):
        old, new = ("if", "while") if isinstance(statement, ast.If) else ("while", "if")
        if not statement.orelse:
            reason = f"`{old}` where `{new}` is meant"
            yield maker.edit([Replacement(start, start + len(old), new)], statement.lineno, reason, 0.25)
    if isinstance(statement, ast.While) and not statement.orelse:
        bare = isinstance(statement.test, ast.Constant)
        names = (
            [node for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
            if bare
            else []
        )
        for name in dict.fromkeys(node.id for node in names):
            yield maker.expression(statement.test, name, "the loop has no end", 0.3)
    if isinstance(statement, ast.If):
        yield from _chain(maker, statement, start)


def _chain(maker: Maker, statement: ast.If, start: int) -> Iterator[Candidate]:
    source = maker.source
    block = source.block_of(statement)
    at = block.index(statement)
    word = source.text[start : start + 4]
    if word == "elif":
        yield maker.edit(
            [Replacement(start, start + 4, "if")], statement.lineno, "`elif` where a separate `if` is meant", 0.3
        )
    elif at and isinstance(block[at - 1], ast.If) and source.text[start : start + 2] == "if":
        yield maker.edit(
            [Replacement(start, start + 2, "elif")], statement.lineno, "a separate `if` where `elif` is meant", 0.35
        )
    if word != "elif" and not statement.orelse and len(statement.body) >= 1:
        body_start, body_end = (
            source.line_start(statement.body[0].lineno),
            source.line_start((statement.body[-1].end_lineno or 0) + 1),
        )
        text = source.text[body_start:body_end]
        shift = source.indent_of(statement.body[0].lineno)
        flat = "".join(
            source.indent_of(statement.lineno) + line.removeprefix(shift) if line.strip() else line
            for line in text.splitlines(keepends=True)
        )
        whole = Replacement(source.line_start(statement.lineno), body_end, flat)
        yield maker.edit(
            [whole], statement.lineno, f"`if {brief(source.segment(statement.test))}` must not limit this", 0.07
        )


def _lines(maker: Maker, statement: ast.stmt) -> tuple[int, int, str]:
    """Start, end and text of the whole lines of a statement."""
    source = maker.source
    start = source.line_start(statement.lineno)
    last = statement.end_lineno or statement.lineno
    end = source.line_start(last + 1) if last < len(source.lines) else len(source.text)
    return start, end, source.text[start:end]


def _neighbours(maker: Maker, statement: ast.stmt) -> Iterator[Candidate]:
    """Two statements in the wrong order, or two assignments that must happen at once."""
    source = maker.source
    block = source.block_of(statement)
    at = block.index(statement)
    for step in (1, 2):
        if at + step >= len(block):
            break
        other = block[at + step]
        if not maker.stands_alone(other) or (isinstance(other, _COMPOUND) and isinstance(statement, _COMPOUND)):
            break
        if isinstance(other, ast.Return) or isinstance(statement, FunctionNode | ast.ClassDef | ast.Return):
            break
        start, end, text = _lines(maker, statement)
        other_start, other_end, other_text = _lines(maker, other)
        if not text.endswith("\n") or not other_text.endswith("\n"):
            break
        swap = (
            [Replacement(start, end, other_text), Replacement(other_start, other_end, text)]
            if step == 1
            else [Replacement(start, end, ""), Replacement(other_end, other_end, text)]
        )
        plain = not isinstance(other, _COMPOUND) and not isinstance(statement, _COMPOUND)
        code, behind = brief(source.segment(statement), 40), brief(source.segment(other), 40)
        reason = f"`{code}` comes too early; it belongs after `{behind}`"
        yield maker.edit(swap, statement.lineno, reason, (0.35 if plain else 0.2) if step == 1 else 0.12)
    if at + 1 < len(block) and isinstance(statement, ast.Assign) and isinstance(block[at + 1], ast.Assign):
        following = block[at + 1]
        assert isinstance(following, ast.Assign)
        targets = f"{source.segment(statement.targets[0])}, {source.segment(following.targets[0])}"
        values = f"{operand(source, statement.value, 2)}, {operand(source, following.value, 2)}"
        whole = Replacement(source.span(statement)[0], source.span(following)[1], f"{targets} = {values}")
        yield maker.edit(
            [whole],
            statement.lineno,
            f"the second assignment reads what the first one has changed: `{targets} = {values}`",
            0.2,
        )


def _depth(maker: Maker, statement: ast.stmt) -> Iterator[Candidate]:
    """One level out of a block, or into the block before."""
    source = maker.source
    block = source.block_of(statement)
    parent = source.parents[statement]
    start, end, text = _lines(maker, statement)
    if not text.endswith("\n") or isinstance(statement, FunctionNode | ast.ClassDef):
        return
    code = brief(source.segment(statement), 40)
    unit = source.indent_unit
    if (
        block[-1] is statement
        and len(block) > 1
        and isinstance(parent, ast.For | ast.While | ast.If | ast.With | ast.Try)
        and not isinstance(statement, ast.Break | ast.Continue)
    ):
        outdented = "".join(
            line.removeprefix(unit) if line.strip() else line for line in text.splitlines(keepends=True)
        )
        if parent.end_lineno == statement.end_lineno:
            prior = 0.4 if isinstance(parent, ast.For | ast.While) else 0.3
            yield maker.edit(
                [Replacement(start, end, outdented)], statement.lineno, f"`{code}` is one level too deep", prior
            )
    if block[0] is statement and len(block) > 1 and isinstance(parent, ast.For | ast.While):
        outdented = "".join(
            line.removeprefix(unit) if line.strip() else line for line in text.splitlines(keepends=True)
        )
        ahead = source.line_start(parent.lineno)
        edits = [Replacement(ahead, ahead, outdented), Replacement(start, end, "")]
        yield maker.edit(edits, statement.lineno, f"`{code}` belongs ahead of the loop", 0.25)
    at = block.index(statement)
    before = block[at - 1] if at else None
    if (
        before is not None
        and isinstance(before, ast.For | ast.While | ast.If | ast.With)
        and not isinstance(statement, _COMPOUND)
    ):
        last = before.orelse[-1] if isinstance(before, ast.If) and before.orelse else before.body[-1]
        shift = source.indent_of(last.lineno).removeprefix(source.indent_of(statement.lineno))
        indented = "".join(shift + line if line.strip() else line for line in text.splitlines(keepends=True))
        yield maker.edit(
            [Replacement(start, end, indented)], statement.lineno, f"`{code}` belongs into the block before", 0.25
        )
    after = block[at + 1] if at + 1 < len(block) else None
    if (
        isinstance(after, ast.For | ast.While)
        and isinstance(statement, ast.Assign)
        and maker.stands_alone(after.body[0])
    ):
        shift = source.indent_of(after.body[0].lineno).removeprefix(source.indent_of(statement.lineno))
        inside = source.line_start(after.body[0].lineno)
        edits = [
            Replacement(start, end, ""),
            Replacement(inside, inside, "".join(shift + line for line in text.splitlines(keepends=True))),
        ]
        yield maker.edit(
            edits, statement.lineno, f"`{code}` belongs into the loop, where it starts anew each time", 0.4
        )


def _without(maker: Maker, statement: ast.stmt) -> Iterator[Candidate]:
    """A statement that must not be there."""
    source = maker.source
    if isinstance(statement, _COMPOUND) and not isinstance(statement, ast.If):
        return
    start, end, _ = _lines(maker, statement)
    code = brief(source.segment(statement), 40)
    prior = 0.05 if isinstance(statement, ast.If | ast.Return | ast.Assign) else 0.14
    if isinstance(statement, ast.If) and source.text[source.span(statement)[0] :][:4] == "elif":
        return
    if len(source.block_of(statement)) > 1:
        yield maker.edit([Replacement(start, end, "")], statement.lineno, f"`{code}` is too much", prior)
    else:
        yield maker.edit(
            [Replacement(*source.span(statement), "pass")], statement.lineno, f"`{code}` is too much", prior
        )
