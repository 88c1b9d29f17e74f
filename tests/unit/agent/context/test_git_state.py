"""Git's branch and state from real repositories, which get to run nothing."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent_core.agent.context import git_state
from agent_core.agent.context.git_state import GitState, Views
from tests.support.agent.git import ENV, git


async def read_git(folder: Path, environment: Mapping[str, str]) -> GitState | None:
    """Once, as the first turn of a session does."""
    views = Views()
    try:
        return await git_state.read_git(folder, environment, views)
    finally:
        views.close()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A commit, then one change of each sort."""
    root = tmp_path / "app"
    (root / "src").mkdir(parents=True)
    for name in ("kept.py", "gone.py", "src/a.py"):
        (root / name).write_text("x = 1\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    (root / "src" / "a.py").write_text("x = 2\n")
    (root / "gone.py").unlink()
    (root / "new é.py").write_text("y\n")
    (root / "staged.py").write_text("z\n")
    git(root, "add", "staged.py")
    return root


async def test_branch_commit_and_changes(repository: Path) -> None:
    state = await read_git(repository, ENV)
    assert state is not None
    assert state.branch == "main"
    assert len(state.commit) == 12
    assert state.changed == {"gone.py": ".D", "src/a.py": ".M", "staged.py": "A.", "new é.py": "??"}


async def test_a_folder_inside_a_repository_knows_its_own_part(repository: Path) -> None:
    state = await read_git(repository / "src", ENV)
    assert state is not None and state.changed == {"a.py": ".M"}


async def test_no_repository_no_commit_and_no_branch(tmp_path: Path, repository: Path) -> None:
    plain, empty = tmp_path / "plain", tmp_path / "empty"
    plain.mkdir()
    empty.mkdir()
    git(empty, "init", "-q")
    assert await read_git(plain, ENV) is None
    assert await read_git(empty, ENV) == GitState(branch="main", commit="", changed={})
    git(repository, "checkout", "-q", "--detach")
    detached = await read_git(repository, ENV)
    assert detached is not None and detached.branch == ""


async def test_how_far_a_branch_is_from_its_upstream(tmp_path: Path, repository: Path) -> None:
    git(repository, "stash", "-u")
    git(tmp_path, "clone", "-q", str(repository), "copy")
    copy = tmp_path / "copy"
    git(copy, "commit", "-q", "--allow-empty", "-m", "mine")
    git(repository, "commit", "-q", "--allow-empty", "-m", "theirs")
    git(copy, "fetch", "-q")
    state = await read_git(copy, ENV)
    assert state is not None and (state.ahead, state.behind) == (1, 1)


async def test_a_submodule_is_left_alone(tmp_path: Path, repository: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    git(inner, "commit", "-q", "--allow-empty", "-m", "x")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    git(repository, "commit", "-qam", "with a submodule")
    proof, trap = tmp_path / "proof", tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch '{proof}'\n")
    trap.chmod(0o755)
    git(repository / "sub", "config", "core.fsmonitor", str(trap))
    (repository / "sub" / "new").write_text("x")
    assert await read_git(repository, ENV) is not None
    assert not proof.exists()


async def test_variables_do_not_point_it_elsewhere(tmp_path: Path, repository: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    state = await read_git(repository, ENV | {"GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other)})
    assert state is not None and state.commit


async def test_nothing_is_written(repository: Path) -> None:
    index = repository / ".git" / "index"
    before = index.read_bytes()
    await read_git(repository, ENV)
    assert index.read_bytes() == before


async def test_a_git_that_hangs_or_is_missing_is_done_without(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\nsleep 100\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(git_state, "LIMIT_S", 0.05)
    started = time.monotonic()
    for path in (f"{fake.parent}:{os.environ['PATH']}", str(tmp_path)):
        state = await read_git(repository, {"PATH": path})
        assert state is not None and state.branch == "main" and state.changed is None and state.unread
    assert time.monotonic() - started < 60


async def test_a_linked_work_tree_and_packed_branches(tmp_path: Path, repository: Path) -> None:
    git(repository, "branch", "side/way")
    git(repository, "pack-refs", "--all")
    git(repository, "worktree", "add", "-q", str(tmp_path / "linked"), "side/way")
    (tmp_path / "linked" / "kept.py").write_text("x = 3\n")
    state = await read_git(tmp_path / "linked", ENV)
    assert state is not None and (state.branch, state.changed) == ("side/way", {"kept.py": ".M"})
    whole = await read_git(repository, ENV)
    assert whole is not None and state.commit == whole.commit


async def test_a_submodule_knows_its_own_state(tmp_path: Path, repository: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "a").write_text("a\n")
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "x")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    (repository / "sub" / "a").write_text("b\n")
    state = await read_git(repository / "sub", ENV)
    assert state is not None and state.changed == {"a": ".M"}


async def test_other_ways_that_a_repository_is_kept(tmp_path: Path) -> None:
    for number, (init, then) in enumerate(
        [
            (("--object-format=sha256",), ()),
            ((), ("update-index", "--split-index")),
            ((), ("config", "core.fileMode", "false")),
        ]
    ):
        root = tmp_path / str(number)
        root.mkdir()
        git(root, "init", "-q", *init)
        (root / "a").write_text("a\n")
        git(root, "add", ".")
        git(root, "commit", "-qm", "x")
        if then:
            git(root, *then)
        (root / "b").write_text("b\n")
        if "core.fileMode" in then:
            (root / "a").chmod(0o755)
        state = await read_git(root, ENV)
        assert state is not None and state.changed == {"b": "??"}, (init, then)


async def test_the_users_own_ignore_file_holds(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "mine").write_text("new*\n")
    (tmp_path / "gitconfig").write_text(f"[core]\n\texcludesFile = {tmp_path / 'mine'}\n[core]\n\tfsmonitor = false\n")
    (repository / ".git" / "info" / "exclude").write_text("*.log\n")
    (repository / "a.log").write_text("x")
    state = await read_git(repository, ENV | {"GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig")})
    assert state is not None
    assert state.changed == {"gone.py": ".D", "src/a.py": ".M", "staged.py": "A."}


async def test_a_view_is_used_again_and_made_anew_for_what_changed(repository: Path, tmp_path: Path) -> None:
    views = Views()
    first = await git_state.read_git(repository, ENV, views)
    made = [folder for folder, _ in views._known.values()]
    (repository / "new.txt").write_text("x")
    second = await git_state.read_git(repository, ENV, views)
    assert first is not None and second is not None and second.changed != first.changed
    assert [folder for folder, _ in views._known.values()] == made
    git(repository, "commit", "--allow-empty", "-qm", "next")
    third = await git_state.read_git(repository, ENV, views)
    assert third is not None and third.commit != second.commit
    (again,) = [folder for folder, _ in views._known.values()]
    assert again not in made and not Path(made[0]).exists()
    views.close()
    assert not Path(again).exists()
