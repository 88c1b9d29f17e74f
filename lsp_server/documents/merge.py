"""Changes of a text as small replacements, and how to carry them over to a text that moved on. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import msgspec

from lsp_server.documents.line_store import END, split_lines

MAX_COMPARED_LINES = 800
"""Longer stretches count as one replacement: comparing them line by line could take seconds."""

LONG = 60_000
"""Characters above which two texts are not compared as a whole: first it is looked where they go on alike."""
AHEAD = (500, 4_000, 30_000)
ANCHOR = 200

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
    found: list[Hunk] = []
    at_old, at_new, end_old, end_new = head, head, len(old) - tail, len(new) - tail
    while max(end_old - at_old, end_new - at_new) > LONG:
        meeting = _meeting(old, (at_old, end_old), new, (at_new, end_new))
        if meeting is None:
            break
        found += _compared(old[at_old : meeting[0]], new[at_new : meeting[1]], at_old)
        limit = min(end_old - meeting[0], end_new - meeting[1])
        same = _same(old, new, limit, at=meeting)
        same = old.rfind("\n", meeting[0], meeting[0] + same) + 1 - meeting[0]
        at_old, at_new = meeting[0] + max(0, same), meeting[1] + max(0, same)
    return found + _compared(old[at_old:end_old], new[at_new:end_new], at_old)


def _compared(old: str, new: str, place: int) -> list[Hunk]:
    """The same for whole lines that begin at `place`, compared line by line unless there are many."""
    before, after = split_lines(old), split_lines(new)
    if max(len(before), len(after)) > MAX_COMPARED_LINES:
        blocks = [(0, len(before), 0, len(after))]
    else:
        matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
        blocks = [(i1, i2, j1, j2) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"]
    found, line = [], 0
    for i1, i2, j1, j2 in blocks:
        place += sum(map(len, before[line:i1]))
        gone, come = "".join(before[i1:i2]), "".join(after[j1:j2])
        found.append(_shortened(place, gone, come))
        place, line = place + len(gone), i2
    return found


def _meeting(old: str, in_old: tuple[int, int], new: str, in_new: tuple[int, int]) -> tuple[int, int] | None:
    """Where both texts go on alike after they parted, at the begin of a line: a piece of `old` that `new` has once."""
    for ahead in AHEAD:
        start = old.find("\n", in_old[0] + ahead, in_old[1]) + 1
        if not start or start + ANCHOR > in_old[1]:
            return None
        anchor = old[start : start + ANCHOR]
        limit = min(in_new[1], in_new[0] + 2 * ahead + LONG)
        found = new.find(anchor, in_new[0] + 1, limit)
        if found > 0 and new[found - 1] == "\n" and new.find(anchor, found + 1, limit) < 0:
            return start, found
    return None


def _same_ends(old: str, new: str) -> tuple[int, int]:
    """How many characters of whole lines are the same at the beginning, and at the end of what is left."""
    head = _same(old, new, min(len(old), len(new)))
    while head:
        head = max(old.rfind("\n", 0, head), old.rfind("\r", 0, head)) + 1
        if not head or old[head - 1] == "\n" or "\n" not in (old[head : head + 1], new[head : head + 1]):
            break
        head -= 1  # half of a line end in one of the two
    tail = _same(old, new, min(len(old), len(new)) - head, at=(len(old), len(new)), step=-1)
    whole = END.search(old, len(old) - tail) if tail else None
    return head, len(old) - whole.end() if whole is not None else 0


def _same(one: str, other: str, limit: int, *, at: tuple[int, int] = (0, 0), step: int = 1) -> int:
    """How many characters are the same from `at` on, or before it with a `step` of -1; `limit` at most. Compares
    slices, which is a thousand times faster than characters."""
    found, size, growing = 0, 4096, True
    while found < limit:
        size = min(size, limit - found)
        ends = (at[0] + step * found, at[0] + step * (found + size))
        others = (at[1] + step * found, at[1] + step * (found + size))
        if one[min(ends) : max(ends)] == other[min(others) : max(others)]:
            found += size
            size = size * 2 if growing else size
        elif size == 1:
            break
        else:
            growing, size = False, size // 2
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
    return _distance(expected, present, later) < _distance(base, present)


def _distance(old: str, new: str, changes: Sequence[Hunk] | None = None) -> int:
    """How many characters were typed or taken out from `old` to `new`. Where one holds the other in order it is known
    exactly; else it is what `changes` say, which go by lines and may say more than was typed."""
    changes = hunks(old, new) if changes is None else changes
    if changes:
        start, end = changes[0].start, changes[-1].end
        before, after = old[start:end], new[start : len(new) - (len(old) - end)]
        shorter, longer = sorted((before, after), key=len)
        if _in_order(shorter, longer):
            return len(longer) - len(shorter)
    return _size(changes)


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
    if head and gone[head - 1] == "\r" and "\n" in (gone[head : head + 1], come[head : head + 1]):
        head -= 1
    end, last = len(gone) - tail, len(come) - tail
    if tail and gone[end] == "\n" and "\r" in (gone[:end][-1:], come[:last][-1:]):
        end, last = end + 1, last + 1
    return Hunk(start + head, start + end, come[head:last])
