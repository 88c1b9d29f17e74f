"""Sessions against the real service with its scripted engine: steering, queueing, cancelling, approving, watching."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from agent_core.agent.approvals.policy import Approver, nobody
from agent_core.agent.calls import Call
from agent_core.agent.inbox import Inbox
from agent_core.config.paths import runtime_dir
from agent_core.control.client import ControlClient, find_hosts
from agent_core.control.lock import SessionHeld
from agent_core.errors import UsageError
from agent_core.hosting.session import Hosted, HostOptions, host_session
from agent_core.turns.approval import Approval, Decision
from agent_core.turns.events import ApprovalAsked, TextDelta, ToolEnded, TurnEnded, TurnEvent
from tests.support.suite.leftovers import processes_of
from tests.support.system.cli import environment


class Watcher:
    """Keeps updates and lets a test wait for one of a kind."""

    def __init__(self) -> None:
        self.seen: list[TurnEvent] = []
        self._changed = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()

    def __call__(self, update: TurnEvent) -> None:
        self.seen.append(update)
        task = asyncio.ensure_future(self._tell())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def wait_for(self, kind: type[TurnEvent]) -> TurnEvent:
        async with asyncio.timeout(30), self._changed:
            await self._changed.wait_for(lambda: any(isinstance(update, kind) for update in self.seen))
        return next(update for update in self.seen if isinstance(update, kind))


@asynccontextmanager
async def hosted(
    folder: Path, watcher: Watcher, *, model: str, approver: Approver = nobody, remote: bool = False, **flags: str
) -> AsyncIterator[Hosted]:
    project = folder / "project"
    project.mkdir(exist_ok=True)
    options = HostOptions(
        roots=(project,),
        client="test",
        flags={"model": model, **flags},
        remote_approvals=remote,
        env=environment(folder / "home"),
    )
    async with host_session(options, observer=watcher, approver=approver) as session:
        yield session


async def test_a_turn_runs_tools_and_answers(tmp_path: Path) -> None:
    watcher = Watcher()
    async with hosted(tmp_path, watcher, model="scripted") as host:
        outcome = await host.session.run_turn("say something")
    assert (outcome.status, outcome.calls, outcome.tools) == ("completed", 2, 1)
    assert outcome.text
    assert isinstance(watcher.seen[-1], TurnEnded)


async def test_what_is_said_during_a_turn_reaches_it(tmp_path: Path) -> None:
    """The reply that streams when the user speaks does not end the turn: another call takes the words along."""
    watcher = Watcher()
    async with hosted(tmp_path, watcher, model="scripted:slow") as host:
        handle = host.session.start_turn("talk")
        await watcher.wait_for(TextDelta)
        given = host.session.steer(handle.turn, "and one thing more")
        outcome = await handle.done
        assert given.fate == "steered"
        later = host.session.steer(handle.turn, "too late for that turn")
        assert later.fate == "queued"
        assert host.session.steer(handle.turn, "  ").fate == "refused"
        with pytest.raises(UsageError) as caught:
            host.session.steer("turn_unknown", "x")
        assert caught.value.code == "unknown_turn"
        texts = b"".join(host.session._parts.history.items.raw(0))
    assert outcome.status == "completed" and outcome.calls >= 3
    assert texts.count(b"and one thing more") == 1


async def test_a_second_turn_has_to_wait_for_the_first(tmp_path: Path) -> None:
    watcher = Watcher()
    async with hosted(tmp_path, watcher, model="scripted:slow") as host:
        handle = host.session.start_turn("talk")
        with pytest.raises(UsageError) as caught:
            host.session.start_turn("me too")
        assert caught.value.code == "turn_running"
        assert host.session.cancel(handle.turn)
        async with asyncio.timeout(30):
            assert (await handle.done).status == "cancelled"
        assert not host.session.cancel(handle.turn)
        assert (await host.session.run_turn("now me")).status == "completed"


async def test_a_turn_cancelled_before_its_first_step_still_ends_properly(tmp_path: Path) -> None:
    watcher = Watcher()
    async with hosted(tmp_path, watcher, model="scripted") as host:
        handle = host.session.start_turn("talk")
        host.session.cancel(handle.turn)
        assert (await handle.done).status == "cancelled"
    ends = [update for update in watcher.seen if isinstance(update, TurnEnded)]
    assert [end.status for end in ends] == ["cancelled"]


@pytest.mark.parametrize(("decision", "runs"), [("allow", True), ("deny", False)])
async def test_a_host_is_asked_and_its_answer_counts(tmp_path: Path, decision: Decision, runs: bool) -> None:
    asked: list[Approval] = []

    async def approver(approval: Approval) -> Decision:
        asked.append(approval)
        return decision

    watcher = Watcher()
    async with hosted(tmp_path, watcher, model="scripted", approver=approver) as host:
        result = await _shell(host)
    assert [(question.name, question.subject) for question in asked] == [("shell", "echo made > made.txt")]
    assert (tmp_path / "project" / "made.txt").exists() is runs
    assert result.status == ("ok" if runs else "denied")


async def _shell(host: Hosted) -> ToolEnded:
    """Run one command through the session's own way of running tools."""
    watcher = Watcher()
    remove = host.observers.add(watcher)
    turn = host.session._turn("turn_test", Inbox())
    call = Call(
        call_id="c1", key="c1", name="shell", arguments='{"command":"echo made > made.txt"}', item_type="function_call"
    )
    await turn._tools.run(call)
    remove()
    ended = watcher.seen[-1]
    assert isinstance(ended, ToolEnded)
    return ended


async def test_another_process_of_the_user_watches_answers_and_cancels(tmp_path: Path) -> None:
    watcher = Watcher()
    async with hosted(tmp_path, watcher, model="scripted", remote=True) as host:
        env = environment(tmp_path / "home")
        (found,) = await find_hosts(runtime_dir(env))
        async with ControlClient(found.path) as client:
            (info,) = await client.list_sessions()
            assert info.session == host.session.id and info.client == "test"
            updates = await client.attach(host.session.id)
            running = asyncio.ensure_future(_shell(host))
            asked = await watcher.wait_for(ApprovalAsked)
            assert isinstance(asked, ApprovalAsked)
            (info,) = await client.list_sessions()
            assert [approval.approval_id for approval in info.approvals] == [asked.approval.approval_id]
            assert not (tmp_path / "project" / "made.txt").exists()
            await client.answer(asked.approval.approval_id, "allow", by="test")
            async with asyncio.timeout(10):
                assert (await running).status == "ok"
                async for item in updates:
                    assert asked.approval.approval_id.encode() in msgspec.json.encode(item)
                    break
            assert host.session.approvals.pending() == []
    assert (tmp_path / "project" / "made.txt").exists()


async def test_a_session_has_one_host(tmp_path: Path) -> None:
    watcher = Watcher()
    async with hosted(tmp_path, watcher, model="scripted") as host:
        options = HostOptions(
            roots=(tmp_path / "project",),
            client="second",
            flags={"model": "scripted"},
            resume=host.session.id,
            env=environment(tmp_path / "home"),
        )
        with pytest.raises(SessionHeld):
            async with host_session(options):
                pass
    async with host_session(options) as again:
        assert (await again.session.run_turn("go on")).status == "completed"
    assert processes_of(tmp_path / "home") == {}
