"""What a command in a sandbox finds where: a list of mounts, for bubblewrap and for our own launcher alike. Pure.

Everything is there to be read. On top come a folder for scratch files, the workspace to be written, and in it what
may not be written or not be seen. A folder that is a mount can't be renamed, so the folders above a repository are
mounts too: else it could be moved away and another put in its place.
"""

# Plain strings: on the way of each command.
# ruff: noqa: PTH120

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from agent_core.tools.workspace.guarded import GIT

Kind = Literal["write", "read", "empty"]


class Mount(msgspec.Struct, frozen=True):
    """`empty` puts nothing over a file or folder. `source` "": the same place of the host."""

    kind: Kind
    path: str
    source: str = ""


def scratch_mounts(scratch: str, shown: Sequence[str]) -> list[Mount]:
    """The scratch folder in place of the host's /tmp, but for the folders in it that are `shown`."""
    over = [Mount("write", path, scratch) for path in ("/tmp", "/var/tmp")]
    return [*over, *(Mount("read", folder) for folder in shown)]


def workspace_mounts(
    roots: Sequence[str], *, git: Sequence[str], fixed: Iterable[str], closed: Iterable[str], unseen: Iterable[str]
) -> list[Mount]:
    """`git`: folders that are written by git, with what is in them. `fixed`: places that are only read. `closed`: files
    and folders that are not seen. `unseen`: the same, outside of the roots. Outer ones come first."""
    found: dict[str, Mount] = {}
    writable = [*roots, *git]
    fixed = list(fixed)
    for path in writable:
        found[path] = Mount("write", path)
    for path in (*git, *(each for each in fixed if _is_inner(each))):
        for folder in _between(path, roots):
            found.setdefault(folder, Mount("write", folder))
    for kind, places in (("read", fixed), ("empty", closed)):
        for path in places:
            found[path] = Mount(kind, path)  # type: ignore[arg-type]  # of a list written out above
    ordered = sorted(found.values(), key=lambda each: (each.path.count("/"), each.path))
    return [*(Mount("empty", path) for path in unseen), *ordered]


def _is_inner(path: str) -> bool:
    """Whether the folders above a fixed place are to be fixed as well."""
    return path.endswith(("/.github/workflows", f"/{GIT}"))


def _between(path: str, roots: Sequence[str]) -> list[str]:
    """Folders above a path, below the root that it is in."""
    root = max((each for each in roots if path.startswith(each.rstrip("/") + "/")), key=len, default=None)
    found: list[str] = []
    while root is not None and (path := os.path.dirname(path)) != root and len(path) > len(root):
        found.append(path)
    return found


def below(path: str, folder: str) -> bool:
    """Whether a path is a folder or in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
