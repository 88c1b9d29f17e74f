"""`loopline run --resume` and the port beneath it, in a session hosted elsewhere: they come in its middle, answer,
steer, and take the session over with a turn that waits."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_core.clock import SystemClock
from agent_core.errors import StateError, UsageError
from agent_core.hosting.manager import OpenOptions, SessionManager
from agent_core.hosting.port import SessionHost
from agent_core.hosting.session import HostOptions
from agent_core.tools.editor.diagnostics import Diagnostic
from agent_core.turns.approval import Approval, Decision
from agent_core.turns.events import TurnEvent, TurnUndone
from tests.support.lsp.puppet import Puppet, puppet, puppet_env, steps
from tests.support.system.cli import ROOT, started
from tests.support.system.waiting import eventually

Env = dict[str, str]
RUN = {"call": "shell", "args": {"command": "echo ran > ran.txt"}}


class Front:
    """A front end without a screen: it answers once it is told what."""

    name, documents = "test", None

    def __init__(self) -> None:
        self.told: list[TurnEvent] = []
        self.moves: list[str] = []
        self.asked: list[Approval] = []
        self.answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()

    async def ask(self, approval: Approval) -> Decision | None:
        self.asked.append(approval)
        return await asyncio.shield(self.answer)

    async def diagnostics(self, path: str | None) -> Sequence[Diagnostic]:
        return ()

    def moved(self, session_id: str, move: str, text: str) -> None:
        self.moves.append(move)


class Side:
    """A process of its own, as far as sessions are concerned."""

    def __init__(self, env: Env, project: Path, *, remote_turns: bool = True) -> None:
        self.manager = SessionManager(env, SystemClock())
        self.front = Front()
        options = HostOptions(
            roots=(project,), client="test", remote_approvals=True, remote_turns=remote_turns, env=env
        )
        self.options = OpenOptions(
            settings=lambda model: options,
            front_end=self.front,
            observer=self.front.told.append,
            moved=self.front.moved,
            wait=True,
        )

    async def new(self) -> SessionHost:
        session = self.manager.new(self.options)
        await session.ready()
        return session


@asynccontextmanager
async def sides(tmp_path: Path, *, remote_turns: bool = True) -> AsyncIterator[tuple[Side, Side, Puppet, Env]]:
    project = tmp_path / "project"
    project.mkdir()
    async with asyncio.timeout(120), puppet() as model:
        env = dict(puppet_env(tmp_path / "home", model))
        host, other = Side(env, project, remote_turns=remote_turns), Side(env, project)
        try:
            yield host, other, model, env
        finally:
            await other.manager.close()
            await host.manager.close()


async def test_a_front_end_comes_in_the_middle_steers_answers_and_takes_over(tmp_path: Path) -> None:
    async with sides(tmp_path) as (host, other, model, _):
        session = await host.new()
        turn = session.submit(steps({"hold": "a"}, RUN, {"hold": "b"}))
        await model.reached("a")
        there = await other.manager.open(session.id, other.options)
        assert there.view().place == "attached" and other.front.moves == ["attached"]
        assert _kinds(other.front.told[:2]) == ["session.opened", "turn.started"]
        (listed,) = await other.manager.listed()
        assert (listed.session_id, listed.place) == (session.id, "attached")
        assert (await there.steer(turn.turn_id, "mind the gap")).fate == "steered"
        queued = there.submit(steps({"text": "done here"}))
        model.release("a")
        await eventually(lambda: other.front.asked and host.front.asked)
        other.front.answer.set_result("allow")
        await model.reached("b")
        assert "mind the gap" in model.heard and (tmp_path / "project" / "ran.txt").exists()
        assert there.view().approvals == ()
        await host.manager.close()
        end = await there.ended(queued.turn_id)
        assert (end.status, end.text) == ("completed", "done here")
        assert (there.view().place, other.front.moves) == ("live", ["attached", "lost", "live"])
        assert [view.status for view in there.view().turns] == ["interrupted", "completed"]


async def test_who_subscribes_late_is_told_how_things_stand(tmp_path: Path) -> None:
    async with sides(tmp_path) as (host, other, model, _):
        session = await host.new()
        turn = session.submit(steps(RUN, {"text": "end"}))
        await eventually(lambda: host.front.asked)
        late: list[TurnEvent] = []
        session.subscribe(late.append, catch_up=True)
        assert _kinds(late) == ["session.opened", "context", "turn.started", "approval.opened"]
        (approval,) = session.view().approvals
        assert await other.manager.answer(approval.approval_id, "deny", by="elsewhere")
        assert (await session.ended(turn.turn_id)).text == "end"
        assert not await other.manager.answer("approval_none", "deny", by="elsewhere")
        assert not (tmp_path / "project" / "ran.txt").exists()


async def test_a_session_opened_twice_at_once_is_one(tmp_path: Path) -> None:
    async with sides(tmp_path) as (host, other, _, _env):
        session = await host.new()
        first, second = await asyncio.gather(*(other.manager.open(session.id, other.options) for _ in range(2)))
        assert first is second


async def test_a_run_waits_for_a_host_that_ends_and_takes_the_session_over(tmp_path: Path) -> None:
    """Its task is queued where it can't be started, and done here once the session is free."""
    async with sides(tmp_path, remote_turns=False) as (host, _, model, env):
        session = await host.new()
        run = started("run", steps({"text": "mine"}), "--resume", session.id, "--json", env=env)
        assert run.stdout is not None
        line = json.loads(await asyncio.to_thread(run.stdout.readline))
        assert line["type"] == "notice" and "attached to process" in line["text"]
        await host.manager.close()
        rest, errors = await asyncio.to_thread(run.communicate, timeout=60)
        lines = [json.loads(each) for each in rest.splitlines()]
        assert run.returncode == 0, errors
        ends = [each for each in lines if each["type"] == "turn.finished"]
        assert [(each["status"], each["text"]) for each in ends] == [("completed", "mine")]
        assert lines[-1]["calls"] == 1


