"""What could stand at the cursor: a command, or a file after `@`. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dashboard.agent.composing.commands import COMMANDS, matching

MOST = 8


class Suggestion(msgspec.Struct, frozen=True):
    """`insert` takes the place of the line from `Suggestions.start` to the cursor."""

    insert: str
    shown: str
    what: str = ""


class Suggestions(msgspec.Struct, frozen=True):
    """`kind` is `command`, `argument` or `file`; `start` the column where what is completed begins."""

    kind: str
    start: int
    items: tuple[Suggestion, ...]


def wants_files(line: str, column: int) -> bool:
    """Whether the cursor stands in a word that begins with `@`."""
    return _at_word(line, column) is not None


def suggest(line: str, column: int, *, first_line: bool, files: Sequence[str]) -> Suggestions | None:
    """For the cursor at `column` of `line`; None where nothing fits. `files` are paths as they would be named."""
    if first_line and line.startswith("/") and column >= 1:
        return _commands(line, column)
    start = _at_word(line, column)
    if start is None:
        return None
    words = line[start + 1 : column]
    items = tuple(Suggestion(f"@{path} ", path) for path in best(words, files, MOST))
    return Suggestions("file", start, items) if items else None


def best(words: str, files: Sequence[str], most: int) -> list[str]:
    """Paths that hold all letters of `words` in order; names before folders, early and short before late and long."""
    wanted = words.casefold()
    scored: list[tuple[tuple[int, int, str], str]] = []
    for path in files:
        rank = _rank(wanted, path)
        if rank is not None:
            scored.append(((rank, len(path), path), path))
    return [path for _, path in sorted(scored)[:most]]


def _rank(wanted: str, path: str) -> int | None:
    lowered = path.casefold()
    name = lowered.rstrip("/").rpartition("/")[2]
    if name.startswith(wanted):
        return 0
    if wanted in name:
        return 1
    if wanted in lowered:
        return 2
    at = -1
    for letter in wanted:
        at = lowered.find(letter, at + 1)
        if at < 0:
            return None
    return 3


def _at_word(line: str, column: int) -> int | None:
    start = line.rfind("@", 0, column)
    if start < 0 or any(char.isspace() for char in line[start:column]):
        return None
    return start if start == 0 or not (line[start - 1].isalnum() or line[start - 1] in "._-/") else None


def _commands(line: str, column: int) -> Suggestions | None:
    name, blank, argument = line[1:column].partition(" ")
    if not blank:
        items = tuple(
            Suggestion(
                f"/{each.name}{' ' if each.argument else ''}", f"/{each.name} {each.argument}".strip(), each.what
            )
            for each in matching(name)[:MOST]
        )
        return Suggestions("command", 0, items) if items else None
    choices = next((command.choices for command in COMMANDS if command.name == name), ())
    chosen = tuple(Suggestion(each, each) for each in choices if each.startswith(argument) and each != argument)
    return Suggestions("argument", column - len(argument), chosen) if chosen else None
