"""Ignore rules of a tree: `.gitignore` of every folder, `.git/info/exclude`, and Loopline's own `.looplineignore`.

Owns the precedence: a deeper file wins over a higher one, a later line over an earlier one, `.looplineignore` over
`.gitignore` of the same folder. Nothing below an ignored folder comes back, as in git.
"""

# Plain strings: a path object per folder would slow a walk down.
# ruff: noqa: PTH112, PTH118

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import msgspec
from pathspec import GitIgnoreSpec

from agent_core.untrusted_files import read_plain

OWN_IGNORE_FILE = ".looplineignore"
"""What it names is closed to all tools; what only `.gitignore` names is just left out of lists and searches."""

IGNORE_FILES = (".gitignore", OWN_IGNORE_FILE)
MAX_IGNORE_BYTES = 256_000
"""A larger ignore file is not read."""

MAX_STARS = 3
"""A rule with more stars in one path part is left out: matching it may take exponential time."""


class Level(msgspec.Struct, frozen=True):
    """The rules that one folder adds. `prefix` is the folder's path below the root with a slash, "" for the root."""

    prefix: str
    spec: GitIgnoreSpec
    names: re.Pattern[str] | None
    """Matches the name of everything that `spec` may say something about; None: ask `spec` itself."""


Rules = tuple[Level, ...]
"""From the root down to a folder."""


def rules_of_root(root: str) -> Rules:
    """The rules that hold for a whole root from outside its tree."""
    return extend((), os.path.join(root, ".git", "info"), "", ("exclude",))


def extend(rules: Rules, folder: str, prefix: str, present: Sequence[str]) -> Rules:
    """`rules` with those of `folder` added. `present`: which ignore files it has, weakest first."""
    for name in present:
        level = level_of(text_of(os.path.join(folder, name)), prefix)
        if level is not None:
            rules = (*rules, level)
    return rules


def level_of(text: str, prefix: str) -> Level | None:
    """The rules of one file's text, without the lines that are no rules; None if nothing is left."""
    spec = _spec(text)
    return None if spec is None else Level(prefix, spec, _names(spec))


def text_of(path: str) -> str:
    """The text of an ignore file; "" if there is none that can be read."""
    data = read_plain(path, MAX_IGNORE_BYTES)
    return "" if data is None else data.decode("utf-8", "surrogateescape")


def ignored(rules: Rules, relative: str, *, is_folder: bool) -> bool:
    """True if `relative` (below the root) is ignored by these rules. Its parents are not looked at."""
    path = relative + "/" if is_folder else relative
    name = path[relative.rfind("/") + 1 :]
    for level in reversed(rules):
        if level.names is not None and level.names.match(name) is None:
            continue
        verdict = level.spec.check_file(path[len(level.prefix) :]).include
        if verdict is not None:
            return verdict
    return False


def closed(root: str, relative: str) -> bool:
    """True if a `.looplineignore` between the root and the path names it or a folder above it."""
    rules: Rules = ()
    parts = relative.split("/")
    for depth, part in enumerate(parts):
        prefix = "".join(f"{above}/" for above in parts[:depth])
        rules = extend(rules, os.path.join(root, prefix), prefix, (OWN_IGNORE_FILE,))
        if rules:
            is_folder = depth < len(parts) - 1 or os.path.isdir(os.path.join(root, relative))
            if ignored(rules, prefix + part, is_folder=is_folder):
                return True
    return False


def _spec(text: str) -> GitIgnoreSpec | None:
    found = [line.removesuffix("\r") for line in text.split("\n")]
    lines = [line for line in found if not _costly(line) and line.strip() and not line.startswith("#")]
    if not lines:
        return None
    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:
        return GitIgnoreSpec.from_lines([line for line in lines if _valid(line)])


_ANYWHERE = "^(?:.+/)?"
_GROUP_NAME = re.compile(r"\?P<\w+>")


def _names(spec: GitIgnoreSpec) -> re.Pattern[str] | None:
    """One expression for rules that look at names alone, which is most of them: a walk asks it for every entry.

    Such a rule can also match the name of a parent; but then the parent was asked before and is not ignored.
    """
    found: list[str] = []
    for pattern in spec.patterns:
        expression = getattr(pattern, "regex", None)
        source = expression.pattern if isinstance(expression, re.Pattern) else ""
        if pattern.include is None:
            continue
        if not isinstance(source, str) or not source.startswith(_ANYWHERE):
            return None
        found.append(_GROUP_NAME.sub("?:", source.removeprefix(_ANYWHERE)))
    try:
        return re.compile("|".join(f"(?:{source})" for source in found))
    except re.error:
        return None


def _valid(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _costly(line: str) -> bool:
    return any(part.count("*") - 2 * part.count("**") > MAX_STARS for part in line.split("/"))
