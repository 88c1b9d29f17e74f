"""Why a text was not found, said so that the next try succeeds. Pure, and bounded in cost."""

from __future__ import annotations

import difflib
import re

from agent_core.tools.workspace.text import split_lines

_NUMBERED = re.compile(r"^\s*\d+\t")
_SPACE = re.compile(r"\s+")

MAX_COMPARED_LINES = 20_000
MAX_LINES_SHOWN = 12
LIKENESS = 0.6
MIN_TELLING_CHARACTERS = 12


def explain_miss(flat: str, old: str, new: str) -> str:
    """One or a few lines: what differs, and where. `flat` is the file's text with `\\n` line ends."""
    wanted, lines = split_lines(old), split_lines(flat)
    if not wanted or not any(line.strip() for line in wanted):
        return "old is only white space that the file does not have; give a line with text"
    if all(_NUMBERED.match(line) for line in wanted):
        return "old has the line numbers of the read output in it; leave them out"
    spaced = _same_but_space(lines, wanted)
    if spaced is not None:
        where = f"lines {_span(spaced, len(wanted))} differ from old only in white space"
        return f"{where}. They are:\n{_quoted(lines, spaced, wanted)}"
    caseless = _first_window([line.casefold() for line in lines], [line.casefold() for line in wanted])
    if caseless is not None:
        return f"lines {_span(caseless, len(wanted))} differ from old only in upper and lower case"
    if len(new.strip()) >= MIN_TELLING_CHARACTERS and new in flat:
        return f"new already stands at line {flat.count(chr(10), 0, flat.find(new)) + 1}; the edit seems to be done"
    return _closest(lines, wanted)


def _same_but_space(lines: list[str], wanted: list[str]) -> int | None:
    return _first_window([_SPACE.sub("", line) for line in lines], [_SPACE.sub("", line) for line in wanted])


def _first_window(lines: list[str], wanted: list[str]) -> int | None:
    """Index of the first place where all of `wanted` stands; the first and last line may be parts of a line."""
    size = len(wanted)
    if size == 1:
        return next((index for index, line in enumerate(lines) if wanted[0] and wanted[0] in line), None)
    for index in range(len(lines) - size + 1):
        if (
            lines[index].endswith(wanted[0])
            and lines[index + size - 1].startswith(wanted[-1])
            and lines[index + 1 : index + size - 1] == wanted[1:-1]
        ):
            return index
    return None


def _closest(lines: list[str], wanted: list[str]) -> str:
    """Points at the line that is most like the first telling line of `old`, and at the first line that differs."""
    if len(lines) > MAX_COMPARED_LINES:
        return "no such text; search for a part of it"
    first = next(index for index, line in enumerate(wanted) if line.strip())
    target = wanted[first].strip()
    exact = [index for index, line in enumerate(lines) if line.strip() == target]
    if exact:
        best = max(exact, key=lambda index: _agreeing(lines, index, wanted, first))
        return _first_difference(lines, best - first, wanted)
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(target[:300])
    best_ratio, best = 0.0, -1
    for index, line in enumerate(lines):
        matcher.set_seq1(line.strip()[:300])
        if matcher.real_quick_ratio() > best_ratio and matcher.quick_ratio() > best_ratio:
            ratio = matcher.ratio()
            if ratio > best_ratio:
                best_ratio, best = ratio, index
    if best_ratio < LIKENESS:
        return "no line is like it; read the file again"
    return f"the closest line is {best + 1}: {lines[best][:200]}"


def _agreeing(lines: list[str], at: int, wanted: list[str], first: int) -> int:
    pairs = zip(lines[at : at + len(wanted)], wanted[first:], strict=False)
    return sum(have.strip() == want.strip() for have, want in pairs)


def _first_difference(lines: list[str], start: int, wanted: list[str]) -> str:
    for offset, want in enumerate(wanted):
        index = start + offset
        if index < 0:
            continue
        if index >= len(lines):
            return f"the file ends at line {len(lines)}, old goes on with: {want[:200]}"
        if lines[index] != want:
            return f"line {index + 1} differs. It is: {lines[index][:200]!r}, old has: {want[:200]!r}"
    return "the line ends differ"


def _span(start: int, size: int) -> str:
    return f"{start + 1}-{start + size}" if size > 1 else str(start + 1)


def _quoted(lines: list[str], start: int, wanted: list[str]) -> str:
    shown = [f"{index + 1}\t{lines[index][:300]}" for index in range(start, start + min(len(wanted), MAX_LINES_SHOWN))]
    if any("\t" in line for line in lines[start : start + len(wanted)]) != any("\t" in line for line in wanted):
        shown.append("[one side indents with tabs, the other with spaces]")
    return "\n".join(shown)
