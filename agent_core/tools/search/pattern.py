"""What can be told of a search pattern without running it. Pure; errs on the safe side.

Owns three questions: is it plain text, which text must stand in every line that matches, and is it sure to be quick.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

_OPERATORS = frozenset("\\.^$*+?{}[]|()")
_ESCAPED = re.compile(r"\\([^\w\s])")

MAX_OPTIONAL = 3
"""Optional parts that a quick pattern may have; each can double the work."""

MAX_OPEN = 1
"""Unbounded repeats that a quick pattern may have; each multiplies the work by the length of the line."""


class _Token(msgspec.Struct, frozen=True):
    kind: Literal["text", "class", "open", "close", "or", "repeat"]
    text: str = ""


def plain_text(pattern: str) -> str | None:
    """The text that a pattern without any operator stands for; None if it has one."""
    if not _OPERATORS.isdisjoint(_ESCAPED.sub("", pattern)):
        return None
    return _ESCAPED.sub(r"\1", pattern)


def required_text(pattern: str) -> str:
    """The longest text that every match of a valid regular expression holds; "" if none is sure."""
    tokens = _tokens(pattern)
    if tokens is None or any(token.kind == "or" for token in tokens):
        return ""
    best = run = ""
    depth = 0
    for index, token in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else _Token("class")
        depth += (token.kind == "open") - (token.kind == "close")
        if token.kind == "text" and depth == 0 and following.kind != "repeat":
            run += token.text
        elif token.kind == "text" and depth == 0 and following.text == "+":
            best, run = max(best, run + token.text, key=len), ""
        else:
            best, run = max(best, run, key=len), ""
    return max(best, run, key=len)


def is_quick(pattern: str) -> bool:
    """True if no line can make the pattern take exponential time, and a long one only little."""
    tokens = _tokens(pattern)
    if tokens is None:
        return False
    optional = unbounded = 0
    for index, token in enumerate(tokens):
        if token.kind != "repeat":
            continue
        if index and tokens[index - 1].kind in ("close", "repeat"):
            return False
        if token.text == "?":
            optional += 1
        else:
            unbounded += 1
    return optional <= MAX_OPTIONAL and unbounded <= MAX_OPEN


def _tokens(pattern: str) -> list[_Token] | None:
    """None for what is not looked into: flags, look-around, back references, named escapes."""
    found: list[_Token] = []
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "\\":
            following = pattern[at + 1 : at + 2]
            if following.isdigit() or following in "xuUN":
                return None
            found.append(_Token("class") if following.isalpha() else _Token("text", following))
            at += 2
        elif character == "[":
            end = _class_end(pattern, at)
            if end < 0:
                return None
            found.append(_Token("class"))
            at = end
        elif character == "(":
            if pattern[at + 1 : at + 2] == "?":
                if pattern[at + 2 : at + 3] != ":":
                    return None
                at += 2
            found.append(_Token("open"))
            at += 1
        elif character in ")|":
            found.append(_Token("close" if character == ")" else "or"))
            at += 1
        elif character in "*+?":
            found.append(_Token("repeat", character))
            at += 1
        elif character == "{" and (match := _COUNT.match(pattern, at)):
            found.append(_Token("repeat", "{"))
            at = match.end()
        else:
            found.append(_Token("class") if character in ".^$" else _Token("text", character))
            at += 1
    return found


_COUNT = re.compile(r"\{\d*(?:,\d*)?\}")


def _class_end(pattern: str, at: int) -> int:
    """Where the `[…]` that starts at `at` is over; -1 if it is not."""
    index = at + 1
    if pattern[index : index + 1] == "^":
        index += 1
    if pattern[index : index + 1] == "]":
        index += 1
    while index < len(pattern):
        if pattern[index] == "\\":
            index += 1
        elif pattern[index] == "]":
            return index + 1
        index += 1
    return -1
