"""Keeps what runs by itself out of the reach of a session's commands.

What exists can't be changed while a command runs where the sandbox mounts it read-only. What a command makes anew is
found when it has ended and set aside: moved to the state folder, never deleted. A new repository that makes git run
nothing stays.
"""

# Plain strings: on the way of each command.
# ruff: noqa: PTH103, PTH118, PTH119, PTH120
# ruff: noqa: PTH208, PTH211

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress

from agent_core.tools.sandbox.look import GuardedEntry, Look, Lookout
from agent_core.tools.workspace import git_places
from agent_core.tools.workspace.git_places import Repository
from agent_core.tools.workspace.guarded import GIT
from agent_core.tools.workspace.roots import shown_path
from agent_core.tools.workspace.workspace import Workspace

MAX_TOLD = 20


class Guard:
    """Belongs to one session. `aside` gives the folder for what is set aside, which is made when it is needed."""

    def __init__(self, workspace: Workspace, aside: Callable[[], str]) -> None:
        self._workspace, self._aside = workspace, aside
        self._lookout = Lookout(workspace.secrets, workspace.guards, workspace.held)
        self._known: dict[str, GuardedEntry] = {}
        self._git_folders: set[str] = set()
        self._code: set[str] = set()
        self._running = 0

    def begin(self) -> Look:
        """Before a command: what to keep from it. What others made since the last one ended is theirs."""
        look = self._lookout.look(self._workspace.roots)
        if not self._running:
            self._known = look.guarded
            for each in self.repositories(look):
                git_places.make_hooks(each.common)
            self._git_folders = {folder for each in self.repositories(look) for folder in _folders(each)}
            self._code = {path for folder in self._git_folders for path in git_places.code_in(folder)}
        self._running += 1
        return look

    def repositories(self, look: Look) -> list[Repository]:
        """Those of the workspace: in it, and the one around a root that is in one."""
        tops = [os.path.dirname(entry.path) for entry in look.guarded.values() if entry.relative.endswith(GIT)]
        found = [git_places.repository_at(top) for top in tops]
        found += [git_places.repository_around(root) for root in self._workspace.roots if root not in tops]
        return [each for each in found if each is not None]

    def settle(self) -> list[str]:
        """After a command: what it made that would run by itself is set aside; a line for each."""
        self._running = max(0, self._running - 1)
        look = self._lookout.look(self._workspace.roots)
        identities = {entry.identity for entry in self._known.values()}
        folders = frozenset(each.common for each in self.repositories(Look([], self._known)))
        told: list[str] = []
        for path, entry in look.guarded.items():
            known = self._known.get(path)
            if known is not None and (known.identity == entry.identity or known.above == entry.above):
                if known.link != entry.link:
                    told += self._set_aside(entry)
                continue
            if entry.identity in identities or (entry.relative.endswith(GIT) and git_places.inert(path, folders)):
                self._known[path] = entry
                continue
            told += self._set_aside(entry)
        for path, known in self._known.items():
            if known.link is not None and not os.path.lexists(path):
                with suppress(OSError):
                    os.symlink(known.link, path)
        told += self._settle_repositories(look)
        return told[:MAX_TOLD]

    def _settle_repositories(self, look: Look) -> list[str]:
        """What was made inside of git folders, which commands may write to."""
        told: list[str] = []
        for repository in self.repositories(look):
            for folder in _folders(repository):
                if folder not in self._git_folders:
                    if not git_places.inert_inner(folder, repository.common):
                        told += self._move(folder, "git runs hooks and programs that it names")
                    continue
                for path in git_places.code_in(folder):
                    if path not in self._code:
                        told += self._move(path, "git runs what it names")
        return told

    def _set_aside(self, entry: GuardedEntry) -> list[str]:
        return self._move(entry.path, entry.why)

    def _move(self, path: str, why: str) -> list[str]:
        shown = shown_path(path)
        try:
            folder = self._aside()
            os.makedirs(folder, mode=0o700, exist_ok=True)
            number = len(os.listdir(folder)) + 1
            target = os.path.join(folder, f"{number}-{os.path.basename(path)}")
            shutil.move(path, target)
        except OSError as error:
            return [f"{shown} was made by a command: {why}; it could not be set aside ({error.strerror})"]
        return [f"{shown} was made by a command and set aside, in {target}: {why}; `edit` makes it if the user agrees"]


def _folders(repository: Repository) -> list[str]:
    inner = git_places.inner_folders(repository.common)
    return list(dict.fromkeys((repository.common, repository.folder, *inner)))
