"""Undoing a turn from the editor: its own changes only, in buffers and on disk, and back again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interaction.lsp.conftest import with_answers
from tests.support.lsp.client import LspClient, RpcError, stdio
from tests.support.lsp.editor import Editor
from tests.support.lsp.puppet import Puppet, puppet_env, steps

EDIT = {"call": "edit", "args": {"path": "sums.py", "old": "return a - b", "new": "return a + b"}}
CLOSED = {"call": "edit", "args": {"path": "other.py", "old": "x = 1", "new": "x = 2"}}
MADE = {"call": "edit", "args": {"path": "made.py", "old": "", "new": "made = 1\n"}}
DONE = {"text": "done"}


async def undo(client: LspClient, turn: str) -> None:
    assert await client.command("loopline.turn.undo", {"turnId": turn}) is None


async def test_a_turn_is_taken_back_in_the_buffer_and_on_disk_and_brought_again(
    client: LspClient, editor: Editor, root: Path
) -> None:
    before = (root / "sums.py").read_text()
    buffer = await editor.open(root / "sums.py")
    end = await client.turn(steps(EDIT, CLOSED, MADE, DONE))
    after = buffer.text
    assert "return a + b" in after and (root / "made.py").exists()
    await editor.type(buffer, 0, "# mine since\n")
    await undo(client, end["turnId"])
    undone = await client.event("turn.undone", turnId=end["turnId"])
    assert sorted(undone["restored"]) == ["made.py", "other.py", "sums.py"] and undone["conflicts"] == []
    assert buffer.text == "# mine since\n" + before
    assert (root / "other.py").read_text() == "x = 1\n" and not (root / "made.py").exists()
    assert "took back" in client.of("window/showMessage")[-1]["params"]["message"]
    await undo(client, undone["undoId"])
    await client.event("turn.undone", turnId=undone["undoId"])
    assert buffer.text == "# mine since\n" + after and (root / "made.py").read_text() == "made = 1\n"


async def test_what_the_user_changed_since_is_left_and_told(client: LspClient, editor: Editor, root: Path) -> None:
    buffer = await editor.open(root / "sums.py")
    end = await client.turn(steps(EDIT, DONE))
    await editor.type(buffer, buffer.text.index("a + b"), "0 + ")
    mine = buffer.text
    await undo(client, end["turnId"])
    undone = await client.event("turn.undone", turnId=end["turnId"])
    assert undone["conflicts"] == ["sums.py"] and undone["restored"] == [] and buffer.text == mine


async def test_a_running_turn_is_not_undone(client: LspClient, model: Puppet) -> None:
    started = await client.command("loopline.turn.start", {"task": steps({"hold": "a"}, DONE)})
    await model.reached("a")
    with pytest.raises(RpcError, match="runs"):
        await undo(client, started["turnId"])
    model.release("a")
    await client.event("turn.finished", turnId=started["turnId"])


async def test_a_turn_of_an_earlier_process_is_undone(tmp_path: Path, root: Path, model: Puppet) -> None:
    env = puppet_env(tmp_path, model, LOOPLINE_APPROVE="auto")
    async with stdio(env) as first:
        with_answers(first)
        await first.initialize(root)
        end = await first.turn(steps(CLOSED, DONE))
        await first.shutdown()
        await first.until(first.ended.is_set)
    async with stdio(env) as second:
        with_answers(second)
        await second.initialize(root)
        found = await second.command("loopline.session.resume", {"sessionId": end["sessionId"]})
        assert [(turn["turnId"], turn["status"]) for turn in found["turns"]] == [(end["turnId"], "completed")]
        await undo(second, end["turnId"])
        await second.event("turn.undone", turnId=end["turnId"])
        assert (root / "other.py").read_text() == "x = 1\n"
