"""Unified diffs of the tools, read back: which lines of which file are new. Pure."""

from __future__ import annotations

import re

import msgspec

from lsp_server.documents.documents import Splice

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class Patched(msgspec.Struct, frozen=True):
    """What a diff did to one file: `splices` in order of application, `added` lines (from 0) with their texts."""

    path: str
    splices: tuple[Splice, ...]
    added: dict[int, str]


def read(diff: str) -> list[Patched]:
    """One entry per file of `diff`; deleted files are left out."""
    found: list[Patched] = []
    for part in re.split(r"(?m)^(?=--- )", diff):
        lines = part.split("\n")
        if len(lines) < 2 or not lines[1].startswith("+++ ") or lines[1] == "+++ /dev/null":
            continue
        splices, added = _hunks(lines[2:])
        found.append(Patched(lines[1].removeprefix("+++ ").removeprefix("b/"), tuple(splices), added))
    return found


def _hunks(lines: list[str]) -> tuple[list[Splice], dict[int, str]]:
    splices: list[Splice] = []
    added: dict[int, str] = {}
    at, first, gone, come = 0, 0, 0, 0

    def close() -> None:
        nonlocal gone, come
        if gone or come:
            splices.append(Splice(first, first + gone, come))
        gone = come = 0

    for line in lines:
        if head := _HUNK.match(line):
            close()
            at = int(head[3]) - (0 if head[4] == "0" else 1)
        elif line.startswith(("+", "-")):
            if not gone and not come:
                first = at
            if line[0] == "+":
                added[at] = line[1:]
                at, come = at + 1, come + 1
            else:
                gone += 1
        elif line.startswith(" "):
            close()
            at += 1
    close()
    return splices, added
