"""Walking a tree in a steady order, without ignored names and git's own folder, and never through a link."""

# Plain strings: a path object per entry would double the time of a walk.
# ruff: noqa: PTH118

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import msgspec

from agent_core.tools.workspace.disk import TEMPORARY_MARK
from agent_core.tools.workspace.ignore import IGNORE_FILES, Rules, extend, ignored, rules_of_root

_NEVER = frozenset({".git", ".hg", ".svn"})


class Entry(msgspec.Struct, frozen=True):
    """`relative` is the path below the root. What is neither a folder nor a link is a regular file."""

    relative: str
    is_folder: bool
    is_link: bool


def never(root: str, relative: str, is_folder: bool) -> bool:
    """No rules beside those of the files."""
    return False


def walk(
    root: str,
    start: str,
    *,
    max_depth: int | None = None,
    tick: Callable[[], None] = lambda: None,
    closes: Callable[[str, str, bool], bool] = never,
) -> Iterator[Entry]:
    """Entries below `root/start`, folders before what is in them, names in code point order.

    Links are named but never followed; pipes, devices and sockets are left out. `max_depth` 1: only the folder's own
    entries; None: no limit. `tick` is called for each folder and may raise to stop the walk. Unreadable folders are
    skipped. `closes` leaves out more by root, path and whether it is a folder (`HeldRules.closes`).
    """
    rules = _rules_above(root, start)
    # An explicit stack: a hostile tree may be deeper than Python's recursion limit.
    stack: list[Iterator[tuple[Entry, Rules]]] = [_entries(root, start, rules, closes)]
    while stack:
        step = next(stack[-1], None)
        if step is None:
            stack.pop()
            continue
        entry, below = step
        yield entry
        if entry.is_folder and (max_depth is None or len(stack) < max_depth):
            tick()
            stack.append(_entries(root, entry.relative, below, closes))


def _rules_above(root: str, start: str) -> Rules:
    """The rules of the folders above `start`. A folder that was asked for by name is walked even if they ignore it."""
    rules = rules_of_root(root)
    prefix = ""
    for part in start.split("/") if start else ():
        folder = os.path.join(root, prefix) if prefix else root
        rules = extend(rules, folder, prefix, _ignore_files_in(folder))
        prefix += part + "/"
    return rules


def _ignore_files_in(folder: str) -> list[str]:
    return [name for name in IGNORE_FILES if os.path.lexists(os.path.join(folder, name))]


def _entries(
    root: str, start: str, rules: Rules, closes: Callable[[str, str, bool], bool]
) -> Iterator[tuple[Entry, Rules]]:
    folder = os.path.join(root, start) if start else root
    prefix = start + "/" if start else ""
    try:
        with os.scandir(folder) as scan:
            found = sorted(scan, key=lambda entry: entry.name)
    except OSError:
        return
    rules = extend(rules, folder, prefix, [entry.name for entry in found if entry.name in IGNORE_FILES])
    for entry in found:
        if entry.name in _NEVER or TEMPORARY_MARK in entry.name:
            continue
        try:
            is_link = entry.is_symlink()
            is_folder = not is_link and entry.is_dir(follow_symlinks=False)
            if not is_link and not is_folder and not entry.is_file(follow_symlinks=False):
                continue
        except OSError:
            continue
        relative = prefix + entry.name
        if not ignored(rules, relative, is_folder=is_folder) and not closes(root, relative, is_folder):
            yield Entry(relative, is_folder, is_link), rules
