"""What commands changed in the workspace: looked at before and after each, within bounds of size and time.

Ignored files, secrets and links are not looked at. Where a tree is larger than the bounds, what commands do there can't
be undone, and that is said. Runs in a thread; one scan at a time.
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

Key = tuple[str, str]
_Stamp = tuple[int, int, int, int, int]


class Seen(msgspec.Struct, frozen=True):
    """A file as it was looked at. `data` None: it was not read again, since nothing about it changed."""

    stamp: _Stamp
    mode: int
    digest: bytes
    data: bytes | None


class Tree(msgspec.Struct):
    """`whole` False: the bounds were reached, so a file that is missing here need not be gone."""

    files: dict[Key, Seen]
    folders: set[Key]
    whole: bool = True


def scan(roots: Sequence[str], known: Mapping[Key, Seen], secrets: SecretRules) -> Tree:
    """Look at every file once; those whose stamp differs from `known` are read."""
    tree = Tree({}, set())
    ends, total = time.monotonic() + LIMIT_S, 0
    for root in roots:
        for entry in walk(root, ""):
            if entry.is_folder:
                tree.folders.add((root, entry.relative))
            if entry.is_folder or entry.is_link or secrets.match(entry.relative):
                continue
            key = (root, entry.relative)
            if len(tree.files) >= MAX_FILES or total > MAX_TOTAL_BYTES or time.monotonic() > ends:
                tree.whole = False
                return tree
            if (seen := _look(key, known.get(key))) is not None:
                tree.files[key] = seen
                total += seen.stamp[3]
    return tree


def _look(key: Key, known: Seen | None) -> Seen | None:
    try:
        found = os.lstat(Path(*key))
        stamp = (found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_mode)
        if known is not None and known.stamp == stamp:
            return msgspec.structs.replace(known, data=None)
        if found.st_size > MAX_FILE_BYTES:
            return Seen(stamp, found.st_mode & 0o7777, repr(stamp).encode(), None)
        snapshot = disk.read_file(key[0], key[1], key[1], MAX_FILE_BYTES)
    except (OSError, ToolError):
        return None
    return Seen(stamp, snapshot.mode, snapshot.digest, snapshot.data)
