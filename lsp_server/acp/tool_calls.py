"""A tool call as clients draw it: a title, a kind, the places it touches, and its differences. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from agent_core.telemetry.display import one_line, shown
from lsp_server.acp.lines import Json

MAX_TITLE, MAX_TEXT, MAX_DIFFS = 200, 20_000, 200
_KINDS: Mapping[str, str] = {
    "read": "read", "list": "read", "open_documents": "read", "diagnostics": "read", "search": "search",
    "edit": "edit", "patch": "edit", "shell": "execute", "process": "execute", "checks": "execute", "plan": "think",
}  # fmt: skip
_TELLING = ("command", "path", "pattern", "query", "target", "id")
"""Arguments that say what a call is about, the most telling first."""
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")

Placed = Callable[[str], str]
"""The absolute path of a path as tools show it."""


class Hunk(msgspec.Struct, frozen=True):
    """One changed piece of a file, with its context. `old` None: the file is new. `line` counts from 1."""

    path: str
    line: int
    old: str | None
    new: str


def kind_of(name: str) -> str:
    return _KINDS.get(name, "other")


def arguments_of(text: str) -> Any:
    """As JSON where they are that, with whatever a client would obey spelled out."""
    try:
        return _shown(json.loads(text))
    except (ValueError, RecursionError):
        return shown(text[:MAX_TEXT])


def plain(figures: msgspec.Struct) -> Json:
    """Figures of a call; what a service says in them (its model's name, a reason) as other texts."""
    found: Json = _shown(msgspec.to_builtins(figures))
    return found


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict):
        return {shown(key): _shown(each) for key, each in value.items()}
    return [_shown(each) for each in value] if isinstance(value, list) else value


def title_of(name: str, arguments: Any) -> str:
    given = arguments if isinstance(arguments, dict) else {}
    about = next((str(given[key]) for key in _TELLING if isinstance(given.get(key), str) and given[key]), "")
    return titled(name, about)


def titled(name: str, about: str) -> str:
    """On one line and cleaned; what is asked for is spelled out beside it (`front_end.permission`)."""
    return one_line(f"{name}: {about}" if about else name)[:MAX_TITLE]


def places_of(arguments: Any, placed: Placed) -> list[Json]:
    """Where a client may look along, as far as the arguments say."""
    if not isinstance(arguments, dict) or not isinstance(arguments.get("path"), str):
        return []
    place: Json = {"path": shown(placed(arguments["path"]))}
    line = arguments.get("start", arguments.get("line"))
    if isinstance(line, int) and not isinstance(line, bool) and line > 0:
        place["line"] = line
    return [place]


def text_content(text: str) -> Json:
    words = shown(text)
    if len(words) > MAX_TEXT:
        words = f"{words[:MAX_TEXT]}\n[{len(words) - MAX_TEXT:,} more characters]"
    return {"type": "content", "content": {"type": "text", "text": words}}


def diff_content(diff: str, placed: Placed) -> tuple[list[Json], list[Json]]:
    """Differences, one piece after the other, and their places."""
    contents: list[Json] = []
    places: list[Json] = []
    for hunk in hunks(diff):
        if len(contents) == MAX_DIFFS:
            break
        path = shown(placed(hunk.path))
        content: Json = {"type": "diff", "path": path, "newText": shown(hunk.new)}
        contents.append(content if hunk.old is None else {**content, "oldText": shown(hunk.old)})
        places.append({"path": path, "line": hunk.line})
    return contents, places


def hunks(diff: str) -> Iterator[Hunk]:
    """The pieces of a unified diff, as the tools write it."""
    path, fresh, line = "", False, 0
    old: list[str] = []
    new: list[str] = []
    before = ""
    lines = diff.splitlines(keepends=True)
    at = 0
    while at < len(lines):
        text = lines[at]
        following = lines[at + 1] if at + 1 < len(lines) else ""
        found = _HUNK.match(text)
        header = text.startswith("--- ") and following.startswith("+++ ")
        if header or found:
            if line:
                yield Hunk(path, line, None if fresh else "".join(old), "".join(new))
            old, new, line = [], [], 0
        if header:
            source, goal = text[4:].rstrip("\n"), following[4:].rstrip("\n")
            fresh = source == "/dev/null"
            path = (source if goal == "/dev/null" else goal)[2:]
            at += 1
        elif found:
            line = max(1, int(found.group(2)))
        elif line:
            mark, rest = text[:1], text[1:]
            if mark in ("-", " "):
                old.append(rest)
            if mark in ("+", " "):
                new.append(rest)
            if mark == "\\":  # no newline at the end of the file
                for side, marks in ((old, "- "), (new, "+ ")):
                    if side and before in marks:
                        side[-1] = side[-1].rstrip("\n")
            before = mark
        at += 1
    if line:
        yield Hunk(path, line, None if fresh else "".join(old), "".join(new))
