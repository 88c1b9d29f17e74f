"""Unified diffs of two texts, with their cost bounded. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import msgspec

from agent_core.tools.text import to_newlines

CONTEXT_LINES = 3

MAX_COMPARED_LINES = 800
"""A changed stretch with more lines on one side is shown as replaced as a whole: comparing it could take seconds."""

_Opcode = tuple[str, int, int, int, int]


class Diff(msgspec.Struct, frozen=True):
    """`hunks` from `@@` on, each line ended by `\\n`; "" for equal texts."""

    hunks: str
    added: int
    removed: int

    def with_header(self, old_name: str | None, new_name: str | None) -> str:
        """As `diff -u` writes it. None: the file does not exist on that side."""
        if not self.hunks:
            return ""
        old = f"a/{old_name}" if old_name is not None else "/dev/null"
        new = f"b/{new_name}" if new_name is not None else "/dev/null"
        return f"--- {old}\n+++ {new}\n{self.hunks}"


def diff(old: str, new: str) -> Diff:
    """Compare two texts line by line; how the lines end does not count."""
    before, after = _keep_ends(to_newlines(old)), _keep_ends(to_newlines(new))
    opcodes = _opcodes(before, after)
    pieces: list[str] = []
    added = removed = 0
    for group in _groups(opcodes):
        pieces.append(_hunk_header(group))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                pieces.extend(_marked(" ", before[i1:i2]))
                continue
            pieces.extend(_marked("-", before[i1:i2]))
            pieces.extend(_marked("+", after[j1:j2]))
            removed += i2 - i1
            added += j2 - j1
    return Diff("".join(pieces), added, removed)


def _keep_ends(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    kept = [line + "\n" for line in lines]
    return [*kept, last] if last else kept


def _opcodes(before: list[str], after: list[str]) -> list[_Opcode]:
    head = 0
    limit = min(len(before), len(after))
    while head < limit and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < limit - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    found: list[_Opcode] = [("equal", 0, head, 0, head)] if head else []
    if old or new:
        if max(len(old), len(new)) > MAX_COMPARED_LINES:
            middle: Sequence[_Opcode] = [("replace", 0, len(old), 0, len(new))]
        else:
            middle = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        found.extend((tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in middle)
    if tail:
        found.append(("equal", len(before) - tail, len(before), len(after) - tail, len(after)))
    return found


def _groups(opcodes: list[_Opcode]) -> list[list[_Opcode]]:
    """Changes with at most `CONTEXT_LINES` of equal lines around them; far ones in groups of their own."""
    groups: list[list[_Opcode]] = []
    current: list[_Opcode] = []
    for index, (tag, i1, i2, j1, j2) in enumerate(opcodes):
        if tag != "equal":
            current.append((tag, i1, i2, j1, j2))
            continue
        first, last = index == 0, index == len(opcodes) - 1
        if not first and not last and i2 - i1 <= 2 * CONTEXT_LINES:
            current.append((tag, i1, i2, j1, j2))
            continue
        if not first:
            current.append((tag, i1, min(i2, i1 + CONTEXT_LINES), j1, min(j2, j1 + CONTEXT_LINES)))
            groups.append(current)
            current = []
        if not last:
            current.append((tag, max(i1, i2 - CONTEXT_LINES), i2, max(j1, j2 - CONTEXT_LINES), j2))
    if any(tag != "equal" for tag, *_ in current):
        groups.append(current)
    return groups


def _hunk_header(group: list[_Opcode]) -> str:
    _, i1, _, j1, _ = group[0]
    _, _, i2, _, j2 = group[-1]
    return f"@@ -{_range(i1, i2)} +{_range(j1, j2)} @@\n"


def _range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _marked(mark: str, lines: list[str]) -> list[str]:
    return [
        f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n" for line in lines
    ]
