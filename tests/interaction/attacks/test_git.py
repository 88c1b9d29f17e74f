"""A repository's git directory as an attacker fills it: reading its state runs nothing, waits for nothing, ends.

Each trap is a script that leaves a proof if anything runs it.
"""

from __future__ import annotations

import os
import shutil
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from agent_core.agent.context import git_state
from agent_core.agent.context.git_repository import find_repository
from agent_core.agent.context.git_state import GitState, Views
from tests.support.agent.git import ENV, git

MOST_S = 30.0


async def read_git(folder: Path, environment: Mapping[str, str]) -> GitState | None:
    """Once, as the first turn of a session does."""
    views = Views()
    try:
        return await git_state.read_git(folder, environment, views)
    finally:
        views.close()


class Hostile:
    """A repository with one commit and one change, a trap to name in its configuration, and the proof that it ran."""

    def __init__(self, folder: Path) -> None:
        self.root, self.proof, self.trap = folder / "repo", folder / "proof", folder / "trap"
        self.root.mkdir()
        self.git_dir = self.root / ".git"
        self.trap.write_text(f"#!/bin/sh\necho ran >>'{self.proof}'\ncat\n")
        self.trap.chmod(0o755)
        git(self.root, "init", "-q")
        (self.root / "a.txt").write_text("one\n")
        git(self.root, "add", ".")
        git(self.root, "commit", "-qm", "first")
        (self.root / "a.txt").write_text("two, and longer\n")

    def configure(self, text: str, git_dir: Path | None = None) -> None:
        with ((git_dir or self.git_dir) / "config").open("a") as file:
            file.write(text.replace("TRAP", str(self.trap)) + "\n")

    def lose_tree(self, git_dir: Path | None = None) -> None:
        """The tree of HEAD is missing, as in a partial clone; git would fetch it."""
        names = sorted(((git_dir or self.git_dir) / "objects").glob("??/*"))
        for path in names:
            if zlib.decompress(path.read_bytes()).startswith(b"tree "):
                path.unlink()


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    return Hostile(tmp_path)


async def _state(hostile: Hostile, folder: Path | None = None) -> GitState | None:
    started = time.monotonic()
    state = await read_git(folder or hostile.root, ENV)
    assert time.monotonic() - started < MOST_S
    assert not hostile.proof.exists()
    return state


CONFIGURED = {
    "fsmonitor": "[core]\n fsmonitor = TRAP",
    "hooks": "[core]\n hooksPath = .evil",
    "pager": "[core]\n pager = TRAP",
    "editor": "[core]\n editor = TRAP",
    "ssh": "[core]\n sshCommand = TRAP",
    "askpass": "[core]\n askPass = TRAP",
    "alternate refs": "[core]\n alternateRefsCommand = TRAP",
    "attributes": '[core]\n attributesFile = evil.attributes\n[filter "x"]\n clean = TRAP',
    "filter": '[filter "x"]\n clean = TRAP\n smudge = TRAP\n process = TRAP\n required = true',
    "textconv": '[diff "x"]\n textconv = TRAP\n command = TRAP',
    "external diff": "[diff]\n external = TRAP",
    "alias": "[alias]\n status = !TRAP\n config = !TRAP",
    "credential": "[credential]\n helper = !TRAP",
    "gpg": "[gpg]\n program = TRAP\n[log]\n showSignature = true",
    "trailer": '[trailer "x"]\n command = TRAP',
    "include": "[include]\n path = more",
    "submodule": "[submodule]\n recurse = true\n[status]\n submoduleSummary = true",
}