async def test_a_run_on_a_terminal_steers_the_turn_of_another_process_and_answers_for_it(tmp_path: Path) -> None:
    async with sides(tmp_path) as (host, _, model, env):
        session = await host.new()
        turn = session.submit(steps({"hold": "a"}, RUN, {"text": "end"}))
        await model.reached("a")
        main, side = pty.openpty()
        command = [sys.executable, "-m", "agent_core", "run", "mind the gap", "--resume", session.id]
        run = await asyncio.create_subprocess_exec(*command, env=env, cwd=ROOT, stdin=side, stdout=side, stderr=side)
        os.close(side)
        try:
            shown = bytearray()
            asyncio.get_running_loop().add_reader(main, _read, main, shown)
            await eventually(lambda: b"said to the turn that runs" in shown)
            model.release("a")
            await eventually(lambda: b"[N]o" in shown)
            os.write(main, b"y\n")
            assert (await session.ended(turn.turn_id)).text == "end"
            assert await run.wait() == 0, bytes(shown)
        finally:
            asyncio.get_running_loop().remove_reader(main)
            if run.returncode is None:
                run.kill()
                await run.wait()
            os.close(main)
        assert "mind the gap" in model.heard and (tmp_path / "project" / "ran.txt").exists()


async def test_a_conversation_is_taken_back_without_files_wherever_the_session_is_hosted(tmp_path: Path) -> None:
    async with sides(tmp_path) as (host, other, _, env):
        session = await host.new()
        turns = [session.submit(steps({"text": text})) for text in ("first", "second")]
        for turn in turns:
            await session.ended(turn.turn_id)
        there = await other.manager.open(session.id, other.options)
        await there.undo(turns[1].turn_id, files=False, conversation=True)
        await eventually(lambda: len(undone(other.front)) == 1)
        await session.undo(turns[0].turn_id, files=False, conversation=True)
        await eventually(lambda: len(undone(host.front)) == 2)
        told = [(event.turn_id, event.undo_id) for event in undone(host.front)]
        assert told == [(turns[1].turn_id, None), (turns[0].turn_id, None)]
        history = Path(env["XDG_STATE_HOME"], "loopline", "sessions", f"{session.id}.jsonl").read_text()
        assert history.count('"undone"') == 2


def undone(front: Front) -> list[TurnUndone]:
    return [event for event in front.told if isinstance(event, TurnUndone)]


def _kinds(events: Sequence[TurnEvent]) -> list[str]:
    return [str(event.__struct_config__.tag) for event in events]


def _read(handle: int, shown: bytearray) -> None:
    try:
        shown += os.read(handle, 4_096)
    except OSError:
        asyncio.get_running_loop().remove_reader(handle)


async def test_what_is_no_session_is_said(tmp_path: Path) -> None:
    async with sides(tmp_path) as (_, other, _model, _env):
        with pytest.raises(UsageError):
            await other.manager.open("../../etc/passwd", other.options)
        with pytest.raises(StateError):
            await other.manager.open("sess_none", other.options)
