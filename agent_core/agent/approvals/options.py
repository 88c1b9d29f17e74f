"""Which options of a program only choose what it shows: data per program, and the reader of a command line's options.

A program that stands in a table here is covered by a rule's `*` only with options that are known to neither write nor
start anything. Any other option, an abbreviated one and one that comes out of a variable or a pattern for files must be
written out in the rule. A program without a table is the user's own choice: a rule for it covers what its options do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from agent_core.agent.approvals.words import Word


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a program's options.

    `short`: letters without a value; `valued`: letters that take one. `long` and `long_valued`: names, without dashes.
    `words`: whole options with one dash, as `find` has. `number`: `-5` is one. `plus`: words that begin with `+` are
    options too. `operands`: what an operand must look like; `most`: how many there may be. `bundled`: the first word
    may be a bundle of letters without a dash, as of `tar`. `all`: none of its options writes or starts anything.
    """

    short: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    number: bool = False
    plus: bool = False
    operands: re.Pattern[str] | None = None
    most: int | None = None
    bundled: bool = False
    all: bool = False


def names(text: str) -> frozenset[str]:
    """The names in a text, parted by blanks."""
    return frozenset(text.split())


def options(
    short: str = "",
    valued: str = "",
    long: str = "",
    long_valued: str = "",
    *,
    words: str = "",
    number: bool = False,
    plus: bool = False,
    operands: str | None = None,
    most: int | None = None,
    bundled: bool = False,
    all: bool = False,
) -> Options:
    """A table as it is written: names parted by blanks."""
    return Options(
        short=short,
        valued=valued,
        long=names(long),
        long_valued=names(long_valued),
        words=names(words),
        number=number,
        plus=plus,
        operands=re.compile(operands, re.DOTALL) if operands is not None else None,
        most=most,
        bundled=bundled,
        all=all,
    )


class Scan(msgspec.Struct, frozen=True):
    """`foreign`: words that are, or may become, something the table does not know. `end`: where the first operand
    stands."""

    foreign: tuple[Word, ...]
    end: int


def scan(table: Options, words: Sequence[Word], *, stop: bool = False) -> Scan:
    """Read the arguments `words` of a program. `stop`: options end at the first operand, as those of wrappers do."""
    foreign: list[Word] = []
    operands: list[Word] = []
    at, end, ended = 0, len(words), table.all and not stop
    while at < len(words):
        word = words[at]
        at += 1
        if not ended and word.text == "--" and not word.open:
            ended, end = True, min(end, at)
        elif not ended and may_be_option(word, plus=table.plus):
            foreign.append(word)
        elif at == 1 and table.bundled and not word.text.startswith("-"):
            letters = table.short + table.valued
            foreign += [word] if any(letter not in letters for letter in word.text) else []
        elif not ended and _looks_like_option(table, word):
            took = _value_of(table, word.text)
            if took is None:
                foreign.append(word)
            elif took and at < len(words):
                value = words[at]
                at += 1
                if value.splits or value.glob:
                    foreign.append(value)
                continue
            continue
        else:
            operands.append(word)
        if operands and stop:
            return Scan(tuple(foreign), at - 1)
        if stop and ended:
            return Scan(tuple(foreign), at)
    foreign += _operands(table, operands)
    return Scan(tuple(foreign), end)


def may_be_option(word: Word, *, plus: bool = False) -> bool:
    """Whether what the shell puts in could make it an option, or more words than one."""
    if word.open and (word.splits or word.text.startswith(("$", "`", "<from"))):
        return True
    return word.glob and word.text.startswith(("*", "?", "[", *("+" if plus else ())))


def _looks_like_option(table: Options, word: Word) -> bool:
    return (word.text.startswith("-") and word.text != "-") or (table.plus and word.text.startswith("+"))


def _value_of(table: Options, text: str) -> bool | None:
    """None if it is not known; else whether the next word is its value."""
    if text in table.words:
        return False
    if text.startswith("+"):
        return None
    if text.startswith("--"):
        name, equals, _ = text[2:].partition("=")
        if name in table.long_valued:
            return not equals
        return False if name in table.long and not equals else None
    letters = text.removeprefix("-")
    if table.number and letters.isascii() and letters.isdigit():
        return False
    for place, letter in enumerate(letters):
        if letter in table.valued:
            return place == len(letters) - 1
        if letter not in table.short:
            return None
    return False


def _operands(table: Options, operands: Sequence[Word]) -> list[Word]:
    foreign = []
    if table.operands is not None:
        foreign += [word for word in operands if word.open or word.glob or not table.operands.fullmatch(word.text)]
    if table.most is not None:
        foreign += [word for word in operands[: table.most] if word.splits or word.glob]
        foreign += operands[table.most :]
    return foreign
