"""`loopline agents`: sessions that go on without a terminal."""

from __future__ import annotations

import asyncio

import msgspec

from agent_core.agent import finding
from agent_core.agent.archive import Entry
from agent_core.cli.console import make_console, make_table
from agent_core.cli.jsonl import JsonLines
from agent_core.clock import SystemClock
from agent_core.errors import StateError
from agent_core.hosting.background import Background, backgrounds, stop
from agent_core.hosting.manager import SessionManager
from agent_core.telemetry.display import UNKNOWN, one_line
from agent_core.turns.views import SessionView
from agent_core.variables import variables

STOP_S, LOOK_S = 20.0, 0.2
"""How long the end of one that is stopped is waited for, and how often it is looked for."""


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """`state` is `works`, `asks` or `ends`."""

    session: str
    pid: int
    since: str
    state: str
    title: str


def list_agents(*, json: bool) -> None:
    found = asyncio.run(_agents())
    if json:
        lines = JsonLines()
        for agent in found:
            lines.write(agent)
        return
    console = make_console()
    if not found:
        console.print("Nothing runs in the background. Leave a conversation while a turn runs, with `b`.")
        return
    table = make_table()
    for name in ("session", "since", "state", "process", "title"):
        table.add_column(name, no_wrap=True)
    for agent in found:
        since = agent.since[:16].replace("T", " ") or UNKNOWN
        table.add_row(agent.session, since, agent.state, str(agent.pid), one_line(agent.title, 60))
    console.print(table)


def session_meant(said: str) -> str:
    """The id of the session that runs in the background and is meant by `said`; "": the only one. Raises UsageError."""
    return _meant(said)[1].id


def stop_agent(said: str) -> None:
    """Stop it, and wait for its end."""
    background, entry = _meant(said)
    stop(background)
    asyncio.run(_ended(background))
    make_console().print(f"stopped {entry.id}; what was done is kept")


def _meant(said: str) -> tuple[Background, Entry]:
    found = backgrounds(variables())
    if not said and len(found) == 1:
        return found[0]
    entry = finding.meant([entry for _, entry in found], said)
    return next(each for each in found if each[1] is entry)


async def _agents() -> list[Agent]:
    found = backgrounds(variables())
    if not found:
        return []
    manager = SessionManager(variables(), SystemClock())
    try:
        views = {view.session_id: view for view in await manager.listed()}
    finally:
        await manager.close()
    return [
        Agent(
            session=entry.id, pid=note.pid, since=note.since, state=_state(views.get(entry.id)), title=entry.title
        )
        for note, entry in found
    ]  # fmt: skip


def _state(view: SessionView | None) -> str:
    if view is None:
        return "ends"
    if view.approvals or view.questions:
        return "asks"
    return "works" if any(not turn.is_over for turn in view.turns) else "ends"


async def _ended(background: Background) -> None:
    try:
        async with asyncio.timeout(STOP_S):
            while any(note == background for note, _ in await asyncio.to_thread(backgrounds, variables())):
                await SystemClock().sleep(LOOK_S)
    except TimeoutError:
        raise StateError(f"process {background.pid} does not end") from None
