"""Undoing turns on real files: edits, commands, others' later changes, several roots, and what the store keeps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_core.agent.checkpoints import checkpoints as checkpoints_module
from agent_core.agent.checkpoints import scan
from agent_core.agent.checkpoints.checkpoints import MAX_NAMED, TOO_LARGE, UNSEEN, Checkpoints
from agent_core.agent.checkpoints.store import Side, Step, Store, prune
from agent_core.agent.checkpoints.undo import (
    CHANGED,
    GONE,
    NO_ROOT,
    NOT_KEPT,
    OTHER_MODE,
    SAME_LINES,
    TAKEN,
    Restored,
    UndoReport,
    undo,
)
from agent_core.tools.port import ToolContext
from agent_core.tools.standard import standard_toolbox
from agent_core.tools.workspace.changes import MAX_BY_COMMANDS
from agent_core.tools.workspace.disk import digest_of
from agent_core.tools.workspace.workspace import Workspace
from tests.support.tools.toolbox import BIN

ROOM = 64_000_000
TEN = "".join(f"line {number}\n" for number in range(1, 11))


class Desk:
    """A workspace with tools and checkpoints, as a session has them."""

    def __init__(self, state: Path, *roots: Path, room: int = ROOM, session: str = "s") -> None:
        self.roots = roots
        for root in roots:
            root.mkdir(exist_ok=True)
        self.workspace = Workspace(roots)
        self.store = Store(state / "checkpoints", session, room)
        self.checkpoints = Checkpoints(self.store, self.workspace)
        self.box = standard_toolbox(self.workspace, python=sys.executable, environment=BIN)
        self._undone = 0

    async def __aenter__(self) -> Desk:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.box.close()
        self.store.close()

    def write(self, path: str, content: str | bytes, root: int = 0) -> Path:
        file = self.roots[root] / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def text(self, path: str, root: int = 0) -> str | None:
        file = self.roots[root] / path
        return file.read_bytes().decode() if file.exists() else None

    async def tool(self, turn: str, name: str, **arguments: object) -> None:
        with self.checkpoints.recording(turn):
            result = await self.box.run(name, json.dumps(arguments), ToolContext(tool_call="c"))
            assert result.status == "ok", result.output

    async def shell(self, turn: str, command: str) -> None:
        with self.checkpoints.recording(turn):
            async with self.checkpoints.command():
                await self.tool(turn, "shell", command=command)

    async def undo(self, turn: str) -> UndoReport:
        self._undone += 1
        return await undo(self.checkpoints, self.workspace, turn, f"undo{self._undone}")


@pytest.fixture
async def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "state", tmp_path / "root", tmp_path / "other")


def clean(report: UndoReport) -> tuple[Restored, ...]:
    assert report.conflicts == () and report.not_covered == ()
    return report.restored


async def test_an_edit_is_taken_back_and_the_undoing_too(desk: Desk) -> None:
    async with desk:
        desk.write("a.txt", TEN)
        await desk.tool("t1", "edit", path="a.txt", old="line 3", new="LINE 3")
        report = await desk.undo("t1")
        assert clean(report) == (Restored("a.txt", "changed"),)
        assert desk.text("a.txt") == TEN
        assert report.undo is not None
        again = await desk.undo(report.undo)
        assert clean(again) == (Restored("a.txt", "changed"),)
        assert desk.text("a.txt") == TEN.replace("line 3", "LINE 3")
        assert again.undo is not None
        clean(await desk.undo(again.undo))
        assert desk.text("a.txt") == TEN


async def test_what_the_user_wrote_later_stays(desk: Desk) -> None:
    async with desk:
        desk.write("a.txt", TEN)
        await desk.tool("t1", "edit", path="a.txt", old="line 3\n", new="LINE 3\nmore\n")
        desk.write("a.txt", (desk.text("a.txt") or "").replace("line 9", "mine") + "my end\n")
        assert clean(await desk.undo("t1")) == (Restored("a.txt", "changed"),)
        assert desk.text("a.txt") == TEN.replace("line 9", "mine") + "my end\n"


async def test_what_the_user_wrote_between_two_edits_stays(desk: Desk) -> None:
    async with desk:
        desk.write("a.txt", TEN)
        await desk.tool("t1", "edit", path="a.txt", old="line 2", new="LINE 2")
        desk.write("a.txt", (desk.text("a.txt") or "").replace("line 5", "mine"))
        await desk.tool("t1", "read", path="a.txt")
        await desk.tool("t1", "edit", path="a.txt", old="line 8", new="LINE 8")
        clean(await desk.undo("t1"))
        assert desk.text("a.txt") == TEN.replace("line 5", "mine")


async def test_a_conflict_is_listed_and_the_rest_is_taken_back(desk: Desk) -> None:
    async with desk:
        desk.write("a.txt", TEN)
        await desk.tool("t1", "edit", path="a.txt", old="line 2", new="LINE 2")
        await desk.tool("t1", "edit", path="a.txt", old="line 7", new="LINE 7")
        desk.write("a.txt", (desk.text("a.txt") or "").replace("LINE 7", "LINE 7, by me"))
        report = await desk.undo("t1")
        assert desk.text("a.txt") == TEN.replace("line 7", "LINE 7, by me")
        assert report.restored == (Restored("a.txt", "changed"),)
        (conflict,) = report.conflicts
        assert (conflict.path, conflict.reason, conflict.first, conflict.last) == ("a.txt", SAME_LINES, 7, 7)


async def test_a_change_that_the_user_took_back_already_is_no_conflict(desk: Desk) -> None:
    async with desk:
        desk.write("a.txt", TEN)
        await desk.tool("t1", "edit", path="a.txt", old="line 2", new="LINE 2")
        desk.write("a.txt", TEN)
        report = await desk.undo("t1")
        assert clean(report) == () and report.undo is None


async def test_a_created_file_and_its_folders_go_unless_somebody_wrote_into_it(desk: Desk) -> None:
    async with desk:
        await desk.tool("t1", "edit", path="new/deep/a.txt", old="", new="one\n")
        await desk.tool("t1", "edit", path="b.txt", old="", new="one\n")
        desk.write("b.txt", "one\nmine\n")
        report = await desk.undo("t1")
        assert report.restored == (Restored("new/deep/a.txt", "removed"),)
        assert [(each.path, each.reason) for each in report.conflicts] == [("b.txt", CHANGED)]
        assert not (desk.roots[0] / "new").exists() and desk.text("b.txt") == "one\nmine\n"


async def test_a_patch_over_several_files_comes_back_whole(desk: Desk) -> None:
    async with desk:
        desk.write("a.txt", TEN)
        desk.write("b.txt", "b\n").chmod(0o640)
        patch = (
            "*** Begin Patch\n*** Update File: a.txt\n@@\n-line 4\n+LINE 4\n*** Delete File: b.txt\n"
            "*** Add File: c.txt\n+c\n*** End Patch"
        )
        await desk.tool("t1", "patch", patch=patch)
        assert len(clean(await desk.undo("t1"))) == 3
        assert (desk.text("a.txt"), desk.text("b.txt"), desk.text("c.txt")) == (TEN, "b\n", None)
        assert (desk.roots[0] / "b.txt").stat().st_mode & 0o777 == 0o640


async def test_commands_are_covered_with_deletions_renames_modes_and_folders(desk: Desk) -> None:
    async with desk:
        desk.write("gone.txt", "gone\n")
        desk.write("old.txt", TEN)
        desk.write("run.sh", "echo\n").chmod(0o644)
        desk.write("data.bin", b"\0\1\2")
        desk.write("kept.txt", "kept\n")
        await desk.shell(
            "t1",
            "rm gone.txt; mv old.txt new.txt; chmod 755 run.sh; mkdir -p x/y; echo made > x/y/z;"
            "printf '\\0\\3' > data.bin",
        )
        found = clean(await desk.undo("t1"))
        assert {(each.path, each.what) for each in found} == {
            ("gone.txt", "recreated"),
            ("old.txt", "renamed"),
            ("run.sh", "mode"),
            ("x/y/z", "removed"),
            ("data.bin", "changed"),
        }
        assert sorted(entry.name for entry in desk.roots[0].iterdir()) == [
            "data.bin",
            "gone.txt",
            "kept.txt",
            "old.txt",
            "run.sh",
        ]
        assert (desk.roots[0] / "data.bin").read_bytes() == b"\0\1\2"
        assert (desk.roots[0] / "run.sh").stat().st_mode & 0o777 == 0o644


async def test_undoing_what_commands_did_can_be_undone(desk: Desk) -> None:
    async with desk:
        desk.write("old.txt", TEN)
        desk.write("run.sh", "echo\n").chmod(0o644)
        await desk.shell("t1", "mv old.txt new.txt; chmod 755 run.sh; echo a > b.txt")
        report = await desk.undo("t1")
        assert report.undo is not None
        clean(await desk.undo(report.undo))
        assert (desk.text("old.txt"), desk.text("new.txt"), desk.text("b.txt")) == (None, TEN, "a\n")
        assert (desk.roots[0] / "run.sh").stat().st_mode & 0o777 == 0o755


async def test_what_was_written_into_a_renamed_file_moves_back_with_it(desk: Desk) -> None:
    async with desk:
        desk.write("old.txt", TEN)
        await desk.shell("t1", "mv old.txt new.txt")
        desk.write("new.txt", TEN + "mine\n")
        clean(await desk.undo("t1"))
        assert (desk.text("old.txt"), desk.text("new.txt")) == (TEN + "mine\n", None)


async def test_conflicts_with_names_modes_and_binary_contents(desk: Desk) -> None:
    async with desk:
        desk.write("gone.txt", "gone\n")
        desk.write("old.txt", TEN)
        desk.write("lost.txt", "a\n")
        desk.write("run.sh", "echo\n").chmod(0o644)
        desk.write("data.bin", b"\0\1\2")
        await desk.shell(
            "t1", "rm gone.txt; mv old.txt new.txt; chmod 755 run.sh; printf '\\0\\3' > data.bin; echo b > lost.txt"
        )
        desk.write("gone.txt", "mine\n")
        desk.write("old.txt", "mine\n")
        (desk.roots[0] / "run.sh").chmod(0o700)
        desk.write("data.bin", b"\0mine")
        (desk.roots[0] / "lost.txt").unlink()
        report = await desk.undo("t1")
        assert report.restored == () and report.undo is None
        assert {(each.path, each.reason) for each in report.conflicts} == {
            ("gone.txt", TAKEN),
            ("old.txt", TAKEN),
            ("run.sh", OTHER_MODE),
            ("data.bin", CHANGED),
            ("lost.txt", GONE),
        }
        assert desk.text("old.txt") == desk.text("gone.txt") == "mine\n" and desk.text("new.txt") == TEN


async def test_a_cancelled_command_is_covered_too(desk: Desk) -> None:
    async with desk:
        desk.write("a.txt", TEN)
        with pytest.raises(RuntimeError), desk.checkpoints.recording("t1"):
            async with desk.checkpoints.command():
                (desk.roots[0] / "a.txt").unlink()
                raise RuntimeError
        clean(await desk.undo("t1"))
        assert desk.text("a.txt") == TEN


async def test_all_roots_are_covered_and_a_root_that_left_is_not_written(desk: Desk) -> None:
    async with desk:
        desk.write("a.txt", TEN, root=1)
        desk.write("b.txt", TEN)
        await desk.tool("t1", "edit", path=str(desk.roots[1] / "a.txt"), old="line 3", new="LINE 3")
        await desk.shell("t1", f"rm b.txt; echo new > '{desk.roots[1]}/c.txt'")
        clean(await desk.undo("t1"))
        assert (desk.text("a.txt", 1), desk.text("b.txt"), desk.text("c.txt", 1)) == (TEN, TEN, None)
        await desk.tool("t2", "edit", path=str(desk.roots[1] / "a.txt"), old="line 3", new="LINE 3")
        desk.workspace.change_roots([desk.roots[0]])
        report = await desk.undo("t2")
        assert [each.reason for each in report.conflicts] == [NO_ROOT]
        assert desk.text("a.txt", 1) == TEN.replace("line 3", "LINE 3")


# codex#19205, #3567, cline#5598: undo needed git, said done and did nothing, or left .git renamed.
async def test_git_is_neither_needed_nor_touched(desk: Desk) -> None:
    async with desk:
        root = desk.roots[0]
        desk.write("a.txt", TEN)
        _repository(root)
        before = _tree(root / ".git")
        await desk.tool("t1", "edit", path="a.txt", old="line 3", new="LINE 3")
        await desk.shell("t1", "rm a.txt; echo x > y")
        clean(await desk.undo("t1"))
        assert desk.text("a.txt") == TEN and _tree(root / ".git") == before
        assert not any(desk.roots[0].glob("*checkpoint*"))


async def test_secrets_and_ignored_files_are_not_copied(desk: Desk, tmp_path: Path) -> None:
    async with desk:
        desk.write(".env", "TOKEN=very-secret-text\n")
        desk.write(".gitignore", "build/\n")
        desk.write("build/out", "built-text\n")
        await desk.shell("t1", "echo x >> .env; echo x >> build/out")
        assert desk.checkpoints.steps("t1") == []
        assert desk.store.get(_digest("TOKEN=very-secret-text\n")) is None


async def test_encodings_and_line_ends_come_back_byte_by_byte(desk: Desk) -> None:
    contents = {
        "latin": "é1\r\nx\r\nz\r\n".encode("latin-1"),
        "bom": b"\xef\xbb\xbfa\nx\nz\n",
        "wide": "a\nx\nz\n".encode("utf-16"),
        "mixed": b"a\r\nx\nz\r",
    }
    async with desk:
        for name, data in contents.items():
            desk.write(name, data)
            await desk.tool("t1", "edit", path=name, old="x", new="y")
        assert len(clean(await desk.undo("t1"))) == 4
        for name, data in contents.items():
            assert (desk.roots[0] / name).read_bytes() == data


async def test_a_turn_of_an_earlier_process_can_be_undone(tmp_path: Path) -> None:
    async with Desk(tmp_path / "state", tmp_path / "root") as first:
        first.write("a.txt", TEN)
        await first.tool("t1", "edit", path="a.txt", old="line 3", new="LINE 3")
    log = tmp_path / "state" / "checkpoints" / "s.log"
    with log.open("ab") as file:
        file.write(b'{"kind":"step","n":9,"tur')
    async with Desk(tmp_path / "state", tmp_path / "root") as second:
        await second.tool("t2", "edit", path="a.txt", old="line 5", new="LINE 5")
        clean(await second.undo("t1"))
        assert second.text("a.txt") == TEN.replace("line 5", "LINE 5")


async def test_a_write_that_was_refused_is_no_step(desk: Desk) -> None:
    async with desk:
        file = desk.write("a.txt", TEN)
        file.chmod(0o444)
        with desk.checkpoints.recording("t1"):
            result = await desk.box.run(
                "edit", '{"path": "a.txt", "old": "line 3", "new": "x"}', ToolContext(tool_call="c")
            )
        assert result.data["code"] == "read_only"
        assert desk.checkpoints.steps("t1") == []


async def test_without_room_nothing_is_kept_and_everything_works(tmp_path: Path) -> None:
    async with Desk(tmp_path / "state", tmp_path / "root", room=0) as desk:
        desk.write("a.txt", TEN)
        await desk.tool("t1", "edit", path="a.txt", old="line 3", new="LINE 3")
        report = await desk.undo("t1")
        assert [each.reason for each in report.conflicts] == [NOT_KEPT]
        assert not (tmp_path / "state").exists()


# cline#4388: checkpoints filled the disk.
async def test_a_session_gives_up_its_oldest_turns_for_new_ones(tmp_path: Path) -> None:
    async with Desk(tmp_path / "state", tmp_path / "root", room=200_000) as desk:
        for number in range(12):
            desk.write(f"{number}.bin", os.urandom(9_000).hex() + "\nend\n")
            await desk.tool(f"t{number}", "edit", path=f"{number}.bin", old="end", new="END")
        assert (tmp_path / "state/checkpoints/s.pack").stat().st_size <= 100_000
        assert not desk.checkpoints.knows("t0")
        clean(await desk.undo("t11"))
        assert (desk.text("11.bin") or "").endswith("\nend\n")


def test_old_sessions_make_room_but_never_one_that_is_hosted(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    stores = {}
    for age, name in enumerate(("oldest", "hosted", "newest")):
        store = stores[name] = Store(folder, name, ROOM)
        assert store.put(name, os.urandom(50_000))
        store.add(Step(n=1, turn="t", root="/r", path="p", before=None, after=Side(name, None, True)))
        os.utime(folder / f"{name}.log", (age, age))
    stores["oldest"].close()
    stores["newest"].close()
    prune(folder, 60_000)
    assert {path.stem for path in folder.iterdir()} == {"hosted"}
    assert stores["hosted"].get("hosted") is not None
    stores["hosted"].close()


def _repository(root: Path) -> None:
    git = ["git", "-C", str(root), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *command], check=True, env={**BIN, "HOME": str(root.parent)})


def _tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _digest(content: str) -> str:
    return digest_of(content.encode()).hex()


async def test_what_a_command_did_is_named_and_counted_within_bounds(desk: Desk) -> None:
    desk.write("old.txt", TEN)
    desk.write(".gitignore", "ignored/\n")
    desk.write(".env", "KEY=1\n")
    async with desk:
        with desk.checkpoints.recording("t"):
            async with desk.checkpoints.command() as found:
                desk.write("old.txt", TEN.replace("line 3", "line three"))
                desk.write(".env", "KEY=2\n")
                desk.write("ignored/x", "x")
                desk.write("there.txt", "there\n", root=1)
                for number in range(MAX_NAMED + 5):
                    desk.write(f"many/{number:03}", "many\n")
        changes = {change.path: change for change in await desk.workspace.net_changes()}
    assert (len(found.paths), found.more) == (MAX_NAMED, 7)
    assert (len(changes), desk.workspace.changes.left_out) == (MAX_BY_COMMANDS, 7)
    assert not {".env", "ignored/x"} & (changes.keys() | set(found.paths))
    assert {change.by for change in changes.values()} == {"command"}
    assert changes["many/000"].diff == "--- /dev/null\n+++ b/many/000\n@@ -0,0 +1 @@\n+many\n"


async def test_beyond_what_is_kept_changes_are_named_but_not_undone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "MAX_FILES", 2)
    monkeypatch.setattr(checkpoints_module, "MAX_FILES", 2)
    for name in "abcde":
        desk.write(f"{name}.txt", name)
    with desk.checkpoints.recording("t1"):
        async with desk.checkpoints.command() as found:
            desk.write("a.txt", "A")
            desk.write("e.txt", "E")
            (desk.roots[0] / "d.txt").unlink()
        assert found.paths == ("a.txt", "d.txt", "e.txt")
        byte = desk.write("b.txt", "by the user").stat().st_ctime_ns
        monkeypatch.setattr("time.time_ns", lambda: byte + 2 * checkpoints_module.SLACK_NS)
        async with desk.checkpoints.command() as found:
            pass
        assert found.paths == ()
        monkeypatch.undo()
    report = await desk.undo("t1")
    assert desk.text("a.txt") == "a"
    assert {conflict.reason for conflict in report.conflicts} == {NOT_KEPT}
    assert desk.text("e.txt") == "E"


async def test_a_tree_too_large_to_look_at_is_said_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "MAX_STAMPED", 2)
    said: list[str] = []
    checkpoints = Checkpoints(desk.store, desk.workspace, said.append)
    for name in "abc":
        desk.write(f"{name}.txt", name)
    with checkpoints.recording("t1"):
        for _ in range(2):
            async with checkpoints.command() as found:
                desk.write("a.txt", "A")
            assert found.paths == ()
    assert said == [UNSEEN]
    assert checkpoints.gaps("t1") == [TOO_LARGE]


async def test_a_file_that_a_command_changed_back_is_no_change(desk: Desk) -> None:
    desk.write("text", TEN)
    desk.write("binary", b"\0\1")
    async with desk:
        for last in (2, 1):
            await desk.shell("t", f"printf '\\0\\{last}' > binary; echo >> text")
            changes = [(change.path, change.diff == "", change.by) for change in await desk.workspace.net_changes()]
            expected = [("binary", True, "command")] if last == 2 else []
            assert changes == [*expected, ("text", False, "command")]
