"""Two processes on one session: the second watches, answers, steers and cancels, and takes over from a dead host."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from tests.interaction.lsp.conftest import with_answers
from tests.support.lsp.client import ROOT, Json, LspClient, RpcError, stdio
from tests.support.lsp.puppet import Puppet, puppet_env, steps
from tests.support.system.cli import environment

RUN = steps({"call": "shell", "args": {"command": "echo ran > ran.txt"}}, {"text": "end"})


class Pair:
    """`host` started the session; `other` is another process."""

    def __init__(self, host: LspClient, other: LspClient) -> None:
        self.host, self.other = host, other
        self.asked: dict[str, list[Json]] = {"host": [], "other": []}
        self.withdrawn: list[str] = []
        host.handlers["window/showMessageRequest"] = partial(self._ask, "host")
        other.handlers["window/showMessageRequest"] = partial(self._ask, "other")

    async def _ask(self, name: str, params: Json) -> Json:
        self.asked[name].append(params)
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            self.withdrawn.append(name)
            raise
        raise AssertionError("never")


@pytest.fixture
async def pair(tmp_path: Path, root: Path, model: Puppet) -> AsyncIterator[Pair]:
    env = puppet_env(tmp_path, model)
    async with stdio(env) as host, stdio(env) as other:
        found = Pair(with_answers(host), with_answers(other))
        await asyncio.gather(host.initialize(root), other.initialize(root))
        yield found


async def attached(pair: Pair, session: str) -> Json:
    found: Json = await pair.other.command("loopline.session.resume", {"sessionId": session})
    assert found["state"] == "attached"
    return found


async def test_an_approval_answered_in_one_disappears_in_the_other(pair: Pair, root: Path) -> None:
    started = await pair.host.command("loopline.turn.start", {"task": RUN})
    opened = (await pair.host.event("approval.opened"))["approval"]
    session = await attached(pair, started["sessionId"])
    assert [approval["approvalId"] for approval in session["approvals"]] == [opened["approvalId"]]
    assert [turn["status"] for turn in session["turns"]] == ["running"]
    await pair.other.until(lambda: pair.asked["other"])  # asked in both
    answer = {"approvalId": opened["approvalId"], "decision": "allow"}
    await pair.other.command("loopline.approval.answer", answer)
    end = await pair.other.event("turn.finished", turnId=started["turnId"])
    assert end["text"] == "end" and (root / "ran.txt").exists()
    for client in (pair.host, pair.other):
        closed = await client.event("approval.resolved", approvalId=opened["approvalId"])
        assert closed["decision"] == "allow"
    await pair.host.until(lambda: sorted(pair.withdrawn) == ["host", "other"])
    # answering what is closed is harmless in both
    await pair.host.command("loopline.approval.answer", answer)
    await pair.other.command("loopline.approval.answer", answer)


async def test_an_approval_is_answered_from_a_list_without_attaching(pair: Pair, root: Path) -> None:
    started = await pair.host.command("loopline.turn.start", {"task": RUN})
    opened = (await pair.host.event("approval.opened"))["approval"]
    while True:  # a host that is slow to answer is listed without what it alone knows
        (there,) = (await pair.other.command("loopline.session.list", {}))["sessions"]
        assert there["state"] == "elsewhere"
        if "approvals" in there:
            break
    assert there["approvals"] == [opened]
    answer = {"approvalId": opened["approvalId"], "decision": "allow"}
    await pair.other.command("loopline.approval.answer", answer)
    assert (await pair.host.event("turn.finished", turnId=started["turnId"]))["text"] == "end"
    assert (root / "ran.txt").exists()
    await pair.other.command("loopline.approval.answer", answer)  # twice is harmless


async def test_a_question_that_comes_later_is_asked_in_both_and_answered_at_the_host(
    pair: Pair, root: Path, model: Puppet
) -> None:
    task = steps({"hold": "a"}, {"call": "shell", "args": {"command": "echo ran > ran.txt"}}, {"text": "end"})
    started = await pair.host.command("loopline.turn.start", {"task": task})
    await model.reached("a")
    await attached(pair, started["sessionId"])
    steered = await pair.other.command("loopline.turn.steer", {"turnId": started["turnId"], "text": "go on"})
    assert steered["fate"] == "steered"
    model.release("a")
    await pair.other.until(lambda: pair.asked["other"] and pair.asked["host"])
    opened = (await pair.other.event("approval.opened"))["approval"]
    assert opened["name"] == "shell"
    await pair.host.command("loopline.approval.answer", {"approvalId": opened["approvalId"], "decision": "deny"})
    await pair.other.event("turn.finished", turnId=started["turnId"])
    await pair.other.until(lambda: "other" in pair.withdrawn)
    assert not (root / "ran.txt").exists()


async def test_a_turn_of_the_second_waits_for_the_one_that_runs(pair: Pair, root: Path, model: Puppet) -> None:
    started = await pair.host.command("loopline.turn.start", {"task": steps({"hold": "a"})})
    await model.reached("a")
    await attached(pair, started["sessionId"])
    edit = {"call": "edit", "args": {"path": "sums.py", "old": "a - b", "new": "a + b"}}
    task = steps(edit, {"text": "second"})
    second = await pair.other.command("loopline.turn.start", {"task": task}, "my-token")
    assert second["sessionId"] == started["sessionId"]
    third = await pair.other.command("loopline.turn.start", {"task": steps({"text": "third"})})
    await pair.other.command("loopline.turn.cancel", {"turnId": third["turnId"]})
    assert (await pair.other.event("turn.finished", turnId=third["turnId"]))["status"] == "cancelled"
    assert pair.other.events("turn.started", turnId=second["turnId"]) == []

    await pair.other.command("loopline.turn.cancel", {"turnId": started["turnId"]})
    for client in (pair.host, pair.other):
        end = await client.event("turn.finished", turnId=started["turnId"])
        assert end["status"] == "cancelled"
    for client in (pair.host, pair.other):
        end = await client.event("turn.finished", turnId=second["turnId"])
        assert (end["status"], end["text"]) == ("completed", "second")
    assert "a + b" in (root / "sums.py").read_text()
    listed = (await pair.host.command("loopline.session.list", {}))["sessions"][0]
    assert [turn["status"] for turn in listed["turns"]] == ["cancelled", "completed"]
    bars = [message["params"]["value"]["kind"] for message in pair.other.of("$/progress")
            if message["params"]["token"] == "my-token"]  # fmt: skip
    assert (bars[0], bars[-1]) == ("begin", "end")


async def test_the_second_sees_figures_and_undoes(pair: Pair, root: Path) -> None:
    before = (root / "sums.py").read_text()
    session = (await pair.host.turn(steps({"text": "first"})))["sessionId"]
    await attached(pair, session)
    edit = {"call": "edit", "args": {"path": "sums.py", "old": "a - b", "new": "a + b"}}
    turn = (await pair.host.turn(steps(edit, {"text": "edited"}), sessionId=session))["turnId"]
    call = await pair.other.event("call", turnId=turn, status="completed", number=2)
    assert call["ttftMs"] > 0 and call["reuse"] == "reused"
    stages = await pair.other.event("stages", turnId=turn, running=False)
    assert stages["calls"] == 2 and stages["stagesMs"]["client_tool"] >= 0
    assert (root / "sums.py").read_text() != before
    changed = await pair.other.request("loopline/turn.changes", {"sessionId": session, "turnId": turn})
    (file,) = changed["files"]
    assert (file["path"], file["before"], file["added"], file["removed"]) == ("sums.py", before, 1, 1)
    assert (await pair.other.request("loopline/turn.changes", {"sessionId": session, "turnId": "x"}))["files"] == []
    with pytest.raises(RpcError, match="no session"):
        await pair.other.request("loopline/turn.changes", {"sessionId": "sess_none", "turnId": turn})
    await pair.other.command("loopline.turn.undo", {"turnId": turn})
    undone = await pair.other.event("turn.undone", turnId=turn)
    assert undone["restored"] == ["sums.py"] and (root / "sums.py").read_text() == before
    await pair.other.command("loopline.turn.undo", {"turnId": undone["undoId"]})
    again = await pair.host.event("turn.undone", turnId=undone["undoId"])
    assert again["restored"] == ["sums.py"] and "a + b" in (root / "sums.py").read_text()


async def test_whoever_attaches_in_mid_sentence_gets_its_beginning(tmp_path: Path, root: Path) -> None:
    env = environment(tmp_path, LOOPLINE_MODEL="scripted:slow")
    async with stdio(env) as host, stdio(env) as other:
        await asyncio.gather(with_answers(host).initialize(root), with_answers(other).initialize(root))
        turn = await host.command("loopline.turn.start", {"task": "say something"})
        await host.until(lambda: host.events("text.delta"))
        for _ in range(2):  # who follows already is not told twice
            await other.command("loopline.session.resume", {"sessionId": turn["sessionId"]})
        done = await other.event("text.done", turnId=turn["turnId"])
        assert "".join(piece["text"] for piece in other.events("text.delta")) == done["text"]
        assert len(other.events("text.delta")) > 1


async def test_what_waits_is_done_by_whoever_takes_over(pair: Pair, root: Path, model: Puppet) -> None:
    started = await pair.host.command("loopline.turn.start", {"task": steps({"hold": "a"})})
    await model.reached("a")
    await attached(pair, started["sessionId"])
    second = await pair.other.command("loopline.turn.start", {"task": steps({"text": "done here"})})
    assert pair.host.process is not None
    os.kill(pair.host.process.pid, signal.SIGKILL)
    end = await pair.other.event("turn.finished", turnId=second["turnId"])
    assert (end["status"], end["text"]) == ("completed", "done here")


async def test_a_turn_for_a_run_on_the_command_line_waits_for_its_end(
    tmp_path: Path, root: Path, model: Puppet
) -> None:
    """`loopline run` does its one task; then the session is ours, and so is the turn."""
    env = puppet_env(tmp_path, model)
    arguments = ["run", steps({"hold": "a"}), "-w", str(root), "--json"]
    run = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "agent_core", *arguments, env=dict(env), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    async with stdio(env) as client:
        await with_answers(client).initialize(root)
        await model.reached("a")
        (there,) = (await client.command("loopline.session.list", {}))["sessions"]
        assert there["state"] == "elsewhere" and there["turns"][0]["status"] == "running"
        session = {"sessionId": there["sessionId"]}
        assert (await client.command("loopline.session.resume", session))["state"] == "attached"
        mine = await client.command("loopline.turn.start", {"task": steps({"text": "mine"}), **session})
        model.release("a")
        end = await client.event("turn.finished", turnId=mine["turnId"])
        assert (end["status"], end["text"], end["sessionId"]) == ("completed", "mine", there["sessionId"])
        await client.event("session.hosting", state="live")
    await run.communicate()
    assert run.returncode == 0


async def test_the_second_takes_over_from_a_killed_host(pair: Pair, root: Path, model: Puppet) -> None:
    started = await pair.host.command("loopline.turn.start", {"task": RUN})
    await pair.host.event("approval.opened")
    await attached(pair, started["sessionId"])
    assert pair.host.process is not None
    os.kill(pair.host.process.pid, signal.SIGKILL)
    end = await pair.other.event("turn.finished", turnId=started["turnId"])
    assert end["status"] == "interrupted"
    await pair.other.event("session.hosting", state="live")
    end = await pair.other.turn(steps({"text": "taken over"}), sessionId=started["sessionId"])
    assert (end["text"], end["sessionId"]) == ("taken over", started["sessionId"])
    # the history is whole: the call that the dead host left open has its one output
    sent = [item for item in model.service.creates[-2].input if item["type"] == "function_call_output"]
    assert [item["output"].partition(":")[0] for item in sent] == ["interrupted"]
    page = await pair.other.request("loopline/transcript", {"sessionId": started["sessionId"]})
    assert [entry["kind"] for entry in page["entries"]] == ["user", "tool", "user", "assistant"]


async def test_a_stored_session_is_resumed_by_a_new_process(pair: Pair, root: Path) -> None:
    end = await pair.host.turn(steps({"text": "one"}))
    session = end["sessionId"]
    await pair.host.shutdown()
    await pair.host.until(pair.host.ended.is_set)
    listed = (await pair.other.command("loopline.session.list", {}))["sessions"]
    assert [(found["sessionId"], found["state"]) for found in listed] == [(session, "stored")]
    assert listed[0]["title"] == steps({"text": "one"})
    found = await pair.other.command("loopline.session.resume", {"sessionId": session})
    assert found["state"] == "live" and [turn["title"] for turn in found["turns"]] == [steps({"text": "one"})]
    again = await pair.other.turn(steps({"text": "two"}), sessionId=session)
    assert again["text"] == "two"
