"""What a turn changed so far: the first base of each file against its content now.

Owned by the workspace. Edits of the tools note their bases themselves; what commands changed is noted for them, within
bounds. A file that was changed and changed back is no change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from agent_core.tools.workspace import text
from agent_core.tools.workspace.diffs import diff

MAX_BY_COMMANDS = 200
"""Files that are kept count of which commands alone changed; of more, only how many is known."""
MAX_BASE_BYTES = 16_000_000
"""Of the bases of what commands changed; beyond it files are named without a diff."""

By = Literal["edit", "command", "both"]
"""Who changed a file: the agent's own edits, commands that it ran, or one after the other."""


class Opaque(msgspec.Struct, frozen=True):
    """A content that is no text, or too large to be kept; known by its digest."""

    digest: bytes


Content = str | Opaque | None
"""None: there is no file."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One changed file. `diff` is unified with headers, and empty where a side of it is no text or too large; `added`
    and `removed` count lines."""

    path: str
    diff: str
    added: int
    removed: int
    by: By = "edit"


class Changes:
    """Bases by the path that people see. `left_out` counts files that commands changed beyond the bound."""

    def __init__(self) -> None:
        self._bases: dict[str, Content] = {}
        self._by: dict[str, By] = {}
        self._beyond: set[str] = set()
        self._kept_bytes = 0

    @property
    def left_out(self) -> int:
        return len(self._beyond - self._bases.keys())

    def note(self, path: str, base: str | None) -> None:
        """`path` is about to be written by an edit; its first base counts."""
        self._bases.setdefault(path, base)
        self._by[path] = "edit" if self._by.get(path, "edit") == "edit" else "both"

    def note_command(self, path: str, digest: bytes | None, content: Callable[[], bytes | None]) -> None:
        """A command changed `path`. `digest` is of what it was before, None: there was no file; `content` gets it."""
        if path not in self._bases:
            if sum(by == "command" for by in self._by.values()) >= MAX_BY_COMMANDS:
                self._beyond.add(path)
                return
            self._bases[path] = None if digest is None else self._kept(digest, content())
        self._by[path] = "command" if self._by.get(path, "command") == "command" else "both"

    def paths(self) -> list[str]:
        return list(self._bases)

    def clear(self) -> None:
        """Start counting anew."""
        self._bases.clear()
        self._by.clear()
        self._beyond.clear()
        self._kept_bytes = 0

    def against(self, now: dict[str, Content]) -> list[Change]:
        """Net changes, sorted by path; `now` holds the present content of each of `paths`."""
        changes = []
        for path, base in sorted(self._bases.items()):
            present = now[path]
            if present != base:
                changes.append(change_of(path, base, present, self._by[path]))
        return changes

    def _kept(self, digest: bytes, data: bytes | None) -> Content:
        fits = data is not None and self._kept_bytes + len(data) <= MAX_BASE_BYTES
        decoded = text.decode(data) if data is not None and fits else None
        if data is None or decoded is None:
            return Opaque(digest)
        self._kept_bytes += len(data)
        return decoded[0]


def change_of(path: str, base: Content, present: Content, by: By) -> Change:
    """The change from one content to another."""
    if isinstance(base, Opaque) or isinstance(present, Opaque):
        return Change(path=path, diff="", added=0, removed=0, by=by)
    found = diff(base or "", present or "")
    made = found.with_header(None if base is None else path, None if present is None else path)
    return Change(path=path, diff=made, added=found.added, removed=found.removed, by=by)
