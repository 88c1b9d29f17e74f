"""The list of what runs by itself, and where a repository keeps what."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agent_core.tools.workspace import git_places
from agent_core.tools.workspace.guarded import GUARDED, GuardRules


def git(folder: Path, *arguments: str) -> None:
    command = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run([*command, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize("name", sorted(GUARDED))
@pytest.mark.parametrize("form", ["{}", "deep/er/{}", "{}/below", "a/{}/b/c"])
def test_each_entry_is_guarded_at_any_depth_in_any_case(name: str, form: str) -> None:
    rules = GuardRules()
    for path in (form.format(name), form.format(name).upper()):
        found = rules.find(path)
        assert found is not None and found.why == GUARDED[name], path


@pytest.mark.parametrize(
    "path",
    ["", "a.py", ".github/ISSUE_TEMPLATE/bug.md", "workflows/a", "git", ".gitignore", ".env", "agents.mdx", "AGENTS"],
)
def test_what_is_not_on_the_list(path: str) -> None:
    assert GuardRules().find(path) is None


def test_files_that_the_user_named() -> None:
    rules = GuardRules(("Makefile", "./ci/", "*.tcl"))
    for path in ("Makefile", "sub/Makefile", "ci/run", "sub/x.tcl"):
        assert rules.find(path) is not None, path
    assert rules.find("a.py") is None and rules.find("cid") is None


def test_where_a_repository_keeps_what(tmp_path: Path) -> None:
    main, other = tmp_path / "main", tmp_path / "other"
    for folder in (main, other):
        folder.mkdir()
        git(folder, "init", "-q")
        git(folder, "commit", "-qm", "x", "--allow-empty")
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    git(main, "submodule", "add", "-q", str(other), "sub")
    plain = git_places.repository_at(str(main))
    assert plain is not None and plain.folder == plain.common == f"{main}/.git"
    tree = git_places.repository_at(str(tmp_path / "tree"))
    assert tree is not None and (tree.folder, tree.common) == (f"{main}/.git/worktrees/tree", f"{main}/.git")
    sub = git_places.repository_at(str(main / "sub"))
    assert sub is not None and sub.folder == sub.common == f"{main}/.git/modules/sub"
    (main / "below" / "deep").mkdir(parents=True)
    assert git_places.repository_around(str(main / "below" / "deep")) == plain
    code = git_places.code_of(plain.common)
    for name in ("config", "hooks", "modules/sub/config", "modules/sub/hooks", "worktrees/tree/commondir"):
        assert f"{main}/.git/{name}" in code


@pytest.mark.parametrize("what", ["worktree", "module", "folder", "link"])
def test_a_pointer_that_the_other_side_does_not_know_counts_for_nothing(tmp_path: Path, what: str) -> None:
    """A folder can't have another's repository written by claiming it."""
    victim, claim = tmp_path / "victim", tmp_path / "claim"
    victim.mkdir()
    claim.mkdir()
    git(victim, "init", "-q")
    git(victim, "commit", "-qm", "x", "--allow-empty")
    git(victim, "worktree", "add", "-q", str(tmp_path / "tree"))
    target = {"worktree": "worktrees/tree", "module": "", "folder": "objects", "link": ""}[what]
    if what == "link":
        (claim / ".git").symlink_to(victim / ".git")
    else:
        (claim / ".git").write_text(f"gitdir: {victim}/.git/{target}\n")
    assert git_places.repository_at(str(claim)) is None


@pytest.mark.parametrize(
    ("name", "text", "good"),
    [
        ("config", "", True),
        ("config", '[remote "o"]\n\turl = https://example.org/x\n[branch "m"]\n\tmerge = refs/heads/m\n', True),
        ("config", "[core]\n\tfsmonitor = ./x\n", False),
        ("config", "[core] fsmonitor = ./x\n", False),
        ("config", '[remote "o"]\n\tuploadpack = ./x\n', False),
        ("config", "[include]\n\tpath = ../x\n", False),
        ("config", "[core]\n\teditor\n", False),
        ("config", "[user]\n\tname = a \\\n", False),
        ("config.worktree", "", False),
        ("commondir", "../x", False),
        ("hooks/pre-commit", "x", False),
        ("hooks/pre-commit.sample", "x", True),
        ("modules/a/config", "[core]\n\tsshCommand = x\n", False),
    ],
)
def test_which_new_repository_runs_nothing(tmp_path: Path, name: str, text: str, good: bool) -> None:
    git(tmp_path, "init", "-q")
    if name.startswith("modules"):
        (tmp_path / ".git/modules").mkdir()
        git(tmp_path / ".git/modules", "init", "-q", "--bare", "a")
    file = tmp_path / ".git" / name
    file.parent.mkdir(exist_ok=True)
    with file.open("a") as opened:
        opened.write(text)
    assert git_places.inert(str(tmp_path / ".git"), frozenset()) == good


def test_programs_that_the_configuration_names_are_found(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    for name in ("hooks/x", "tools/clean.sh", "more.cfg", "plain"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    for key, value in (
        ("core.hooksPath", "hooks"),
        ("filter.a.clean", "./tools/clean.sh %f"),
        ("include.path", "../more.cfg"),
    ):
        git(tmp_path, "config", key, value)
    repository = git_places.repository_at(str(tmp_path))
    assert repository is not None
    assert git_places.named_in_config(repository) == [
        f"{tmp_path}/{name}" for name in ("hooks", "more.cfg", "tools/clean.sh")
    ]
