"""Reading patches: the `*** Begin Patch` form of models' apply_patch tools, and unified diffs. Pure.

Owns the grammar only; where hunks belong in a file is decided in `patch_match`. Paths are kept as written.
"""

from __future__ import annotations

import re
from typing import Literal, NoReturn

import msgspec

from agent_core.errors import ToolError
from agent_core.tools.workspace.text import to_newlines

Mark = Literal[" ", "-", "+"]


class Hunk(msgspec.Struct):
    """Changed lines with the lines around them.

    `anchors` are lines that come before, outermost first (`@@ class A` then `@@ def f`). `near` is the 1-based line
    where a unified diff says it starts, None where none is said. `at_end`: its last line is the last of the file.
    `old_open` and `new_open`: the file has no line end there, before and after; None where the form does not say.
    """

    lines: list[tuple[Mark, str]] = msgspec.field(default_factory=list)
    anchors: list[str] = msgspec.field(default_factory=list)
    near: int | None = None
    at_end: bool = False
    old_open: bool | None = None
    new_open: bool | None = None

    @property
    def old(self) -> list[str]:
        return [line for mark, line in self.lines if mark != "+"]


class FilePatch(msgspec.Struct):
    """What one section does. `added` is the text of a new file; `move_to` a new path of an old one."""

    kind: Literal["add", "update", "delete"]
    path: str
    move_to: str | None = None
    added: str = ""
    hunks: list[Hunk] = msgspec.field(default_factory=list)


