"""A second front end works in a session hosted elsewhere: starts turns, undoes them, and gets their figures."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from agent_core.config.paths import runtime_dir
from agent_core.control.client import ControlClient, find_hosts
from agent_core.control.messages import ControlError, EventMessage, UpdateMessage
from agent_core.hosting.session import Hosted, HostOptions, host_session
from agent_core.telemetry.codec import decode_event
from agent_core.telemetry.events import CallCompleted, Content, Event, TurnFinished
from agent_core.telemetry.rollup.rollup import Rollup
from agent_core.turns.events import ContextSize, TurnBegan, TurnEnded, TurnEvent, TurnUndone, read_event
from tests.support.system.cli import environment

WAIT_S = 60.0


class Remote:
    """One client of the host, and all it was told."""

    def __init__(self, client: ControlClient) -> None:
        self.client = client
        self.updates: list[TurnEvent] = []
        self.events: list[Event] = []
        self._more = asyncio.Event()

    async def follow(self, session: str) -> None:
        async for item in await self.client.attach(session, events=True):
            if isinstance(item, UpdateMessage) and (update := read_event(item.update)) is not None:
                self.updates.append(update)
            elif isinstance(item, EventMessage) and (event := decode_event(bytes(item.event))) is not None:
                self.events.append(event)
            self._more.set()

    async def until(self, kind: type[Any], turn: str) -> Any:
        while True:
            for told in (*self.updates, *self.events):
                if isinstance(told, kind) and turn in (getattr(told, "turn_id", None), getattr(told, "turn", None)):
                    return told
            self._more.clear()
            await self._more.wait()


@asynccontextmanager
async def shared(
    tmp_path: Path, model: str = "scripted", settings: Mapping[str, str] = MappingProxyType({}), **options: Any
) -> AsyncIterator[tuple[Hosted, Remote, Path]]:
    env = environment(tmp_path / "home")
    project = tmp_path / "project"
    project.mkdir()
    flags = {"model": model, "approve": "auto", **settings}
    given = HostOptions(roots=(project,), client="test", flags=flags, env=env, **options)
    async with asyncio.timeout(WAIT_S), host_session(given) as hosted:
        (host,) = await find_hosts(runtime_dir(env))
        async with ControlClient(host.path) as client:
            remote = Remote(client)
            following = asyncio.create_task(remote.follow(hosted.session.id))
            await client.list_sessions()  # answered after the attaching, which was asked first
            try:
                yield hosted, remote, project
            finally:
                following.cancel()
                await asyncio.wait([following])


async def test_a_turn_is_started_from_outside_and_its_figures_arrive(tmp_path: Path) -> None:
    async with shared(tmp_path) as (hosted, remote, _):
        started = await remote.client.start(hosted.session.id, "say hello", turn="turn_of_mine")
        assert started.turn == "turn_of_mine"
        end = await remote.until(TurnEnded, started.turn)
        assert end.status == "completed"
        await remote.until(TurnFinished, started.turn)
        began = [update for update in remote.updates if isinstance(update, TurnBegan)]
        assert [update.task for update in began] == ["say hello"]
        done = [event for event in remote.events if isinstance(event, CallCompleted) and event.turn == started.turn]
        assert done and all(event.session == hosted.session.id and event.seq for event in done)
        assert not any(isinstance(event, Content) for event in remote.events)
        row = Rollup().fold_all(remote.events).turn_now(started.turn, 0)
        assert row.status == "completed"
        assert len(row.calls) == len(done)


async def test_a_second_start_is_refused_while_a_turn_runs_and_what_is_said_joins_it(tmp_path: Path) -> None:
    async with shared(tmp_path, "scripted:slow") as (hosted, remote, _):
        session = hosted.session.id
        first = await remote.client.say(session, "talk")
        await remote.until(TurnBegan, first.turn)
        with pytest.raises(ControlError) as refused:
            await remote.client.start(session, "another")
        assert refused.value.code == "turn_running"
        for between in (remote.client.undo(session, first.turn), remote.client.compact(session)):
            with pytest.raises(ControlError) as refused:
                await between
            assert refused.value.code == "turn_running"
        said = await remote.client.say(session, "and more")
        assert (said.fate, said.turn) == ("steered", first.turn)
        await remote.client.cancel(first.turn)
        assert (await remote.until(TurnEnded, first.turn)).status == "cancelled"
        assert (await remote.client.say(session, "once more")).fate == "started"


async def test_wrong_names_and_empty_words_are_refused(tmp_path: Path) -> None:
    async with shared(tmp_path) as (hosted, remote, _):
        session = hosted.session.id
        for asked, code in (
            (remote.client.start("sess_none", "x"), "control_not_found"),
            (remote.client.say("sess_none", "x"), "control_not_found"),
            (remote.client.undo("sess_none", "turn_1"), "control_not_found"),
            (remote.client.undo(session, "turn_none"), "unknown_turn"),
            (remote.client.compact("sess_none"), "control_not_found"),
            (remote.client.start(session, "  "), "usage"),
        ):
            with pytest.raises(ControlError) as refused:
                await asked
            assert refused.value.code == code
        assert hosted.session.turns == []


async def test_the_conversation_is_made_shorter_from_outside(tmp_path: Path) -> None:
    async with shared(tmp_path) as (hosted, remote, project):
        session = hosted.session.id
        for n in range(300):
            (project / f"{n} {'long ' * 20}name.txt").touch()
        said = await remote.client.start(session, "look around")
        await remote.until(TurnEnded, said.turn)
        await remote.client.compact(session)
        sizes = [told for told in remote.updates if isinstance(told, ContextSize)]
        assert sizes[-1].estimated and sizes[-1].tokens < sizes[-2].tokens


async def test_a_turns_edits_are_undone_from_outside_and_brought_back(tmp_path: Path) -> None:
    async with shared(tmp_path, "repair", {"python": sys.executable}) as (hosted, remote, project):
        (project / "calc.py").write_text("def add(a, b):\n    return a - b\n")
        (project / "test_calc.py").write_text("from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n")
        session = hosted.session.id
        started = await remote.client.start(session, "make the failing tests pass")
        assert (await remote.until(TurnEnded, started.turn)).status == "completed"
        fixed = (project / "calc.py").read_text()
        assert "a + b" in fixed
        undone = await remote.client.undo(session, started.turn)
        assert [(file.path, file.what) for file in undone.restored] == [("calc.py", "changed")]
        assert "a - b" in (project / "calc.py").read_text()
        told = await remote.until(TurnUndone, started.turn)
        assert told.undo_id == undone.undo is not None
        again = await remote.client.undo(session, undone.undo)
        assert again.restored and (project / "calc.py").read_text() == fixed


async def test_a_host_of_one_task_starts_no_other(tmp_path: Path) -> None:
    async with shared(tmp_path, remote_turns=False) as (hosted, remote, _):
        for asked in (remote.client.start(hosted.session.id, "x"), remote.client.say(hosted.session.id, "x")):
            with pytest.raises(ControlError) as refused:
                await asked
            assert refused.value.code == "control_ending"
