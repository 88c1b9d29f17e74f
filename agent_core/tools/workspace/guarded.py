"""Files that run or configure something by themselves, outside of any sandbox. Pure.

One list for all: the sandbox keeps commands from making and changing them, `edit` and `patch` ask for each, undo
brings them back as they were and never mixes into them. It stands at any depth of the tree, since folders of a
workspace are opened by themselves too.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence

import msgspec

GIT = ".git"

GUARDED: Mapping[str, str] = {
    GIT: "git runs hooks and programs that it names",
    ".gitmodules": "git fetches from, and configures, what it names",
    ".envrc": "direnv runs it",
    ".vscode": "VS Code starts tasks and programs that it names",
    ".idea": "IDEs of JetBrains start what it names",
    ".husky": "git runs its hooks",
    ".devcontainer": "editors build and start what it names",
    ".github/workflows": "GitHub runs it",
    ".nvim.lua": "Neovim runs it",
    ".nvimrc": "Neovim runs it",
    ".exrc": "Vim runs it",
    ".loopline": "it holds rules and settings of this agent",
    ".looplineignore": "it says which files are closed to this agent",
    ".mcp.json": "agents start the servers that it names",
    "agents.md": "agents take it for instructions of yours",
}
"""By path in lower case (of one part or two), with the reason that people are told."""

NAMED = "you named it in `guarded`"

_NAMES = frozenset(name for name in GUARDED if "/" not in name)
_LAST_OF_TWO = frozenset(name.rpartition("/")[2] for name in GUARDED if "/" in name)


class Entry(msgspec.Struct, frozen=True):
    """A guarded file or folder: its path below the root, and why."""

    relative: str
    why: str


class GuardRules:
    """The list, and glob patterns of names or paths that the user named."""

    def __init__(self, named: Sequence[str] = ()) -> None:
        self.named = tuple(pattern.removeprefix("./").rstrip("/") for pattern in named)

    def reason(self, relative: str) -> str | None:
        """Why exactly this path, not one above it, is guarded."""
        folder, _, name = relative.rpartition("/")
        lower = name.lower()
        if lower in _NAMES:
            return GUARDED[lower]
        if lower in _LAST_OF_TWO:
            pair = f"{folder.rpartition('/')[2].lower()}/{lower}"
            if pair in GUARDED:
                return GUARDED[pair]
        if any(fnmatch.fnmatchcase(name, each) or fnmatch.fnmatchcase(relative, each) for each in self.named):
            return NAMED
        return None

    def find(self, relative: str) -> Entry | None:
        """The outermost guarded entry that this path is, or is in; also for paths that do not exist."""
        parts = relative.split("/")
        for depth in range(1, len(parts) + 1):
            path = "/".join(parts[:depth])
            if path and (why := self.reason(path)) is not None:
                return Entry(path, why)
        return None