def read_patch(patch: str) -> list[FilePatch]:
    """All sections in order. Raises ToolError `bad_patch` that names the line of the patch."""
    lines = to_newlines(patch).split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    first = next((index for index, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise ToolError("the patch is empty", code="bad_patch")
    if lines[first].strip() == "*** Begin Patch" or lines[first].startswith("*** "):
        found = _Sections(lines, first).read()
    else:
        found = _Unified(lines).read()
    if not found:
        raise ToolError("the patch changes no file", code="bad_patch")
    return found


def _bad(number: int, problem: str) -> NoReturn:
    raise ToolError(f"line {number + 1} of the patch: {problem}; nothing was written", code="bad_patch")


class _Sections:
    """`*** Add File:`, `*** Update File:` (with `*** Move to:`), `*** Delete File:`."""

    def __init__(self, lines: list[str], first: int) -> None:
        self._lines = lines
        self._at = first + (lines[first].strip() == "*** Begin Patch")

    def read(self) -> list[FilePatch]:
        found: list[FilePatch] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip() == "*** End Patch":
                rest = self._lines[self._at + 1 :]
                if any(line.strip() for line in rest):
                    _bad(self._at + 1, "text after *** End Patch")
                return found
            if line.strip():
                found.append(self._section(line))
            else:
                self._at += 1
        return found

    def _section(self, line: str) -> FilePatch:
        for head, kind in _HEADS:
            if line.startswith(head):
                path = line[len(head) :].strip()
                if not path:
                    _bad(self._at, "a path is missing")
                self._at += 1
                if kind == "add":
                    return FilePatch("add", path, added=self._added())
                if kind == "delete":
                    return FilePatch("delete", path)
                return self._update(path)
        _bad(self._at, f"expected *** Add File, *** Update File, *** Delete File or *** End Patch, got {line[:80]!r}")

    def _added(self) -> str:
        body: list[str] = []
        while self._at < len(self._lines) and not self._lines[self._at].startswith("*** "):
            line = self._lines[self._at]
            if not line.startswith("+"):
                _bad(self._at, "each line of a new file starts with +")
            body.append(line[1:] + "\n")
            self._at += 1
        return "".join(body)

    def _update(self, path: str) -> FilePatch:
        section = FilePatch("update", path)
        if self._at < len(self._lines) and self._lines[self._at].startswith("*** Move to:"):
            section.move_to = self._lines[self._at].removeprefix("*** Move to:").strip()
            self._at += 1
        hunk: Hunk | None = None
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip() == "*** End of File":
                if hunk is None:
                    _bad(self._at, "*** End of File without a hunk")
                hunk.at_end = True
            elif line.startswith("*** "):
                break
            elif line.startswith("@@"):
                anchor = line[2:].strip()
                if hunk is None or hunk.lines:
                    hunk = Hunk()
                    section.hunks.append(hunk)
                if anchor:
                    hunk.anchors.append(anchor)
            else:
                if hunk is None:
                    hunk = Hunk()
                    section.hunks.append(hunk)
                hunk.lines.append(self._body_line(line))
            self._at += 1
        if not section.hunks and section.move_to is None:
            _bad(self._at - 1, f"no change is given for {path}")
        if any(not hunk.lines for hunk in section.hunks):
            _bad(self._at - 1, f"a hunk of {path} has no lines")
        return section

    def _body_line(self, line: str) -> tuple[Mark, str]:
        if line == "":
            return " ", ""
        for mark in _MARKS:
            if line[0] == mark:
                return mark, line[1:]
        _bad(self._at, f"a line of a hunk starts with a space, + or -, got {line[:80]!r}")


_HEADS: tuple[tuple[str, Literal["add", "update", "delete"]], ...] = (
    ("*** Add File:", "add"),
    ("*** Update File:", "update"),
    ("*** Delete File:", "delete"),
)
_MARKS: tuple[Mark, ...] = (" ", "-", "+")

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_NO_LINE_END = "\\ No newline"


class _Unified:
    """`---`, `+++` and `@@ -l,n +l,n @@`, with git's headers for new, deleted and renamed files."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0

    def read(self) -> list[FilePatch]:
        found: list[FilePatch] = []
        moved: list[str | None] = [None, None]
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.startswith("diff --git "):
                moved = [None, None]
            elif line.startswith("rename from "):
                moved[0] = line.removeprefix("rename from ")
            elif line.startswith("rename to "):
                moved[1] = line.removeprefix("rename to ")
                if moved[0] is not None and not self._hunks_follow():
                    found.append(FilePatch("update", moved[0], move_to=moved[1]))
            elif line.startswith("--- "):
                found.append(self._file())
            elif line.startswith(("GIT binary patch", "Binary files ")):
                _bad(self._at, "binary changes can't be applied")
            elif line.startswith("@@"):
                _bad(self._at, "a hunk without --- and +++ lines before it")
            self._at += 1
        if not found:
            _bad(0, "neither *** Begin Patch nor --- and +++ lines of a unified diff")
        return found

    def _hunks_follow(self) -> bool:
        following = self._lines[self._at + 1 : self._at + 4]
        return any(line.startswith("--- ") for line in following)

    def _file(self) -> FilePatch:
        old = _path(self._lines[self._at].removeprefix("--- "))
        self._at += 1
        if self._at >= len(self._lines) or not self._lines[self._at].startswith("+++ "):
            _bad(self._at - 1, "a +++ line is missing after ---")
        new = _path(self._lines[self._at].removeprefix("+++ "))
        hunks: list[Hunk] = []
        while self._at + 1 < len(self._lines) and self._lines[self._at + 1].startswith("@@"):
            self._at += 1
            hunks.append(self._hunk())
        if old is None and new is not None:
            lines = [line for hunk in hunks for mark, line in hunk.lines if mark == "+"]
            open_end = bool(hunks) and hunks[-1].new_open is True
            return FilePatch("add", new, added="\n".join(lines) + ("" if open_end or not lines else "\n"))
        if old is None:
            _bad(self._at, "both sides are /dev/null")
        if new is None:
            return FilePatch("delete", old)
        if not hunks:
            _bad(self._at, f"no hunk for {new}")
        return FilePatch("update", old, move_to=new if new != old else None, hunks=hunks)

    def _hunk(self) -> Hunk:
        """Counts in the header are taken as a hint: models miscount. The lines themselves say where a hunk ends."""
        header = _HUNK.match(self._lines[self._at])
        hunk = Hunk(old_open=False, new_open=False)
        if header is not None:
            hunk.near = max(int(header[1]), 1)
            if header[2] == "0":
                hunk.near = int(header[1]) + 1
        while self._at + 1 < len(self._lines):
            line = self._lines[self._at + 1]
            if line.startswith(_NO_LINE_END):
                if not hunk.lines:
                    _bad(self._at + 1, "a remark on the line end without a line")
                mark = hunk.lines[-1][0]
                hunk.old_open = hunk.old_open or mark != "+"
                hunk.new_open = hunk.new_open or mark != "-"
            elif line.startswith("--- ") and self._starts_file(self._at + 1) and not _too_short(header, hunk):
                break
            elif line == "" or line[0] in " -+":
                hunk.lines.append((_mark(line), line[1:]))
            else:
                break
            self._at += 1
        while hunk.lines and hunk.lines[-1] == (" ", "") and header is not None and _too_long(header, hunk):
            hunk.lines.pop()
        if not hunk.lines:
            _bad(self._at, "the hunk has no lines")
        return hunk

    def _starts_file(self, index: int) -> bool:
        return index + 1 < len(self._lines) and self._lines[index + 1].startswith("+++ ")


def _mark(line: str) -> Mark:
    for mark in _MARKS:
        if line.startswith(mark):
            return mark
    return " "


def _too_long(header: re.Match[str], hunk: Hunk) -> bool:
    """True if the hunk has more old lines than its header says: blank lines between files belong to neither."""
    return len(hunk.old) > int(header[2] or 1)


def _too_short(header: re.Match[str] | None, hunk: Hunk) -> bool:
    """True if old lines are still to come: then `--- x` is a removed line that begins with two dashes."""
    return header is not None and len(hunk.old) < int(header[2] or 1)


def _path(given: str) -> str | None:
    """The path of a `---` or `+++` line without git's prefix and a time stamp; None for /dev/null."""
    path = given.split("\t", 1)[0].strip()
    if path == "/dev/null":
        return None
    return path[2:] if path.startswith(("a/", "b/")) else path
