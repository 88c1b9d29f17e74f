"""A cancel ends everything: the reply, the commands with all they started, open questions."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_core.telemetry import events as ev
from agent_core.turns.events import ApprovalAsked, TextDelta
from tests.support.agent.session import Worker, working
from tests.support.agent.tree import MEMBERS, TREE, pids
from tests.support.model import events as make
from tests.support.model.scripted_service import Peer, replies, running
from tests.support.system.processes import alive
from tests.support.system.waiting import WAIT_S

WARM = make.warm("resp_w")
END = make.ladder("resp_end", make.message("all done", "msg_end"))


def shell(n: int, command: str) -> list[dict[str, Any]]:
    call = make.tool_call(f"call_{n}", name="shell", arguments=json.dumps({"command": command}))
    return make.ladder(f"resp_{n}", make.reasoning(item_id=f"rs_{n}"), call)


async def cancelled(work: Worker, turn: str) -> None:
    """Cancel the turn, until nothing of it is left."""
    work.session.cancel(turn)
    async with asyncio.timeout(WAIT_S):
        while work.session.running is not None:
            await asyncio.wait([work.session.running.done])


async def test_processes_that_resist_are_gone(tmp_path: Path) -> None:
    """codex#7985, #26382: the turn stops in the UI and its children live on."""
    script = tmp_path / "tree.py"
    script.write_text(TREE)
    command = f"echo begun; {sys.executable} {script} {tmp_path}/pid"
    sockets = replies(WARM, shell(1, command), shell(2, command), shell(3, command), END)
    async with running(sockets) as service, working(service.base_url, tmp_path) as work:
        for _ in range(3):
            handle = work.session.start_turn("run it")
            async with asyncio.timeout(30):
                while len(pids(tmp_path)) < MEMBERS:  # noqa: ASYNC110 - other processes tell nobody
                    await asyncio.sleep(0.01)
            members = pids(tmp_path)
            assert all(map(alive, members))
            await cancelled(work, handle.turn)
            assert (await handle.done).status == "cancelled"
            assert [pid for pid in members if alive(pid)] == []
            assert work.items[-1]["output"].startswith("begun\n[cancelled by the user")
            for path in tmp_path.glob("pid.*"):
                path.unlink()
        assert (await work.session.run_turn("go on")).status == "completed"
        assert len(service.handshakes) == 1
    sent = [event.reuse for event in work.sink.events if isinstance(event, ev.CallSent)]
    assert sent == ["first", "reused", "reused", "reused", "reused"]


@pytest.mark.parametrize("own", [True, False])
async def test_a_reply_that_streams_is_stopped_and_its_tail_answers_nobody(tmp_path: Path, own: bool) -> None:
    long = make.ladder("resp_1", make.message("a long answer " * 20), usage=make.USAGE)

    async def script(peer: Peer) -> None:
        await peer.answer(WARM)
        await peer.next()
        await peer.send(*long[:5])
        if own:
            await peer.next("response.cancel")
            await peer.send({"type": "response.incomplete", "response": make.response("resp_1", "cancelled")})
        await peer.answer(END) if own else await peer.left()
        await peer.left()

    sockets = [script] if own else [script, replies(END)]
    async with (
        running(*sockets) as service,
        working(service.base_url, tmp_path, own_service=own, drain_timeout_s=0.2) as work,
    ):
        handle = work.session.start_turn("talk")
        await work.until(TextDelta)
        await cancelled(work, handle.turn)
        assert (await work.session.run_turn("go on")).text == "all done"
        assert len(service.handshakes) == (1 if own else 2)


async def test_a_question_that_nobody_answers_does_not_hold_a_cancel_up(tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def approver(question: object) -> None:
        asked.set()
        await asyncio.Event().wait()

    async with (
        running(replies(WARM, shell(1, "true"))) as service,
        working(service.base_url, tmp_path, approve="ask", approver=approver) as work,
    ):
        handle = work.session.start_turn("run it")
        await work.until(ApprovalAsked)
        await asked.wait()
        await cancelled(work, handle.turn)
        assert work.session.approvals.pending() == []
    resolved = [event for event in work.sink.events if isinstance(event, ev.ApprovalResolved)]
    assert [event.decision for event in resolved] == ["withdrawn"]


async def test_everything_stops_with_the_session_too(tmp_path: Path) -> None:
    script = tmp_path / "tree.py"
    script.write_text(TREE)
    command = f"{sys.executable} {script} {tmp_path}/pid"
    async with running(replies(WARM, shell(1, command))) as service, working(service.base_url, tmp_path) as work:
        work.session.start_turn("run it")
        async with asyncio.timeout(30):
            while len(pids(tmp_path)) < MEMBERS:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    assert [pid for pid in pids(tmp_path) if alive(pid)] == []
    assert os.getpid() not in pids(tmp_path)
