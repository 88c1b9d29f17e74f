"""A unified diff to lines of spans; within a changed line the changed words stand out. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from dashboard.agent.paint.wrapping import chopped, plain
from dashboard.widgets.spans import Line, Role, Span

MAX_WORDS = 200
"""Lines of more words are shown as changed whole."""
ALIKE = 0.4
"""Lines less alike than this are two lines, not one that changed."""

_WORD = re.compile(r"\w+|\s+|.")


def paint_diff(diff: str, width: int, indent: int, most: int | None = None) -> list[Line]:
    """At most `most` lines of what was taken out and put in, with what was left out counted; None: all of it, with
    what stands around."""
    rows = _rows(plain(diff).rstrip("\n").split("\n"), whole=most is None)
    margin: Line = ((" " * indent, ""),)
    lines: list[Line] = []
    shown = rows if most is None else rows[:most]
    for row in shown:
        lines += chopped(row, width, margin, (*margin, ("  ", "")))
    if len(rows) > len(shown):
        lines.append((*margin, (f"… {len(rows) - len(shown):,} more lines", "dim")))
    return lines


def counts(diff: str) -> tuple[int, int]:
    """Lines put in and taken out."""
    lines = [line for line in diff.split("\n") if not line.startswith(("+++", "---"))]
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)


def _rows(lines: Sequence[str], *, whole: bool) -> list[Line]:
    rows: list[Line] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith(("+++", "---")):
            at += 1  # the file is named above
        elif line.startswith("-"):
            out = _run(lines, at, "-")
            put = _run(lines, at + len(out), "+")
            rows += _changed(out, put)
            at += len(out) + len(put)
        elif line.startswith("+"):
            rows.append(((line, "added"),))
            at += 1
        else:
            if whole:
                rows.append(((line, "accent" if line.startswith("@@") else "dim"),))
            at += 1
    return rows


def _run(lines: Sequence[str], at: int, sign: str) -> list[str]:
    end = at
    while end < len(lines) and lines[end].startswith(sign) and not lines[end].startswith(("+++ ", "--- ")):
        end += 1
    return list(lines[at:end])


def _changed(out: Sequence[str], put: Sequence[str]) -> list[Line]:
    if len(out) != len(put):
        rows: list[Line] = [((line, "removed"),) for line in out]
        return rows + [((line, "added"),) for line in put]
    pairs = [_words(old, new) for old, new in zip(out, put, strict=True)]
    return [old for old, _ in pairs] + [new for _, new in pairs]


def _words(old: str, new: str) -> tuple[Line, Line]:
    before, after = _WORD.findall(old[1:]), _WORD.findall(new[1:])
    if max(len(before), len(after)) > MAX_WORDS:
        return ((old, "removed"),), ((new, "added"),)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < ALIKE:
        return ((old, "removed"),), ((new, "added"),)
    left: list[Span] = [("-", "removed")]
    right: list[Span] = [("+", "added")]
    for tag, a, b, c, d in matcher.get_opcodes():
        _put(left, "".join(before[a:b]), "removed" if tag == "equal" else "removed.word")
        _put(right, "".join(after[c:d]), "added" if tag == "equal" else "added.word")
    return tuple(left), tuple(right)


def _put(spans: list[Span], text: str, role: Role) -> None:
    if text:
        spans.append((text, role))
