"""The grammar of bash: a text to its syntax tree. The one module that knows tree-sitter, which is loaded when the first
command is judged.

The tree is a proposal, not the truth: where tree-sitter's grammar and bash differ, `reading` compares what the tree
says with the text itself and takes only what both agree on.
"""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node as Node
    from tree_sitter import Parser

MAX_CHARACTERS = 100_000
MAX_DEPTH = 60
"""Brackets inside brackets."""
MAX_COUNTS = {"|": 2_000, "<": 2_000}
"""How often these may stand in a text. The parser's work grows with their square, and that of brackets with length and
depth together."""


MAX_CPU_S = 1.0
"""After so much work the parser is told that the text ends, and the text is too long to read."""
_CHUNK_BYTES = 512


class Unreadable(Exception):
    """The text is no text for a shell, or too large a work to read."""


def parse(text: str) -> tuple[Node, bytes]:
    """The root node and the bytes its positions count in. Raises Unreadable."""
    if len(text) > MAX_CHARACTERS or _depth(text) > MAX_DEPTH or _too_many(text):
        raise Unreadable
    source = text.encode("utf-8")
    until_s = time.thread_time() + MAX_CPU_S
    late = False

    def read(at: int, point: object) -> bytes:
        nonlocal late
        late = late or time.thread_time() > until_s
        return b"" if late else source[at : at + _CHUNK_BYTES]

    root = _parser().parse(read).root_node
    if late:
        raise Unreadable
    return root, source


def _too_many(text: str) -> bool:
    return any(text.count(char) > limit for char, limit in MAX_COUNTS.items())


def _depth(text: str) -> int:
    """The deepest nesting of brackets, quotes not minded: an upper bound."""
    depth = deepest = 0
    for char in text:
        if char in "({[":
            depth += 1
            deepest = max(deepest, depth)
        elif char in ")}]" and depth:
            depth -= 1
    return deepest


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
