from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from agent_core.errors import ToolError
from agent_core.tools.workspace import disk
from agent_core.tools.workspace.workspace import Workspace
from tests.support.suite.parts import lacking
from tests.support.system.rights import NOBODY, let_pass, somebody_else
from tests.support.tools.toolbox import Bench


def code_of(workspace: Workspace, path: str) -> str:
    with pytest.raises(ToolError) as caught:
        workspace.resolve(path)
    return caught.value.code


def test_paths_outside_the_roots_are_refused(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "root-neighbour").mkdir()
    (root / "up").symlink_to(tmp_path)
    (root / "etc").symlink_to("/etc")
    (root / "passwd").symlink_to("/etc/passwd")
    (root / "chain").symlink_to("sub/out")
    (root / "sub" / "out").symlink_to("../../root-neighbour")
    workspace = Workspace([root])
    for path in (
        "../x",
        "sub/../../x",
        "/etc/passwd",
        "etc/passwd",
        "passwd",
        "up/x",
        "chain/x",
        str(tmp_path / "root-neighbour"),
        "~/x/../../..",
    ):
        assert code_of(workspace, path) == "outside", path


def test_paths_inside_are_found_by_every_name(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to("sub")
    (tmp_path / "door").symlink_to(tmp_path, target_is_directory=True)
    workspace = Workspace([tmp_path / "door"])
    for path in (
        "sub/a.txt",
        "./sub//a.txt",
        "link/a.txt",
        str(tmp_path / "sub/a.txt"),
        str(tmp_path / "door/sub/a.txt"),
    ):
        at = workspace.resolve(path)
        assert (at.shown, at.path) == ("sub/a.txt", tmp_path.resolve() / "sub/a.txt")
    assert workspace.resolve("").shown == workspace.resolve(".").shown == "."


def test_paths_that_no_system_takes(tmp_path: Path) -> None:
    workspace = Workspace([tmp_path])
    assert code_of(workspace, "a\0b") == "bad_path"
    (tmp_path / "loop").symlink_to("loop")
    assert workspace.kind(workspace.resolve("loop")) in (None, "a symbolic link")
    assert workspace.kind(workspace.resolve("x" * 5000)) is None


def test_a_missing_root_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="nowhere: no such folder"):
        Workspace([tmp_path / "nowhere"])


# codex#2909, cline#13219, vscode#302904: only the first folder was seen or writable.
async def test_all_roots_are_read_and_written(tmp_path: Path) -> None:
    one, two, three = tmp_path / "one", tmp_path / "two", tmp_path / "deep" / "two"
    for root in (one, two, three):
        root.mkdir(parents=True)
        (root / "file.txt").write_text(f"{root.name}\n")
    (two / "only.txt").write_text("here\n")
    bench = Bench(one, two)
    assert (await bench.ok("read", path="file.txt")).startswith("file.txt lines 1-1")
    assert "two/file.txt lines 1-1" in await bench.ok("read", path="two/file.txt")
    assert "two/only.txt lines 1-1" in await bench.ok("read", path="only.txt")
    await bench.ok("edit", path="two/file.txt", old="two", new="2")
    assert (two / "file.txt").read_text() == "2\n"
    assert (await bench.ok("list")).split("\n") == ["file.txt", "two/file.txt", "two/only.txt"]
    assert "two/only.txt:1:here" in await bench.ok("search", pattern="here")
    same_name = Bench(one, two, three)
    assert str(three / "file.txt") in await same_name.ok("list")


# vscode#302904: a root that was removed during a turn stayed writable.
async def test_a_removed_root_is_closed_at_once(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    bench = Bench(one, two)
    (two / "a.txt").write_text("a\n")
    assert "a" in await bench.ok("read", path="two/a.txt")
    bench.workspace.change_roots([one])
    assert (await bench.refused("edit", path=str(two / "a.txt"), old="a", new="b")).startswith("outside")
    assert (two / "a.txt").read_text() == "a\n"


async def test_what_is_no_regular_file_is_never_opened(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "sock"))
        (tmp_path / "folder").mkdir()
        for name, kind in (("pipe", "a named pipe"), ("sock", "a socket")):
            for tool, arguments in (("read", {}), ("edit", {"old": "a", "new": "b"}), ("search", {"pattern": "a"})):
                assert kind in await bench.refused(tool, path=name, **arguments)
        assert "is a folder; use list" in await bench.refused("read", path="folder")
        assert (await bench.ok("list")) == "folder/"
        assert (await bench.ok("search", pattern="a")) == "0 hits"


