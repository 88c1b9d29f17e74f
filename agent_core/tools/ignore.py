"""Ignore rules of a tree: `.gitignore` of every folder, `.git/info/exclude`, and Loopline's own `.looplineignore`.

Owns the precedence: a deeper file wins over a higher one, a later line over an earlier one, `.looplineignore` over
`.gitignore` of the same folder. Nothing below an ignored folder comes back, as in git.
"""

# Plain strings: a path object per folder would slow a walk down.
# ruff: noqa: PTH118, PTH123

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec
from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".looplineignore")
MAX_IGNORE_BYTES = 256_000
"""A larger ignore file is not read."""

MAX_STARS = 3
"""A rule with more stars in one path part is left out: matching it may take exponential time."""


class Level(msgspec.Struct, frozen=True):
    """The rules that one folder adds. `prefix` is the folder's path below the root with a slash, "" for the root."""

    prefix: str
    spec: GitIgnoreSpec


Rules = tuple[Level, ...]
"""From the root down to a folder."""


def rules_of_root(root: str) -> Rules:
    """The rules that hold for a whole root from outside its tree."""
    return extend((), os.path.join(root, ".git", "info"), "", ("exclude",))


def extend(rules: Rules, folder: str, prefix: str, present: Sequence[str]) -> Rules:
    """`rules` with those of `folder` added. `present`: which ignore files it has, weakest first."""
    for name in present:
        spec = _spec(os.path.join(folder, name))
        if spec is not None:
            rules = (*rules, Level(prefix, spec))
    return rules


def ignored(rules: Rules, relative: str, *, is_folder: bool) -> bool:
    """True if `relative` (below the root) is ignored by these rules. Its parents are not looked at."""
    path = relative + "/" if is_folder else relative
    for level in reversed(rules):
        verdict = level.spec.check_file(path[len(level.prefix) :]).include
        if verdict is not None:
            return verdict
    return False


def _spec(path: str) -> GitIgnoreSpec | None:
    """The rules of one file, without the lines that are no rules; None if nothing is left."""
    lines = [line for line in _lines(path) if not _costly(line) and line.strip() and not line.startswith("#")]
    if not lines:
        return None
    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:
        return GitIgnoreSpec.from_lines([line for line in lines if _valid(line)])


def _valid(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _costly(line: str) -> bool:
    return any(part.count("*") - 2 * part.count("**") > MAX_STARS for part in line.split("/"))


def _lines(path: str) -> list[str]:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return []
    with open(handle, "rb") as file:
        try:
            data = file.read(MAX_IGNORE_BYTES + 1)
        except OSError:
            return []
    if len(data) > MAX_IGNORE_BYTES:
        return []
    return data.decode("utf-8", "surrogateescape").split("\n")
