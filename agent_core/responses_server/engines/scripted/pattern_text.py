"""A short text that a regular expression matches, for arguments whose schema has a `pattern`.

Reads the expression with Python's own parser, which covers what JSON Schema patterns commonly use. Look-arounds and
back-references are skipped: for those the text may not match.
"""

from __future__ import annotations

import re
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

_CATEGORIES = {
    op.CATEGORY_DIGIT: "0",
    op.CATEGORY_NOT_DIGIT: "a",
    op.CATEGORY_SPACE: " ",
    op.CATEGORY_NOT_SPACE: "a",
    op.CATEGORY_WORD: "a",
    op.CATEGORY_NOT_WORD: "-",
}
_CANDIDATES = [chr(code) for code in (*range(97, 123), *range(48, 58), *range(65, 91), *range(33, 48), 32, 95)]
_MAX_LENGTH = 10_000
MAX_PATTERN = 16_000
"""Characters of an expression that is read at all."""


def pattern_text(pattern: str, min_length: int = 0) -> str:
    """A text of at most 10,000 characters that `pattern` finds; repeats grow towards `min_length`.

    "" for an expression that can't be read, or is too long.
    """
    if len(pattern) > MAX_PATTERN:
        return ""
    try:
        tree = _parser.parse(pattern)
    except (re.error, RecursionError, OverflowError):
        return ""
    wanted = min(min_length, _MAX_LENGTH)
    text, extra = _sequence(tree, 0), 0
    while len(text) < wanted:
        extra += max(1, wanted - len(text))
        longer = _sequence(tree, extra)
        if len(longer) <= len(text):
            break
        text = _shortest(tree, extra, wanted) if len(longer) >= wanted else longer
    return text


def _shortest(tree: Any, most: int, wanted: int) -> str:
    """With as little extra as reaches the length, `most` at most."""
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        if len(_sequence(tree, middle)) >= wanted:
            high = middle
        else:
            low = middle + 1
    return _sequence(tree, high)


def _sequence(tree: Any, extra: int) -> str:
    parts, left = [], _MAX_LENGTH
    for code, argument in tree:
        part = _one(code, argument, extra)
        parts.append(part)
        left -= len(part)
        if left <= 0:
            break
    return "".join(parts)[:_MAX_LENGTH]


def _one(code: Any, argument: Any, extra: int) -> str:
    if code is op.LITERAL:
        return chr(argument)
    if code is op.NOT_LITERAL:
        return "b" if argument == ord("a") else "a"
    if code is op.ANY:
        return "a"
    if code is op.IN:
        return _member(argument)
    if code is op.BRANCH:
        return _sequence(argument[1][0], extra)
    if code is op.SUBPATTERN:
        return _sequence(argument[3], extra)
    if code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        low, high, inner = argument
        one = _sequence(inner, 0)
        return (one * int(min(low + extra, high, _MAX_LENGTH // max(1, len(one)) + 1)))[:_MAX_LENGTH]
    if code is op.ATOMIC_GROUP:
        return _sequence(argument, extra)
    return ""


def _member(members: list[tuple[Any, Any]]) -> str:
    if members[0][0] is op.NEGATE:
        return next((char for char in _CANDIDATES if not any(_covers(member, char) for member in members[1:])), "")
    code, argument = members[0]
    if code is op.LITERAL:
        return chr(argument)
    if code is op.RANGE:
        return chr(argument[0])
    return _CATEGORIES.get(argument, "a")


def _covers(member: tuple[Any, Any], char: str) -> bool:
    code, argument = member
    if code is op.LITERAL:
        return bool(ord(char) == argument)
    if code is op.RANGE:
        return bool(argument[0] <= ord(char) <= argument[1])
    return _in_category(argument, char)


def _in_category(category: Any, char: str) -> bool:
    positive = {
        op.CATEGORY_DIGIT: char.isdigit(),
        op.CATEGORY_SPACE: char.isspace(),
        op.CATEGORY_WORD: char.isalnum() or char == "_",
    }
    negative = {
        op.CATEGORY_NOT_DIGIT: not char.isdigit(),
        op.CATEGORY_NOT_SPACE: not char.isspace(),
        op.CATEGORY_NOT_WORD: not (char.isalnum() or char == "_"),
    }
    return bool({**positive, **negative}.get(category, False))
