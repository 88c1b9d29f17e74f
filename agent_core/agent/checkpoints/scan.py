"""What commands changed in the workspace: looked at before and after each, within bounds of size and time.

Ignored files, secrets and links are not looked at. Beyond the bounds on what is kept, files are known by their size and
times alone: that a command changed one is told, and only its undo is not possible. Where a tree is too large even for
that, what commands do there is not told, and that is said. Runs in a thread; one scan at a time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from agent_core.errors import ToolError
from agent_core.tools.workspace import disk
from agent_core.tools.workspace.secret_names import SecretRules
from agent_core.tools.workspace.walk import walk

MAX_FILES = 10_000
MAX_FILE_BYTES = 1_000_000
MAX_TOTAL_BYTES = 64_000_000
LIMIT_S = 1.0
"""How many files are kept, and how long it may take to read them; the others are known by their stamps alone."""

MAX_STAMPED = 200_000
STAMPING_LIMIT_S = 5.0
"""How many files are looked at at all, and for how long."""

Key = tuple[str, str]
_Stamp = tuple[int, int, int, int, int]


class Seen(msgspec.Struct, frozen=True):
    """A file as it was looked at. `data` None: it was not read, since nothing about it changed, or beyond the bounds;
    then `digest` is of its stamp."""

    stamp: _Stamp
    mode: int
    digest: bytes
    data: bytes | None

    @property
    def changed_ns(self) -> int:
        """When content or rights last changed, since 1970."""
        return self.stamp[2]


class Tree(msgspec.Struct):
    """`whole` False: the bounds were reached, so a file that is missing here need not be gone."""

    files: dict[Key, Seen]
    folders: set[Key]
    whole: bool = True


def scan(roots: Sequence[str], known: Mapping[Key, Seen], secrets: SecretRules) -> Tree:
    """Look at every file once; those whose stamp differs from `known` are read."""
    tree = Tree({}, set())
    began, total = time.monotonic(), 0
    for root in roots:
        for entry in walk(root, ""):
            if entry.is_folder:
                tree.folders.add((root, entry.relative))
            if entry.is_folder or entry.is_link or secrets.match(entry.relative):
                continue
            key = (root, entry.relative)
            took_s = time.monotonic() - began
            if len(tree.files) >= MAX_STAMPED or took_s > STAMPING_LIMIT_S:
                tree.whole = False
                return tree
            kept = len(tree.files) < MAX_FILES and total <= MAX_TOTAL_BYTES and took_s <= LIMIT_S
            if (seen := _look(key, known.get(key), MAX_FILE_BYTES if kept else -1)) is not None:
                tree.files[key] = seen
                total += seen.stamp[3]
    return tree


def _look(key: Key, known: Seen | None, most_bytes: int) -> Seen | None:
    """A file of up to `most_bytes` with its content, a larger one without."""
    try:
        found = os.lstat(Path(*key))
        stamp = (found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_mode)
        if known is not None and known.stamp == stamp:
            return msgspec.structs.replace(known, data=None)
        if found.st_size > most_bytes:
            return Seen(stamp, found.st_mode & 0o7777, repr(stamp).encode(), None)
        snapshot = disk.read_file(key[0], key[1], key[1], MAX_FILE_BYTES)
    except (OSError, ToolError):
        return None
    return Seen(stamp, snapshot.mode, snapshot.digest, snapshot.data)
