"""Unified diffs of two texts, with their cost bounded. Pure."""

from __future__ import annotations

import bisect
import difflib
from collections import Counter
from typing import Literal

import msgspec

from agent_core.tools.workspace.text import to_newlines

CONTEXT_LINES = 3

MAX_COMPARED_LINES = 800
"""Longer stretches are not compared line by line with each other: that could take seconds."""

MAX_DEPTH = 8

_Opcode = tuple[Literal["equal", "change"], int, int, int, int]
_Match = tuple[int, int, int]
"""Number of equal lines, and where they start in the old and in the new text."""


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


def line_changes(before: list[str], after: list[str]) -> list[tuple[int, int, int, int]]:
    """Stretches that differ, in order: from and to (not included) in `before`, then in `after`."""
    return [(i1, i2, j1, j2) for tag, i1, i2, j1, j2 in _opcodes(before, after) if tag == "change"]


def _keep_ends(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    kept = [line + "\n" for line in lines]
    return [*kept, last] if last else kept


def _opcodes(before: list[str], after: list[str]) -> list[_Opcode]:
    """Stretches of equal and of changed lines, in order; neighbours are of different kinds."""
    found: list[_Opcode] = []
    i = j = 0
    for size, at_old, at_new in [*_matches(before, after, 0, 0, 0), (0, len(before), len(after))]:
        if i < at_old or j < at_new:
            found.append(("change", i, at_old, j, at_new))
        if size:
            if found and found[-1][0] == "equal":
                _, i0, _, j0, _ = found.pop()
                found.append(("equal", i0, at_old + size, j0, at_new + size))
            else:
                found.append(("equal", at_old, at_old + size, at_new, at_new + size))
        i, j = at_old + size, at_new + size
    return found


def _matches(old: list[str], new: list[str], i: int, j: int, depth: int) -> list[_Match]:
    """Equal stretches of two lists of lines that start at `i` and `j`.

    Long lists are cut at the lines that both have once, in the longest common order (patience diff).
    """
    head = 0
    limit = min(len(old), len(new))
    while head < limit and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < limit - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    found: list[_Match] = [(head, i, j)] if head else []
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    if middle_old and middle_new:
        if max(len(middle_old), len(middle_new)) <= MAX_COMPARED_LINES:
            blocks = difflib.SequenceMatcher(None, middle_old, middle_new, autojunk=False).get_matching_blocks()
            found += [(block.size, i + head + block.a, j + head + block.b) for block in blocks if block.size]
        elif depth < MAX_DEPTH:
            found += _between_anchors(middle_old, middle_new, i + head, j + head, depth + 1)
    if tail:
        found.append((tail, i + len(old) - tail, j + len(new) - tail))
    return found


def _between_anchors(old: list[str], new: list[str], i: int, j: int, depth: int) -> list[_Match]:
    anchors = _anchors(old, new)
    found: list[_Match] = []
    at_old = at_new = 0
    for next_old, next_new in [*anchors, (len(old), len(new))] if anchors else ():
        found += _matches(old[at_old:next_old], new[at_new:next_new], i + at_old, j + at_new, depth)
        if next_old < len(old):
            found.append((1, i + next_old, j + next_new))
        at_old, at_new = next_old + 1, next_new + 1
    return found


def _anchors(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """Places of lines that stand once on either side, as many as are in the same order on both."""
    once_old, once_new = _once(old), _once(new)
    pairs = [(once_old[line], once_new[line]) for line in once_old if line in once_new]
    tops: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, (_, place) in enumerate(pairs):
        size = bisect.bisect_left(tops, place)
        before.append(ends[size - 1] if size else -1)
        tops[size : size + 1] = [place]
        ends[size : size + 1] = [index]
    found: list[tuple[int, int]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]


def _once(lines: list[str]) -> dict[str, int]:
    counts = Counter(lines)
    return {line: index for index, line in enumerate(lines) if counts[line] == 1}


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
