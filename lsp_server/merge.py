"""Changes of a text as small replacements, and how to carry them over to a text that moved on. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import msgspec

from lsp_server.line_store import END, split_lines

MAX_COMPARED_LINES = 800
"""Longer stretches count as one replacement: comparing them line by line could take seconds."""

MAX_TYPED = 20_000
MIN_TELLING = 3
"""From so many characters on, a new text that stands where it belongs is taken for ours."""


class Hunk(msgspec.Struct, frozen=True):
    """`text` stands for the characters from `start` to before `end`."""

    start: int
    end: int
    text: str


def hunks(old: str, new: str) -> list[Hunk]:
    """Replacements that make `new` of `old`, in order, apart from each other, each as short as its ends allow."""
    if old == new:
        return []
    head, tail = _same_ends(old, new)
    middle_old, middle_new = split_lines(old[head : len(old) - tail]), split_lines(new[head : len(new) - tail])
    if max(len(middle_old), len(middle_new)) > MAX_COMPARED_LINES:
        blocks = [(0, len(middle_old), 0, len(middle_new))]
    else:
        matcher = difflib.SequenceMatcher(None, middle_old, middle_new, autojunk=False)
        blocks = [(i1, i2, j1, j2) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"]
    found = []
    place, line = head, 0
    for i1, i2, j1, j2 in blocks:
        place += sum(map(len, middle_old[line:i1]))
        gone, come = "".join(middle_old[i1:i2]), "".join(middle_new[j1:j2])
        found.append(_shortened(place, gone, come))
        place, line = place + len(gone), i2
    return found


def _same_ends(old: str, new: str) -> tuple[int, int]:
    """How many characters of whole lines are the same at the beginning, and at the end of what is left."""
    head = _same(old, new, min(len(old), len(new)))
    while head:
        head = max(old.rfind("\n", 0, head), old.rfind("\r", 0, head)) + 1
        if not head or old[head - 1] == "\n" or "\n" not in (old[head : head + 1], new[head : head + 1]):
            break
        head -= 1  # half of a line end in one of the two
    tail = _same(old, new, min(len(old), len(new)) - head, from_end=True)
    whole = END.search(old, len(old) - tail) if tail else None
    return head, len(old) - whole.end() if whole is not None else 0


def _same(one: str, other: str, limit: int, *, from_end: bool = False) -> int:
    """How many characters are the same, `limit` at most. Compares slices, which is a thousand times faster than
    characters."""
    found, step, growing = 0, 4096, True
    while found < limit:
        size = min(step, limit - found)
        if from_end:
            here = one[len(one) - found - size : len(one) - found]
            there = other[len(other) - found - size : len(other) - found]
        else:
            here, there = one[found : found + size], other[found : found + size]
        if here == there:
            found += size
            step = step * 2 if growing else step
        elif size == 1:
            break
        else:
            growing, step = False, size // 2
    return found


def apply(text: str, changes: Sequence[Hunk]) -> str:
    """`text` after `changes`, which are in order and do not overlap."""
    pieces, done = [], 0
    for change in changes:
        pieces += [text[done : change.start], change.text]
        done = change.end
    return "".join([*pieces, text[done:]])


def carried_over(changes: Sequence[Hunk], others: Sequence[Hunk]) -> list[Hunk] | None:
    """`changes` as they read after `others` were made to the same text; None where the two touch."""
    moved, shift, index = [], 0, 0
    for change in changes:
        while index < len(others) and others[index].end < change.start:
            shift += len(others[index].text) - (others[index].end - others[index].start)
            index += 1
        if index < len(others) and others[index].start <= change.end:
            return None
        moved.append(Hunk(change.start + shift, change.end + shift, change.text))
    return moved


def placed(changes: Sequence[Hunk]) -> list[tuple[int, int]]:
    """Where the new texts of `changes` lie once they are made: start and end of each."""
    found, shift = [], 0
    for change in changes:
        start = change.start + shift
        found.append((start, start + len(change.text)))
        shift += len(change.text) - (change.end - change.start)
    return found


def survives(changes: Sequence[Hunk], base: str, expected: str, present: str) -> bool:
    """Whether `present` holds `changes` of `base` whole, where `expected` is the text right after them.

    What else was done to it must touch none of their places, and must be less than what leads there from `base`: equal
    characters side by side let one text be explained in several ways.
    """
    if present == expected:
        return True
    later = hunks(expected, present)
    if any(other.start <= end and start <= other.end for start, end in placed(changes) for other in later):
        return False
    return _size(later) < _size(hunks(base, present))


def _size(changes: Sequence[Hunk]) -> int:
    return sum(change.end - change.start + len(change.text) for change in changes)


def was_made(changes: Sequence[Hunk], base: str, expected: str, present: str) -> bool | None:
    """Whether `changes` of `base` are in `present`, where somebody else typed in the very same places; None: unsure.

    Typing adds characters, so whichever of the two texts `present` still holds in order is the one that was typed on.
    A short change could have been typed as well.
    """
    head = 0
    limit = min(len(base), len(expected), len(present))
    while head < limit and base[head] == expected[head] == present[head]:
        head += 1
    tail = 0
    while tail < limit - head and base[-1 - tail] == expected[-1 - tail] == present[-1 - tail]:
        tail += 1
    before, after, now = (text[head : len(text) - tail] for text in (base, expected, present))
    if max(len(before), len(after), len(now)) > MAX_TYPED:
        return None
    made, not_made = _in_order(after, now), _in_order(before, now)
    if made == not_made:
        return None
    if made and not all(len(change.text) >= MIN_TELLING and change.text in now for change in changes if change.text):
        return None
    return made


def _in_order(part: str, whole: str) -> bool:
    """Whether the characters of `part` stand in `whole` in the same order."""
    left = iter(whole)
    return all(character in left for character in part)


def _shortened(start: int, gone: str, come: str) -> Hunk:
    """Without what both begin and end with, and without cutting a `\\r\\n` in two."""
    limit = min(len(gone), len(come))
    head = 0
    while head < limit and gone[head] == come[head]:
        head += 1
    tail = 0
    while tail < limit - head and gone[-1 - tail] == come[-1 - tail]:
        tail += 1
    if head and (gone[head - 1] == "\r"):
        head -= 1
    if tail and gone[len(gone) - tail] == "\n":
        tail -= 1
    return Hunk(start + head, start + len(gone) - tail, come[head : len(come) - tail])
