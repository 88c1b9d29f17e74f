"""Where the hunks of a patch belong in a text, and the text after them. Pure.

A hunk is found by its own lines, in order of the hunks; white space at line ends may differ, nothing else. Where a
hunk fits at several places and nothing says which, it is refused. Only lines marked - and + are touched: context stays
as the file has it, with its line ends.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from agent_core.errors import ToolError
from agent_core.tools.files.patch_format import Hunk
from agent_core.tools.workspace.text import View, split_lines


class _Edit(msgspec.Struct, frozen=True):
    """Lines `start` to `end` (0-based, end excluded) become `lines`."""

    start: int
    end: int
    lines: list[str]
    open_end: bool | None
    """Whether the text ends without a line end afterwards, if this edit is at its end; None: as it was."""


def patched(content: str, hunks: list[Hunk], shown: str) -> str:
    """The text after all hunks. Raises ToolError `not_found` or `ambiguous` that names hunk and lines."""
    lines = split_lines(content)
    edits: list[_Edit] = []
    cursor = 0
    for number, hunk in enumerate(hunks, 1):
        at = _place(lines, hunk, cursor, f"hunk {number} of {len(hunks)} for {shown}")
        edits.extend(_edits(hunk, at, at + len(hunk.old) == len(lines)))
        cursor = at + len(hunk.old)
    view = View(content)
    return view.replace_all(_replacement(view, edit) for edit in edits)


def _place(lines: list[str], hunk: Hunk, cursor: int, name: str) -> int:
    """0-based line where the hunk starts, at or after `cursor`."""
    for anchor in hunk.anchors:
        cursor = _after_anchor(lines, anchor, cursor, name)
    old = hunk.old
    if not old:
        return _insertion(lines, hunk, cursor, name)
    for normal in _NORMAL_FORMS:
        places = _places([normal(line) for line in lines], [normal(line) for line in old], cursor)
        if hunk.at_end:
            places = [place for place in places if place + len(old) == len(lines)]
        if places:
            return _choose(places, hunk, name)
    raise ToolError(f"{name} is not found{_why(lines, old, cursor)}; nothing was written", code="not_found")


_NORMAL_FORMS: tuple[Callable[[str], str], ...] = (str, str.rstrip)


def _choose(places: list[int], hunk: Hunk, name: str) -> int:
    if len(places) == 1 or hunk.anchors:
        return places[0]
    near = hunk.near
    if near is not None:
        nearest = sorted(places, key=lambda place: abs(place + 1 - near))
        if abs(nearest[0] + 1 - near) < abs(nearest[1] + 1 - near):
            return nearest[0]
    numbers = ", ".join(str(place + 1) for place in places[:20])
    raise ToolError(
        f"{name} fits {len(places)} times, at lines {numbers}; give more context lines; nothing was written",
        code="ambiguous",
    )


def _places(lines: list[str], old: list[str], cursor: int) -> list[int]:
    size = len(old)
    first = old[0]
    return [
        index
        for index in range(cursor, len(lines) - size + 1)
        if lines[index] == first and lines[index : index + size] == old
    ]


def _after_anchor(lines: list[str], anchor: str, cursor: int, name: str) -> int:
    for index in range(cursor, len(lines)):
        if lines[index].strip() == anchor:
            return index + 1
    # Anchors of unified diffs and of some models are cut short.
    for index in range(cursor, len(lines)):
        if lines[index].strip().startswith(anchor):
            return index + 1
    raise ToolError(f"{name}: no line {anchor[:120]!r} after line {cursor}; nothing was written", code="not_found")


def _insertion(lines: list[str], hunk: Hunk, cursor: int, name: str) -> int:
    """Where lines without context go: after the anchor, at the said line, or at the end where the patch says so."""
    if hunk.at_end or not lines:
        return len(lines)
    if hunk.anchors:
        return cursor
    if hunk.near is not None and cursor <= hunk.near - 1 <= len(lines):
        return hunk.near - 1
    raise ToolError(f"{name} has no context line that says where it goes; nothing was written", code="ambiguous")


def _why(lines: list[str], old: list[str], cursor: int) -> str:
    """Where most of the hunk's first lines stand, and the first line that differs."""
    best, best_size = -1, 0
    for index in range(len(lines)):
        size = 0
        while size < len(old) and index + size < len(lines) and lines[index + size].strip() == old[size].strip():
            size += 1
        if size > best_size and (index >= cursor or best < 0):
            best, best_size = index, size
    if best < 0:
        return f": no line {old[0][:120]!r}"
    if best_size == len(old):
        where = "before an earlier hunk" if best < cursor else "with other white space"
        return f"; it stands at line {best + 1} {where}"
    at = best + best_size
    have = repr(lines[at][:120]) if at < len(lines) else "the end of the file"
    return f": its first lines fit at line {best + 1}, but line {at + 1} is {have}, not {old[best_size][:120]!r}"


def _edits(hunk: Hunk, at: int, reaches_end: bool) -> list[_Edit]:
    """Each run of - and + lines on its own."""
    found: list[_Edit] = []
    line = start = at
    new: list[str] = []
    running = False
    for mark, content in [*hunk.lines, (" ", None)]:
        if mark == " ":
            if running:
                last = content is None
                open_end = hunk.new_open if last and reaches_end and hunk.new_open is not None else None
                found.append(_Edit(start, line, new, open_end))
            line += 1
            running = False
            continue
        if not running:
            start, new, running = line, [], True
        if mark == "-":
            line += 1
        elif content is not None:
            new.append(content)
    return found


def _replacement(view: View, edit: _Edit) -> tuple[int, int, str]:
    """The edit as a replacement in the flat text."""
    start, end = view.line_start(edit.start), view.line_start(edit.end)
    new = "".join(line + "\n" for line in edit.lines)
    if end == len(view.flat):
        was_open = bool(view.flat) and not view.flat.endswith("\n")
        stays_open = was_open if edit.open_end is None else edit.open_end
        if start == end and was_open and new:
            new = "\n" + new
        if stays_open:
            new = new.removesuffix("\n")
    return start, end, new
