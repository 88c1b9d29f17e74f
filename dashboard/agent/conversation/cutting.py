"""Where a streaming Markdown text may be cut: what stands before a cut is never drawn anew. Pure."""

from __future__ import annotations

import re

CODE_LINES = 40
"""Lines of a fence that is still open before they become a piece of their own."""

_FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,})([^`]*)$")


def cut(text: str) -> tuple[list[str], str]:
    """(finished pieces, what may still change). The pieces and the rest draw like the whole text.

    A piece ends at a blank line outside of fences that no indented line follows. A long open fence is cut too; its
    halves are fences of their own.
    """
    pieces: list[str] = []
    lines = text.split("\n")
    start, fence = 0, None
    begun = 0
    for at, line in enumerate(lines[:-1]):
        found = _FENCE.match(line)
        if fence is None:
            if found is not None:
                fence, begun = found, at
            elif not line.strip() and _begins_anew(lines, at + 1):
                if any(each.strip() for each in lines[start:at]):
                    pieces.append("\n".join(lines[start:at]))
                start = at + 1
        elif found is not None and _closes(found, fence):
            fence = None
        elif at - begun >= CODE_LINES:
            close = fence.group(2)
            pieces.append("\n".join([*lines[start : at + 1], close]))
            lines[at] = fence.group(0)
            start, begun = at, at
    return pieces, "\n".join(lines[start:])


def _begins_anew(lines: list[str], at: int) -> bool:
    """Whether line `at` is there and can't belong to what came before it."""
    line = lines[at]
    if at == len(lines) - 1 and len(line) < 4 and not line.strip(" `~#"):
        return False  # too short to say what it will be
    return bool(line.strip()) and not line.startswith((" ", "\t"))


def _closes(found: re.Match[str], fence: re.Match[str]) -> bool:
    mark, opened = found.group(2), fence.group(2)
    return mark[0] == opened[0] and len(mark) >= len(opened) and not found.group(3).strip()
