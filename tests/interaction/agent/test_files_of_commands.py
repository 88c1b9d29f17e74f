"""What commands of a turn did to files is told as the agent's own edits are, and apart from them: in `loopline run`, in
an editor, in another process that watches; and undone."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.interaction.lsp.conftest import with_answers
from tests.support.lsp.client import Json, stdio
from tests.support.lsp.puppet import puppet, puppet_env, steps
from tests.support.system.cli import Done, loopline, started

COMMAND = (
    "echo made > made.txt; echo 'a = 2' > old.py; rm gone.txt; printf '\\0\\1' > logo.bin; echo x > ignored.txt; "
    "mkdir -p sub; echo 'from = 1' >> both.py; echo k > sub/id_rsa"
)
EDIT = {"call": "edit", "args": {"path": "other.py", "old": "x = 1", "new": "x = 2"}}
BOTH = {"call": "edit", "args": {"path": "both.py", "old": "y = 1", "new": "y = 2"}}
SHELL = {"call": "shell", "args": {"command": COMMAND}}
TASK = steps(EDIT, BOTH, SHELL, {"text": "done"})
BY_COMMAND = ["gone.txt", "logo.bin", "made.txt", "old.py"]
BY = {"other.py": "edit", "both.py": "both", **dict.fromkeys(BY_COMMAND, "command")}


def project(folder: Path) -> Path:
    folder.mkdir()
    texts = {"old.py": "a = 1\n", "gone.txt": "gone\n", "other.py": "x = 1\n", "both.py": "y = 1\n"}
    for name, text in {**texts, ".gitignore": "ignored.txt\n"}.items():
        (folder / name).write_text(text)
    return folder


def files(folder: Path) -> dict[str, bytes]:
    kept = ("ignored.txt", "id_rsa")
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name not in kept}


async def test_a_run_tells_them_in_its_events_its_summary_and_its_last_diff(tmp_path: Path) -> None:
    root = project(tmp_path / "project")
    async with puppet() as model:
        env = puppet_env(tmp_path / "home", model, LOOPLINE_APPROVE="auto")
        done: Done = await asyncio.to_thread(loopline, "run", TASK, "-w", str(root), "--json", env=env)
        shown: Done = await asyncio.to_thread(loopline, "run", TASK, "-w", str(project(tmp_path / "again")), env=env)
    assert done.code == shown.code == 0, (done.err, shown.err)
    assert done.summary["files_changed"] == sorted(BY)
    assert done.summary["files_by_command"] == sorted([*BY_COMMAND, "both.py"])
    edit, _, command = (line for line in done.lines if line["type"] == "tool.finished")
    assert edit["filesChanged"] == ["other.py"] and "by" not in edit
    assert (command["filesChanged"], command["by"]) == (sorted([*BY_COMMAND, "both.py"]), "command")
    for words in ("made.txt: by a command\n--- /dev/null\n+++ b/made.txt", "gone.txt: by a command\n--- a/gone.txt"):
        assert words in shown.out
    assert "logo.bin: by a command (no text, or too large for a diff)" in shown.out
    assert "both.py: edited, and changed by a command" in shown.out and "-a = 1\n+a = 2" in shown.out
    assert "other.py: " not in shown.out and "diff: 6 files, +5 -4" in shown.out


async def test_an_editor_sees_them_and_takes_them_back(tmp_path: Path) -> None:
    root = project(tmp_path / "project")
    before = files(root)
    async with puppet() as model, stdio(puppet_env(tmp_path, model, LOOPLINE_APPROVE="auto")) as client:
        with_answers(client)
        await client.initialize(root)
        end = await client.turn(TASK)
        turn = {"turnId": end["turnId"]}
        told = await client.until(lambda: _by(client.events("diff", **turn)[-1:]) == BY and client.events("diff")[-1])
        assert next(file for file in told["files"] if file["path"] == "made.txt")["diff"].endswith("+made\n")
        found = await client.request("loopline/turn.changes", {"sessionId": end["sessionId"], **turn})
        assert _by([found]) == BY
        logo = next(file for file in found["files"] if file["path"] == "logo.bin")
        assert (logo.get("diff", ""), logo["exists"]) == ("", True)
        await client.command("loopline.turn.undo", turn)
        undone = await client.event("turn.undone", **turn)
    assert sorted(undone["restored"]) == sorted(BY) and undone["conflicts"] == []
    assert files(root) == before


async def test_a_process_that_said_its_task_to_another_one_tells_them(tmp_path: Path) -> None:
    root = project(tmp_path / "project")
    async with puppet() as model:
        env = puppet_env(tmp_path / "home", model, LOOPLINE_APPROVE="auto")
        task = steps({"hold": "here", "text": "one"}, EDIT, BOTH, SHELL, {"text": "two"})
        host = started("run", task, "-w", str(root), "--json", env=env)
        assert host.stdout is not None
        await model.reached("here")
        lines: list[dict[str, Any]] = [{"type": ""}]
        while lines[-1]["type"] != "turn.started":
            lines.append(json.loads(await asyncio.to_thread(host.stdout.readline)))
        session = next(line["sessionId"] for line in lines if line["type"] == "session.opened")
        resumed = ("run", "and this", "--resume", session, "--json")
        said = asyncio.create_task(asyncio.to_thread(loopline, *resumed, env=env))
        while lines[-1]["type"] != "input":
            lines.append(json.loads(await asyncio.to_thread(host.stdout.readline)))
        model.release("here")
        done: Done = await said
        await asyncio.to_thread(host.communicate, timeout=60)
    assert done.summary["files_changed"] == sorted(BY)
    assert done.summary["files_by_command"] == sorted([*BY_COMMAND, "both.py"])


MANY = 10_050
"""More files than are kept for undo."""


async def test_in_a_large_tree_they_are_told_all_the_same(tmp_path: Path) -> None:
    root = project(tmp_path / "project")
    for folder in range(MANY // 150):
        (root / f"d{folder:03}").mkdir()
        for name in range(150):
            (root / f"d{folder:03}" / f"{name:03}.txt").write_text("x\n")
    command = "rm d066/149.txt; echo y > d066/148.txt; echo new > d066/new.txt; echo 'a = 2' > old.py"
    again = "echo z > d066/147.txt"
    task = steps(
        {"call": "shell", "args": {"command": command}},
        {"call": "shell", "args": {"command": again}},
        {"text": "done"},
    )
    async with puppet() as model:
        env = puppet_env(tmp_path / "home", model, LOOPLINE_APPROVE="auto")
        done: Done = await asyncio.to_thread(loopline, "run", task, "-w", str(root), "--json", env=env)
    assert done.code == 0, done.err
    names = [f"d066/{name}.txt" for name in ("147", "148", "149", "new")]
    assert done.summary["files_by_command"] == [*names, "old.py"]


async def test_a_command_in_the_background_is_told_until_the_turn_ends(tmp_path: Path) -> None:
    root = project(tmp_path / "project")
    command = "echo early > early.txt; read line; echo $line > later.txt; read line; echo end > end.txt; sleep 100"
    task = steps(
        {"call": "shell", "args": {"command": command, "background": True}},
        EDIT,
        {"call": "process", "args": {"id": "p1", "input": "one\n", "wait_s": 1}},
        {"call": "process", "args": {"id": "p1", "input": "two\n"}},
        {"call": "shell", "args": {"command": "while [ ! -e end.txt ]; do sleep 0.05; done"}},
        {"text": "done"},
    )
    async with puppet() as model:
        env = puppet_env(tmp_path / "home", model, LOOPLINE_APPROVE="auto")
        done: Done = await asyncio.to_thread(loopline, "run", task, "-w", str(root), "--json", env=env)
    assert done.code == 0, done.err
    assert done.summary["files_changed"] == ["early.txt", "end.txt", "later.txt", "other.py"]
    assert done.summary["files_by_command"] == ["early.txt", "end.txt", "later.txt"]
    notices = [line["text"] for line in done.lines if line["type"] == "notice"]
    assert any("p1 goes on in the background" in text for text in notices)


def _by(told: list[Json]) -> dict[str, str]:
    return {file["path"]: file.get("by", "edit") for one in told for file in one["files"]}
