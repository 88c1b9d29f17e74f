"""What `.looplineignore` files have said since the session began: it holds to its end, whatever becomes of the files.

The agent, or a command of it, could have changed them; so a change only ever closes more, until a person agrees to an
edit of the file (`Workspace.permitting`). Rules of the start count in full. Of what came later only what closes a file
counts: an exception (`!name`) that was added, also in a file below, opens nothing.
"""

# Plain strings: on the way of each command and each search.
# ruff: noqa: PTH118

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec

from agent_core.tools.workspace.ignore import OWN_IGNORE_FILE, Level, ignored, level_of, text_of

MAX_LOOKED_AT = 10_000
"""Entries of one root that are looked at, nearest to its top first."""
MAX_LATER = 16
"""Later texts of one file that are kept one by one; beyond that their lines are taken together."""

SKIPPED = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", "target", "dist", "build"})
"""Folders of what others built or installed."""

Told: TypeAlias = tuple[str, str, tuple[str, ...]]
"""A file as another process is told of it: the prefix of its folder, its text at the start, later ones."""


class _File(msgspec.Struct):
    text: str
    start: Level | None
    later: dict[str, Level | None]

    @property
    def latest(self) -> str:
        return next(reversed(self.later), self.text)


class HeldRules:
    """Owned by the workspace. Knows nothing of a root before `take`, `note` or `told`."""

    def __init__(self) -> None:
        self._roots: dict[str, dict[str, _File]] = {}

    def take(self, roots: Iterable[str]) -> None:
        """Look for the files of roots that are new, and at those that are known."""
        for root in roots:
            if root not in self._roots:
                self._roots[root] = {prefix: _file(text_of(_path(root, prefix)), prefix) for prefix in _prefixes(root)}
            else:
                for prefix in {"", *self._roots[root]}:
                    self.note(root, prefix)

    def note(self, root: str, prefix: str) -> None:
        """Look at one file as it is now."""
        text, files = text_of(_path(root, prefix)), self._roots.get(root)
        if files is None:
            self._roots[root] = {prefix: _file(text, prefix)}
            return
        known = files.setdefault(prefix, _file("")) if text else files.get(prefix)
        if known is None or text in (known.text, known.latest):
            return
        if len(known.later) >= MAX_LATER:
            lines = [line for each in (*known.later, text) for line in each.split("\n") if not line.startswith("!")]
            text, known.later = "\n".join(dict.fromkeys(lines)), {}
        known.later[text] = level_of(text, prefix)

    def settled(self, root: str, prefix: str) -> bool:
        """Whether the file is as it was last seen, so that nothing of it is held back."""
        known = self._roots.get(root, {}).get(prefix)
        now = text_of(_path(root, prefix))
        return now == known.text and not known.later if known is not None else not now

    def confirm(self, root: str, prefix: str) -> None:
        """From now on the file counts as it is: a person agreed."""
        self._roots.setdefault(root, {})[prefix] = _file(text_of(_path(root, prefix)), prefix)

    def told(self) -> dict[str, list[Told]]:
        """All of it, for another process."""
        return {
            root: [(prefix, file.text, tuple(file.later)) for prefix, file in files.items()]
            for root, files in self._roots.items()
        }

    @classmethod
    def of(cls, told: dict[str, list[Told]]) -> HeldRules:
        held = cls()
        for root, files in told.items():
            held._roots[root] = {prefix: _file(text, prefix, later) for prefix, text, later in files}
        return held

    def knows(self, root: str) -> bool:
        """Whether its files were looked for."""
        return root in self._roots

    def holds(self, root: str) -> bool:
        """Whether there is anything to hold in this root."""
        return bool(self._roots.get(root))

    def closes(self, root: str, relative: str, is_folder: bool) -> bool:
        """Whether exactly this path is closed; what is above it is not looked at."""
        files = self._roots.get(root)
        if not files:
            return False
        above = [file for prefix, file in files.items() if relative.startswith(prefix)]
        start = tuple(sorted((file.start for file in above if file.start is not None), key=_depth))
        if start and ignored(start, relative, is_folder=is_folder):
            return True
        return any(
            ignored((level,), relative, is_folder=is_folder)
            for file in above
            for level in file.later.values()
            if level is not None
        )

    def closed(self, root: str, relative: str) -> bool:
        """Whether this path or a folder above it is closed."""
        if not self.holds(root):
            return False
        parts = relative.split("/")
        paths = ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
        return any(self.closes(root, path, path != relative or os.path.isdir(f"{root}/{path}")) for path in paths)  # noqa: PTH112


def _file(text: str, prefix: str = "", later: Sequence[str] = ()) -> _File:
    return _File(text, level_of(text, prefix), {each: level_of(each, prefix) for each in later})


def _path(root: str, prefix: str) -> str:
    return os.path.join(root, prefix, OWN_IGNORE_FILE)


def _depth(level: Level) -> int:
    return level.prefix.count("/")


def _prefixes(root: str) -> list[str]:
    """The folders below `root` (with a slash, "" for itself) that have a file of rules."""
    found: list[str] = []
    waiting, looked = [""], 0
    for prefix in waiting:
        if looked >= MAX_LOOKED_AT:
            break
        try:
            with os.scandir(os.path.join(root, prefix)) as scan:
                for entry in scan:
                    looked += 1
                    if entry.name == OWN_IGNORE_FILE:
                        found.append(prefix)
                    elif entry.name not in SKIPPED and entry.is_dir(follow_symlinks=False):
                        waiting.append(f"{prefix}{entry.name}/")
        except OSError:
            continue
    return found
