"""What of a workspace commands may not see or not change, found by a walk whose folders are remembered.

A folder is read again only if its own stamp changed, so that a look around each command costs one system call a
folder. Nearest to the top comes first, and only so many entries are looked at; folders of what others built or
installed are left out.
"""

# Plain strings: on the way of each command.
# ruff: noqa: PTH114, PTH115, PTH116

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import msgspec

from agent_core.tools.workspace.guarded import GuardRules
from agent_core.tools.workspace.held import MAX_LOOKED_AT, SKIPPED, HeldRules
from agent_core.tools.workspace.ignore import OWN_IGNORE_FILE, Rules, extend, ignored
from agent_core.tools.workspace.secret_names import SecretRules

SETTLED_NS = 50_000_000
"""A folder whose stamp is younger than this may have changed since without another stamp."""

_Stamp = tuple[int, int, int]


class GuardedEntry(msgspec.Struct, frozen=True):
    """An existing guarded file or folder. `identity` tells it from a later one of that name, `above` its folders."""

    root: str
    relative: str
    why: str
    identity: tuple[int, int]
    above: tuple[int, ...]
    link: str | None
    """What it points to, if it is a link."""

    @property
    def path(self) -> str:
        return f"{self.root}/{self.relative}"


class Look(msgspec.Struct):
    """`secret`: paths of files that stay closed. `guarded` by path."""

    secret: list[str]
    guarded: dict[str, GuardedEntry]


class _Folder(msgspec.Struct):
    """What a folder holds, by name; `at` is when it was read (wall clock, ns)."""

    stamp: _Stamp
    at: int
    count: int
    folders: list[str]
    secret: list[str]
    guarded: list[str]
    files: list[str]
    has_rules: bool


class Lookout:
    """Belongs to one session; remembers folders by path."""

    def __init__(self, secrets: SecretRules, guards: GuardRules, held: HeldRules | None = None) -> None:
        self._secrets, self._guards = secrets, guards
        self._held = held or HeldRules()
        self._folders: dict[str, _Folder] = {}

    def look(self, roots: Sequence[str]) -> Look:
        """What is there at this moment."""
        found = Look([], {})
        seen: dict[str, _Folder] = {}
        for root in roots:
            self._walk(root, found, seen)
        self._folders = seen
        return found

    def _walk(self, root: str, found: Look, seen: dict[str, _Folder]) -> None:
        rules: Rules = ()
        waiting: list[tuple[str, Rules, tuple[int, ...]]] = [("", rules, ())]
        looked = 0
        for relative, rules, above in waiting:
            if looked >= MAX_LOOKED_AT:
                return
            path = f"{root}/{relative}" if relative else root
            folder = self._read(path, relative)
            if folder is None:
                continue
            seen[path] = folder
            looked += folder.count
            prefix = f"{relative}/" if relative else ""
            inodes = (*above, folder.stamp[1])
            found.secret += [f"{path}/{name}" for name in folder.secret]
            for name in folder.guarded:
                if (entry := self._guarded(root, prefix + name, inodes)) is not None:
                    found.guarded[entry.path] = entry
            if folder.has_rules:
                rules = extend(rules, path, prefix, (OWN_IGNORE_FILE,))
                self._held.note(root, prefix)
            if rules or self._held.holds(root):
                found.secret += [
                    f"{path}/{name}"
                    for names, is_folder in ((folder.folders, True), (folder.files, False))
                    for name in names
                    if ignored(rules, prefix + name, is_folder=is_folder)
                    or self._held.closes(root, prefix + name, is_folder)
                ]
            waiting += [(prefix + name, rules, inodes) for name in folder.folders if name not in SKIPPED]

    def _guarded(self, root: str, relative: str, above: tuple[int, ...]) -> GuardedEntry | None:
        path = f"{root}/{relative}"
        why = self._guards.reason(relative)
        try:
            found = os.lstat(path)
            link = os.readlink(path) if os.path.islink(path) else None
        except OSError:
            return None
        if why is None:
            return None
        return GuardedEntry(root, relative, why, (found.st_dev, found.st_ino), above, link)

    def _read(self, path: str, relative: str) -> _Folder | None:
        try:
            found = os.stat(path, follow_symlinks=False)
            stamp = (found.st_mtime_ns, found.st_ino, found.st_ctime_ns)
            known = self._folders.get(path)
            if known is not None and known.stamp == stamp and known.at - stamp[0] > SETTLED_NS:
                return known
            at = time.time_ns()
            entries = sorted(os.scandir(path), key=lambda entry: entry.name)
        except OSError:
            return None
        folder = _Folder(stamp, at, len(entries), [], [], [], [], False)
        prefix = f"{relative}/" if relative else ""
        for entry in entries:
            name = entry.name
            if self._guards.reason(prefix + name) is not None:
                folder.guarded.append(name)
            if name == OWN_IGNORE_FILE:
                folder.has_rules = True
            if entry.is_symlink():
                continue
            if self._secrets.match(prefix + name):
                folder.secret.append(name)
            elif entry.is_dir(follow_symlinks=False):
                folder.folders.append(name)
            else:
                folder.files.append(name)
        return folder