async def test_devices_are_never_opened(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    try:
        os.mknod(tmp_path / "zero", 0o666 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        lacking("root", "making a device node")
    assert "zero: a device" in await bench.refused("read", path="zero")
    assert await bench.ok("search", pattern="a") == "0 hits"


async def test_unreadable_files_and_folders(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    bench = Bench(tmp_path)
    bench.write("open.txt", "word\n")
    bench.write("closed.txt", "word\n").chmod(0)
    bench.write("vault/inner.txt", "word\n")
    (tmp_path / "vault").chmod(0)
    let_pass(tmp_path)
    try:
        with somebody_else():
            assert (await bench.refused("read", path="closed.txt")) == "unreadable: closed.txt: permission denied"
            assert "permission denied" in await bench.refused("edit", path="closed.txt", old="word", new="x")
            assert await bench.ok("search", pattern="word") == "open.txt:1:word\n1 hit in 1 file"
            assert await bench.ok("list", depth=3) == "closed.txt\nopen.txt\nvault/"
    finally:
        (tmp_path / "vault").chmod(0o755)


async def test_large_and_growing_files_are_bounded(tmp_path: Path) -> None:
    workspace = Workspace([tmp_path], max_text_bytes=1000)
    (tmp_path / "large.txt").write_bytes(b"x" * 1001)
    with (tmp_path / "sparse.txt").open("wb") as file:
        file.truncate(1 << 40)
    for name in ("large.txt", "sparse.txt"):
        with pytest.raises(ToolError, match=f"{name} has .* the limit is 1,000") as caught:
            await workspace.read(name)
        assert caught.value.code == "too_large"


def test_a_link_that_is_swapped_in_after_the_check_leads_nowhere(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "a.txt").write_text("mine\n")
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "a.txt").write_text("secret\n")
    at = Workspace([root]).resolve("sub/a.txt")
    snapshot = disk.read_file(at.root, at.relative, at.shown, 100)
    (root / "sub").rename(root / "old")
    (root / "sub").symlink_to(secret)
    with pytest.raises(ToolError):
        disk.read_file(at.root, at.relative, at.shown, 100)
    with pytest.raises(ToolError):
        disk.replace_file(at.root, at.relative, at.shown, b"x", snapshot.digest)
    with pytest.raises(ToolError):
        disk.create_file(at.root, "sub/new.txt", "sub/new.txt", b"x", None)
    assert sorted(path.name for path in secret.iterdir()) == ["a.txt"]
    assert (secret / "a.txt").read_text() == "secret\n"


def test_a_write_keeps_mode_owner_and_attributes_and_leaves_no_temporary(tmp_path: Path) -> None:
    file = tmp_path / "run.sh"
    file.write_bytes(b"old")
    file.chmod(0o751)
    marked = True
    try:
        os.setxattr(file, "user.note", b"kept")
    except OSError:
        marked = False
    if os.geteuid() == 0:
        os.chown(file, NOBODY, NOBODY)
    before = file.stat()
    disk.replace_file(str(tmp_path), "run.sh", "run.sh", b"new", disk.digest_of(b"old"))
    after = file.stat()
    assert file.read_bytes() == b"new"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert not marked or os.getxattr(file, "user.note") == b"kept"
    assert [path.name for path in tmp_path.iterdir()] == ["run.sh"]


def test_a_write_through_a_link_changes_its_target_and_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_bytes(b"old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    at = Workspace([tmp_path]).resolve("link.txt")
    disk.replace_file(at.root, at.relative, at.shown, b"new", disk.digest_of(b"old"))
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_bytes() == b"new"


# claude-code#85948: a file that somebody else just wrote was overwritten.
def test_a_write_needs_the_base_it_was_made_from(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"theirs")
    with pytest.raises(ToolError) as caught:
        disk.replace_file(str(tmp_path), "a.txt", "a.txt", b"ours", disk.digest_of(b"older"))
    assert caught.value.code == "changed"
    with pytest.raises(ToolError) as caught:
        disk.create_file(str(tmp_path), "a.txt", "a.txt", b"ours", None)
    assert caught.value.code == "changed"
    with pytest.raises(ToolError) as caught:
        disk.remove_file(str(tmp_path), "a.txt", "a.txt", disk.digest_of(b"older"))
    assert caught.value.code == "changed"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert file.read_bytes() == b"theirs"


async def test_read_only_files_and_gits_own_stay(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.write("locked.txt", "a\n").chmod(0o444)
    bench.write(".git/hooks/pre-commit", "a\n")
    bench.write("sub/.git/config", "a\n")
    assert "read-only (mode 0444)" in await bench.refused("edit", path="locked.txt", old="a", new="b")
    for path in (".git/hooks/pre-commit", "sub/.git/config", ".GIT/hooks/new"):
        arguments = {"old": "" if path.startswith(".GIT") else "a", "new": "b"}
        assert "belongs to git" in await bench.refused("edit", path=path, **arguments)
    for path in (".git/hooks/pre-commit", "sub/.git/config"):
        assert "belongs to git" in await bench.refused("edit", path=path, old="a", new="b")
    assert "belongs to git" in await bench.refused("edit", path=".git/hooks/post-commit", old="", new="b")
    assert bench.bytes("locked.txt") == bench.bytes(".git/hooks/pre-commit") == b"a\n"


# opencode#4308, kiro#625: .env was read without a word.
@pytest.mark.parametrize("name", [".env", ".env.local", "prod.env", "sub/.ENV", "id_rsa", "tls.pem", ".ssh/config"])
async def test_secret_files_stay_closed_to_every_tool(tmp_path: Path, name: str) -> None:
    bench = Bench(tmp_path)
    bench.write(name, "TOKEN=123\n")
    bench.write(".env.example", "TOKEN=\n")
    (tmp_path / "innocent.txt").symlink_to(name)
    for path in (name, "innocent.txt"):
        assert "list of secret files" in await bench.refused("read", path=path)
        assert "list of secret files" in await bench.refused("edit", path=path, old="1", new="2")
        assert "list of secret files" in await bench.refused("search", pattern="TOKEN", path=path)
    assert "list of secret files" in await bench.refused(
        "patch", patch=f"*** Begin Patch\n*** Delete File: {name}\n*** End Patch"
    )
    found = await bench.ok("search", pattern="TOKEN")
    assert found == ".env.example:1:TOKEN=\n[secret files left out: 1]\n1 hit in 1 file"
    assert bench.bytes(name) == b"TOKEN=123\n"


async def test_what_the_own_ignore_file_names_is_closed(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.write(".looplineignore", "private/\n*.dump\n!open.dump\n")
    bench.write("sub/.looplineignore", "local.txt\n")
    bench.write(".gitignore", "built/\n")
    closed = ["private/a.txt", "private/deep/b.txt", "x.dump", "sub/y.dump", "sub/local.txt"]
    opened = ["open.dump", "local.txt", "built/c.txt"]
    for path in [*closed, *opened]:
        bench.write(path, "word\n")
    for path in closed:
        for tool, arguments in (("read", {}), ("edit", {"old": "word", "new": "x"}), ("search", {"pattern": "word"})):
            assert "is closed to tools by .looplineignore" in await bench.refused(tool, path=path, **arguments)
        assert bench.bytes(path) == b"word\n"
    for tool, arguments in (("list", {}), ("search", {"pattern": "word"})):
        assert "closed" in await bench.refused(tool, path="private", **arguments)
    for path in opened:
        await bench.ok("edit", path=path, old="word", new="other")
    assert "closed" in await bench.refused("edit", path="private/new.txt", old="", new="x")


async def test_names_with_newlines_and_raw_bytes_go_both_ways(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.write("two\nlines.txt", "word\n")
    bench.write(os.fsdecode(b"raw\xff.txt"), "word\n")
    bench.write('"quoted".txt', "word\n")
    names = (await bench.ok("list")).split("\n")
    assert names == ['"\\"quoted\\".txt"', '"raw\\udcff.txt"', '"two\\nlines.txt"']
    hits = (await bench.ok("search", pattern="word")).split("\n")
    assert hits == [*(f"{name}:1:word" for name in names), "3 hits in 3 files"]
    for name in names:
        assert (await bench.ok("read", path=name)).split("\n") == [f"{name} lines 1-1 of 1", "1\tword"]
        await bench.ok("edit", path=name, old="word", new="other")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["other\n"] * 3


async def test_the_bytes_of_a_created_file_are_as_given(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    old_mask = os.umask(0o027)
    try:
        await bench.ok("edit", path="a/b/c.txt", old="", new="x\r\ny\u2028\n")
    finally:
        os.umask(old_mask)
    assert bench.bytes("a/b/c.txt") == "x\r\ny\u2028\n".encode()
    assert (tmp_path / "a/b/c.txt").stat().st_mode & 0o777 == 0o640
    assert "changed" not in await bench.ok("edit", path="a/b/c.txt", old="y", new="z")
