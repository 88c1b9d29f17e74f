"""What the edit tools changed since a point: the first base of each file against its content now.

Owned by the workspace. A file that was changed and changed back is no change.
"""

from __future__ import annotations

import msgspec

from agent_core.tools.workspace.diffs import diff


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One changed file. `diff` is unified with headers; `added` and `removed` count lines."""

    path: str
    diff: str
    added: int
    removed: int


class Changes:
    """Bases by the path that people see; None stands for a file that did not exist."""

    def __init__(self) -> None:
        self._bases: dict[str, str | None] = {}

    def note(self, path: str, base: str | None) -> None:
        """`path` is about to be written; its first base counts."""
        self._bases.setdefault(path, base)

    def paths(self) -> list[str]:
        return list(self._bases)

    def clear(self) -> None:
        """Start counting anew."""
        self._bases.clear()

    def against(self, now: dict[str, str | None]) -> list[Change]:
        """Net changes, sorted by path; `now` holds the present text of each of `paths`, None where there is none."""
        changes = []
        for path, base in sorted(self._bases.items()):
            present = now[path]
            if present == base:
                continue
            found = diff(base or "", present or "")
            text = found.with_header(None if base is None else path, None if present is None else path)
            changes.append(Change(path=path, diff=text, added=found.added, removed=found.removed))
        return changes