@pytest.mark.parametrize("name", CONFIGURED)
async def test_nothing_that_it_configures_runs(hostile: Hostile, name: str) -> None:
    hooks = hostile.root / ".evil"
    hooks.mkdir()
    for folder in (hooks, hostile.git_dir / "hooks"):
        folder.mkdir(exist_ok=True)
        for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout"):
            shutil.copy(hostile.trap, folder / hook)
    (hostile.git_dir / "more").write_text(f"[core]\n fsmonitor = {hostile.trap}\n")
    (hostile.root / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
    hostile.configure(CONFIGURED[name])
    state = await _state(hostile)
    assert state is not None and state.branch == "main" and state.changed is not None
    assert state.changed["a.txt"] == ".M"


PROMISED = (
    "[core]\n repositoryformatversion = 1\n bare = false\n[extensions]\n partialClone = evil\n"
    '[remote "evil"]\n url = .\n promisor = true\n uploadpack = TRAP\n fetch = +refs/*:refs/*\n'
    "[protocol]\n allow = always"
)
"""git fetches what is missing from this remote, by running `uploadpack`."""


async def test_a_promised_object_is_not_fetched(hostile: Hostile) -> None:
    hostile.lose_tree()
    hostile.configure(PROMISED)
    state = await _state(hostile)
    assert state is not None and state.branch == "main" and state.changed is None and state.unread


async def test_a_folder_that_is_itself_a_git_directory(hostile: Hostile) -> None:
    """A clone can hold a folder with HEAD, objects, refs and a `config` that says `worktree = .`."""
    inner = hostile.root / "inner"
    shutil.copytree(hostile.git_dir, inner)
    hostile.lose_tree(inner)
    hostile.configure(PROMISED + "\n[core]\n worktree = .\n fsmonitor = TRAP", inner)
    state = await _state(hostile, inner)
    assert state is not None and state.branch == "main" and state.changed is not None
    assert await _state(hostile) is not None
    shutil.rmtree(hostile.git_dir)
    assert await _state(hostile, inner) is None


async def test_a_nested_repository_is_not_entered(hostile: Hostile) -> None:
    nested = hostile.root / "nested"
    shutil.copytree(hostile.git_dir, nested / ".git")
    with (nested / ".git" / "config").open("a") as file:
        file.write(f"[core]\n fsmonitor = {hostile.trap}\n")
    state = await _state(hostile)
    assert state is not None and state.changed == {"a.txt": ".M", "nested/": "??"}


async def test_a_planted_git_is_not_run(hostile: Hostile) -> None:
    for name in ("git", "git-status", "sh"):
        shutil.copy(hostile.trap, hostile.root / name)
    for path in (f".:{os.environ['PATH']}", f":{os.environ['PATH']}", f"{hostile.root}:{os.environ['PATH']}"):
        assert await read_git(hostile.root, ENV | {"PATH": path}) is not None
    assert not hostile.proof.exists()


def _pipe(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def _endless(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


def _folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def _loop(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(path.name)


def _huge(path: Path) -> None:
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        file.truncate(5 << 30)


def _garbage(path: Path) -> None:
    path.write_bytes(b"\0\xff[[[" * 10_000)


@pytest.mark.parametrize("make", [_pipe, _endless, _folder, _loop, _huge, _garbage])
@pytest.mark.parametrize(
    "name", ["HEAD", "config", "packed-refs", "refs/heads/main", "index", "info/exclude", "commondir"]
)
async def test_files_of_git_that_are_none(hostile: Hostile, name: str, make: Callable[[Path], None]) -> None:
    make(hostile.git_dir / name)
    await _state(hostile)


async def test_a_git_file_leads_nowhere_else(hostile: Hostile, tmp_path: Path) -> None:
    other = tmp_path / "private"
    shutil.copytree(hostile.root, other)
    git(other, "checkout", "-qb", "secret-plans")
    lure = tmp_path / "lure"
    lure.mkdir()
    for make in (
        lambda: (lure / ".git").write_text(f"gitdir: {other / '.git'}\n"),
        lambda: (lure / ".git").symlink_to(other / ".git"),
        lambda: (lure / ".git").write_text("gitdir: /proc/self/root\0/x\n"),
        lambda: (lure / ".git").write_text("gitdir: ../lure\n"),
        lambda: os.mkfifo(lure / ".git"),
    ):
        (lure / ".git").unlink(missing_ok=True)
        make()
        state = await _state(hostile, lure)
        assert state is not None and state.branch == "" and state.commit == "" and state.unread


async def test_names_that_climb_out_are_no_branches(hostile: Hostile) -> None:
    (hostile.git_dir / "secret").write_text("0" * 40)
    for ref in ("refs/../secret", "refs/heads/../../secret", "/etc/passwd", "refs/heads/a\0b", "refs//x", "secret"):
        (hostile.git_dir / "HEAD").write_text(f"ref: {ref}\n")
        found = find_repository(hostile.root)
        assert found is not None and found.head == ""


async def test_references_in_a_circle_end(hostile: Hostile) -> None:
    (hostile.git_dir / "refs" / "heads" / "main").write_text("ref: refs/heads/other\n")
    (hostile.git_dir / "refs" / "heads" / "other").write_text("ref: refs/heads/main\n")
    found = find_repository(hostile.root)
    assert found is not None and found.head == ""
