"""The filter of the list of turns: words that must all be there, some of them about one field. Pure.

`parser failed` finds turns with both words somewhere; `status:failed model:gpt tool:checks project:web session:…`
look in one field; a leading `-` turns a word around.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from dashboard.state.lines import TurnLine


class Word(msgspec.Struct, frozen=True):
    field: str
    """"" looks everywhere."""
    text: str
    wanted: bool


def _status(line: TurnLine) -> str:
    return line.status or "running"


_FIELDS: dict[str, Callable[[TurnLine], str]] = {
    "status": _status,
    "stage": lambda line: line.stage or "",
    "model": lambda line: " ".join(line.models),
    "tool": lambda line: " ".join(line.tools),
    "project": lambda line: line.project or "",
    "client": lambda line: line.client or "",
    "session": lambda line: line.session or "",
    "turn": lambda line: line.turn,
    "error": lambda line: line.error_code or "",
    "title": lambda line: line.title,
}
FIELDS = tuple(_FIELDS)


def parse(text: str) -> tuple[Word, ...]:
    """The words of a filter; none for blank text. A name that is no field is part of the word."""
    words = []
    for part in text.lower().split():
        wanted = not part.startswith("-")
        part = part.removeprefix("-")
        field, colon, rest = part.partition(":")
        known = bool(colon) and field in _FIELDS
        if part:
            words.append(Word(field if known else "", rest if known else part, wanted))
    return tuple(words)


def matches(words: tuple[Word, ...], line: TurnLine, title: str = "") -> bool:
    """Whether a turn passes; `title` is what it is called on screen, where that is known."""
    return all(_has(word, line, title.lower()) is word.wanted for word in words)


def _has(word: Word, line: TurnLine, title: str) -> bool:
    if word.field == "title":
        return word.text in (title or line.title.lower())
    if word.field:
        return word.text in _FIELDS[word.field](line).lower()
    return word.text in title or any(word.text in read(line).lower() for read in _FIELDS.values())
