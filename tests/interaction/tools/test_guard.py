"""Commands can neither change nor make what runs by itself; what ordinary use of git needs goes on."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.tools.sandbox.guard import MAX_TOLD
from agent_core.tools.sandbox.sandbox import Found, find_sandbox
from agent_core.tools.workspace.guarded import GUARDED
from tests.support.suite.parts import lacking
from tests.support.tools.toolbox import BIN, Bench

pytestmark = pytest.mark.skipif(platform.system() != "Linux", reason="these sandboxes are Linux's")

NOWHERE = {**BIN, "PATH": "/nonexistent"}
GIT = "git -c user.name=x -c user.email=x@example.org -c protocol.file.allow=always"
NAMES = sorted(name if name != "agents.md" else "AGENTS.md" for name in GUARDED)
FILES = [name for name in NAMES if name.endswith((".lua", "rc", ".json", ".md", ".gitmodules", "ignore"))]


@pytest.fixture(params=["bubblewrap", "landlock"])
def found(request: pytest.FixtureRequest) -> Found:
    there = {each.kind: each for each in (find_sandbox(BIN), find_sandbox(NOWHERE))}.get(request.param)
    if there is None or not there.namespaces:
        lacking("bwrap" if request.param == "bubblewrap" else "unshare")
    return there


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    return {**BIN, "HOME": str(tmp_path / "home"), "XDG_STATE_HOME": str(tmp_path / "state")}


@pytest.fixture
async def bench(found: Found, tmp_path: Path, home: dict[str, str]) -> AsyncIterator[Bench]:
    (tmp_path / "root").mkdir()
    bench = Bench(tmp_path / "root", environment=home, sandbox=found)
    yield bench
    await bench.box.close()


def ran(argv: list[str], folder: Path) -> str:
    """What a program outside of any sandbox prints."""
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True).stdout


def git(folder: Path, script: str) -> None:
    whole = f'git() {{ command {GIT} "$@"; }}\n{script}'
    subprocess.run(["sh", "-ec", whole], cwd=folder, check=True, capture_output=True)


async def run(bench: Bench, command: str) -> tuple[str, int]:
    result = await bench.run("shell", command=command, timeout_s=60)
    return result.output, result.data["exit_code"]


def aside(tmp_path: Path) -> list[str]:
    return sorted(path.name.partition("-")[2] for path in (tmp_path / "state/loopline/set-aside").glob("*/*"))


async def test_nothing_that_runs_by_itself_can_be_made(bench: Bench, tmp_path: Path) -> None:
    places = [f"{place}{name}" for place in ("", "sub/deep/") for name in NAMES]
    files = [place if place.rpartition("/")[2] in FILES else f"{place}/hooks/pre-commit" for place in places]
    script = "\n".join(f"mkdir -p $(dirname {file}) && echo evil > {file}" for file in files)
    output, _ = await run(bench, f"{script}\necho kept > sub/deep/kept")
    for place in places:
        assert not (bench.root / place).exists(), output
    assert output.count("was made by a command and set aside") == min(len(places), MAX_TOLD)
    assert (bench.root / "sub/deep/kept").read_text() == "kept\n"
    assert aside(tmp_path) == sorted(place.rpartition("/")[2] for place in places), "nothing is lost"


@pytest.mark.parametrize(
    "way",
    [
        "echo evil > {file}",
        "rm -rf {entry}; mkdir -p $(dirname {file}); echo evil > {file}",
        "mv {entry} {folder}moved && cp -r {folder}moved {entry} && echo evil > {file}",
        "ln {file} {folder}hard && echo evil > {folder}hard",
        "cd {folder} && ln -s $(basename {entry}) s; echo evil > s/hooks/pre-commit; echo evil > s",
        "mv {entry} /tmp/$(echo {entry} | tr / _); mkdir -p $(dirname {file}); echo evil > {file}",
        "python3 -c 'import os; os.truncate(\"{file}\", 0)'",
        "mount -o remount,rw,bind {entry} && echo evil > {file}",
        "umount {entry} && echo evil > {file}",
        "unshare -rm sh -c 'umount {entry}; echo evil > {file}'",
        "echo evil | tee /proc/self/cwd/{file}",
        "sed -i s/good/evil/ {file}",
    ],
)
async def test_nothing_that_runs_by_itself_can_be_changed(bench: Bench, way: str) -> None:
    files: list[str] = []
    script: list[str] = []
    for number, name in enumerate(NAMES):
        for place in (f"{number}/", f"{number}/sub/"):
            (bench.root / place).mkdir(exist_ok=True)
            file = f"{place}{name}" if name in FILES else f"{place}{name}/hooks/pre-commit"
            if name == ".git":
                git(bench.root / place, "git init -q .")
            bench.write(file, "good\n")
            files.append(file)
            step = way.format(entry=f"{place}{name}", file=file, folder=place)
            script.append(f"( {step} )")
    output, _ = await run(bench, "\n".join(script))
    for file in files:
        assert (bench.root / file).read_text() == "good\n", (file, output)


async def test_folders_above_can_not_be_moved_away(bench: Bench) -> None:
    """What is nested deep is reached by renaming what is above it. What mv copied instead is set aside."""
    for number, above in enumerate(("a", "a/b", "a/b/c")):
        top = bench.root / str(number)
        for file in ("a/b/.git/hooks/pre-commit", "a/b/c/.github/workflows/pre-commit"):
            (top / file).parent.mkdir(parents=True)
        git(top / "a/b", "git init -q .")
        for file in ("a/b/.git/hooks/pre-commit", "a/b/c/.github/workflows/pre-commit"):
            (top / file).write_text("good\n")
        plant = f"mkdir -p $(dirname {file}); echo evil > {file}"
        output, _ = await run(bench, f"cd {number}; mv {above} away; {plant}; echo evil > a/b/.git/hooks/pre-commit")
        for left in top.rglob("pre-commit"):
            assert left.read_text() == "good\n", output
        assert not list(top.glob("away*/**/.git/hooks/pre-commit")), output


async def test_other_nested_ones_are_put_right_when_the_command_has_ended(bench: Bench, tmp_path: Path) -> None:
    bench.write("a/b/.envrc", "good\n")
    output, _ = await run(bench, "mv a away && mkdir -p a/b && echo evil > a/b/.envrc")
    assert not (bench.root / "a/b/.envrc").exists() and aside(tmp_path) == [".envrc"], output
    assert (bench.root / "away/b/.envrc").read_text() == "good\n", "moving a folder is no harm"


async def test_a_link_is_put_back(bench: Bench, tmp_path: Path) -> None:
    bench.write("config/envrc", "good\n")
    (bench.root / ".envrc").symlink_to("config/envrc")
    for way in ("rm .envrc; echo evil > .envrc", "ln -sf other .envrc", "rm .envrc", "echo evil > config/envrc"):
        output, _ = await run(bench, way)
        assert (bench.root / ".envrc").readlink() == Path("config/envrc"), output
        assert (bench.root / ".envrc").read_text() == "good\n", output


async def test_what_a_command_in_the_background_made_is_found_when_it_ends(
    found: Found, tmp_path: Path, home: dict[str, str]
) -> None:
    (tmp_path / "root").mkdir()
    bench = Bench(tmp_path / "root", environment=home, sandbox=found, background=True)
    await bench.run("shell", command="read line; echo evil > .envrc; echo done", background=True)
    result = await bench.run("process", id="p1", input="go\n", wait_s=20)
    assert "set aside" in result.output and not (bench.root / ".envrc").exists(), result.output
    await bench.box.close()


@pytest.mark.parametrize(
    "way",
    [
        "git config core.fsmonitor ./evil",
        "echo '[core] fsmonitor = ./evil' >> .git/config",
        "mv .git moved && cp -r moved .git && git config core.fsmonitor ./evil",
        "git config --worktree core.fsmonitor ./evil; echo '[core] fsmonitor = ./evil' > .git/config.worktree",
        "mkdir evil && cp .git/config evil/ && echo ../evil > .git/commondir",
        "git worktree add -q tree && echo '[core] fsmonitor = ./evil' > .git/worktrees/tree/config.worktree",
        "mkdir -p .git/modules && cd .git/modules && git init -q --bare x && git -C x config core.fsmonitor ./evil",
        "mkdir new && cd new && git init -q . && git config core.fsmonitor ./evil",
        "git init -q new && echo evil > new/.git/hooks/post-checkout",
        "mkdir new; echo 'gitdir: ../b' > new/.git; git init -q --bare b; git -C b config core.fsmonitor ./evil",
        "rm -rf .git; git init -q . && echo evil > .git/hooks/pre-commit && git config core.fsmonitor ./evil",
    ],
)  # fmt: skip
async def test_git_outside_runs_nothing_that_a_command_planted(bench: Bench, way: str) -> None:
    git(bench.root, "git init -q .; echo a > a; git add a; git commit -qm a")
    marker = bench.root.parent / "ran"
    bench.write("evil", f"#!/bin/sh\ntouch {marker}\n").chmod(0o755)
    for name in ("pre-commit", "post-checkout"):
        way = way.replace(f"echo evil > .git/hooks/{name}", f"cp evil .git/hooks/{name}")
    output, _ = await run(bench, way)
    for folder in [bench.root, *(path.parent for path in bench.root.rglob(".git"))]:
        for command in (["status"], ["commit", "-qm", "x", "--allow-empty"], ["checkout", "-q", "-f", "HEAD"]):
            ran([*GIT.split(), *command], folder)
    assert not marker.exists(), output


async def test_hooks_that_the_configuration_names_are_guarded_too(bench: Bench) -> None:
    git(bench.root, "git init -q .; mkdir tools; echo good > tools/pre-commit; git config core.hooksPath tools")
    await run(bench, "echo evil > tools/pre-commit; mv tools other; mkdir tools; echo evil > tools/pre-commit")
    assert (bench.root / "tools/pre-commit").read_text() == "good\n"


COMMIT = f"echo new > new && {GIT} add -A && {GIT} commit -qm new && git status --porcelain"


def make(place: str, top: Path) -> Path:
    """A folder of that kind, which is to be the workspace."""
    top.mkdir()
    git(top, "git init -q -b main .; mkdir -p sub/deep; echo a > a; echo b > sub/deep/b; git add -A; git commit -qm a")
    if place == "worktree":
        git(top, "git worktree add -q ../tree")
        return top.parent / "tree"
    if place == "submodule":
        git(top.parent, "git clone -q main other")
        git(top, "git submodule add -q ../other module; git commit -qm module")
        return top / "module"
    return {"plain": top, "subfolder": top / "sub", "deep": top / "sub/deep"}[place]


@pytest.mark.parametrize("place", ["plain", "worktree", "subfolder", "deep", "submodule"])
async def test_git_add_and_commit_work(found: Found, tmp_path: Path, home: dict[str, str], place: str) -> None:
    root = make(place, tmp_path / "main")
    bench = Bench(root, environment=home, sandbox=found)
    try:
        output, code = await run(bench, COMMIT)
        assert (code, output) == (0, "exit code: 0"), output
        assert ran(["git", "log", "--format=%s", "-1", "--", "new"], root) == "new\n"
        more = f"git checkout -q -b other && {GIT} commit -q --amend -m other && {GIT} tag t && git gc -q"
        output, code = await run(bench, more)
        assert code == 0, output
        common = ran(["git", "rev-parse", "--path-format=absolute", "--git-common-dir"], root).strip()
        for way in (
            "echo evil > {}/hooks/pre-commit",
            "echo '[a]' >> {}/config",
            "git config a.b c",
            "rm -rf {}/hooks",
            "mv {} {}2",
        ):
            output, code = await run(bench, way.replace("{}", common))
            assert code != 0, (way, output)
        assert not Path(common, "hooks/pre-commit").exists() and "[a]" not in Path(common, "config").read_text()
    finally:
        await bench.box.close()


async def test_a_new_repository_may_be_made_and_is_guarded_from_then_on(bench: Bench) -> None:
    output, code = await run(bench, f"git init -q . && {COMMIT} && git init -q inner")
    assert code == 0 and (bench.root / ".git/HEAD").exists() and (bench.root / "inner/.git/HEAD").exists(), output
    output, code = await run(bench, "git config core.fsmonitor x")
    assert code != 0 and "fsmonitor" not in (bench.root / ".git/config").read_text()


async def test_other_folders_of_the_repository_stay_closed(found: Found, tmp_path: Path, home: dict[str, str]) -> None:
    root = make("subfolder", tmp_path / "main")
    bench = Bench(root, environment=home, sandbox=found)
    try:
        output, code = await run(bench, "echo x > ../a")
        assert code != 0 and (tmp_path / "main/a").read_text() == "a\n", output
        await run(bench, COMMIT)
        names = ran(["git", "ls-files"], root.parent).split()
        assert names == ["a", "sub/deep/b", "sub/new"], "what is outside of the workspace is seen"
    finally:
        await bench.box.close()


async def test_files_with_keys_that_are_tracked_are_not_committed_away(bench: Bench) -> None:
    old = "touch -d '2 hours ago' .env certs/x.pem"
    git(
        bench.root,
        f"git init -q .; echo KEY > .env; mkdir certs; echo PEM > certs/x.pem; {old}; git add -A; git commit -qm a",
    )
    bench.write("more.key", "untracked")
    output, code = await run(bench, f"cat .env certs/x.pem; {COMMIT}")
    shown = ran(["git", "show", "HEAD:.env", "HEAD:certs/x.pem", "HEAD:new"], bench.root)
    assert (code, shown) == (0, "KEY\nPEM\nnew\n"), output
    assert "KEY" not in output and "PEM" not in output
    assert ran(["git", "status", "--porcelain"], bench.root) == "?? more.key\n"
    bench.write(".env", "CHANGED")
    output, code = await run(bench, COMMIT.replace("new", "newer"))
    assert code != 0 and ran(["git", "show", "HEAD:.env"], bench.root) == "KEY\n", "git refuses, and says which file"
    assert ".env" in output
