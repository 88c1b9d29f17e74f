"""Code to spans with the roles of its words. Pure; the grammar is loaded when the first code is drawn."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dashboard.agent.paint.wrapping import plain
from dashboard.widgets.spans import Line, Role, Span

if TYPE_CHECKING:
    from pygments.lexer import Lexer

MAX_CHARACTERS = 60_000
"""Longer code is drawn without colours."""

_ROLES: tuple[tuple[str, Role], ...] = (
    ("Token.Comment", "code.note"),
    ("Token.Keyword", "code.word"),
    ("Token.Operator.Word", "code.word"),
    ("Token.Literal.String", "code.text"),
    ("Token.Literal.Number", "code.number"),
    ("Token.Name.Function", "code.name"),
    ("Token.Name.Class", "code.name"),
    ("Token.Name.Decorator", "code.name"),
    ("Token.Name.Tag", "code.name"),
    ("Token.Generic.Inserted", "added"),
    ("Token.Generic.Deleted", "removed"),
    ("Token.Generic.Heading", "strong"),
)


def code_lines(text: str, language: str) -> list[Line]:
    """One line of spans for each line of `text`, unwrapped."""
    text = plain(text)
    lexer = _lexer(language.strip().lower()) if language and len(text) <= MAX_CHARACTERS else None
    if lexer is None:
        return [((line, ""),) if line else () for line in text.split("\n")]
    lines: list[list[Span]] = [[]]
    for token, value in lexer.get_tokens(text):
        role = _role(token)
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append([])
            if part:
                lines[-1].append((part, role))
    found: list[Line] = [tuple(line) for line in lines]
    wanted = text.count("\n") + 1
    return (found + [()] * wanted)[:wanted]


@lru_cache(256)
def _role(token: Any) -> Role:
    name = str(token)
    return next((role for start, role in _ROLES if name.startswith(start)), "")


@lru_cache(32)
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer: Lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
    return lexer
