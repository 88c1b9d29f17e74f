"""`loopline run --resume ID` of a session that another process hosts: the task is said there, its work shown here."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from agent_core.agent.approvals.policy import Approver
from agent_core.agent.checkpoints.reading import FileChange, changes_of
from agent_core.agent.turn import Outcome
from agent_core.control.lock import SessionHeld
from agent_core.hosting.resume import read_header
from agent_core.runtime.attach import attach, outcome_of
from agent_core.telemetry.events import Event, ToolFinished, TurnFinished
from agent_core.telemetry.journal.reader import Feed
from agent_core.tools.workspace import text as text_of
from agent_core.tools.workspace.changes import Change, Content, Opaque, change_of
from agent_core.turns.events import Notice, Observer, ToolEnded, TurnEvent
from agent_core.turns.options import PLAIN, TurnOptions

MAX_FILES = 200
JOURNAL_LIMIT_S, LOOK_S = 3.0, 0.05
"""How long the host may take to write the turn's end into its journal, and how often that is looked for."""


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """What a run that was attached came to: its outcome, the turn's events in the journal, and what it changed, from
    the session's checkpoints, or as it was seen where none are kept."""

    outcome: Outcome
    events: Sequence[Event]
    changes: Sequence[Change]
    more_files: int = 0


async def say_attached(
    held: SessionHeld,
    session: str,
    task: str,
    *,
    options: TurnOptions = PLAIN,
    observer: Observer,
    approver: Approver,
    states: Path,
) -> Shared:
    """Say `task` to the hosted session and watch until the turn that takes it, or that it starts, ends. Raises
    ControlError."""
    edits: list[ToolEnded] = []

    def watch(event: TurnEvent) -> None:
        if isinstance(event, ToolEnded) and event.files_changed:
            edits.append(event)
        observer(event)

    async with attach(held, session, observer=watch, approver=approver) as attached:
        said = await attached.say(task, options)
        if said.fate == "steered":
            observer(Notice(severity="info", text="said to the turn that runs; its next call takes it along"))
        end = await attached.end_of(said.turn)
    status, text = outcome_of(end)
    if end is None:
        observer(Notice(severity="warning", text=text))
    of_turn = await _events(states, session, said.turn) if end is not None else []
    tools = sum(isinstance(event, ToolFinished) for event in of_turn)
    outcome = Outcome(status=status, text=text, calls=0, tools=tools)
    kept = await asyncio.to_thread(changes_of, states / "checkpoints", session, said.turn)
    roots = read_header(states / "sessions", session).roots
    seen = [_change(path, edit) for edit in edits if edit.turn_id == said.turn for path in edit.files_changed]
    changes = [_kept(change, roots[:1]) for change in kept[:MAX_FILES]] or seen
    more = max(0, len(kept) - MAX_FILES)
    return Shared(outcome=outcome, events=of_turn, changes=changes, more_files=more)


def _kept(change: FileChange, first_root: tuple[str, ...]) -> Change:
    path = change.path if (change.root,) == first_root else f"{change.root}/{change.path}"
    before, after = _content(change.existed, change.before), _content(change.exists, change.after)
    return change_of(path, before, after, change.by)


def _content(there: bool, data: bytes | None) -> Content:
    decoded = text_of.decode(data) if data is not None else None
    return None if not there else Opaque(b"") if decoded is None else decoded[0]


def _change(path: str, edit: ToolEnded) -> Change:
    lines = [line for line in edit.diff.split("\n") if not line.startswith(("+++", "---"))]
    return Change(
        path=path,
        diff=edit.diff,
        added=sum(line.startswith("+") for line in lines),
        removed=sum(line.startswith("-") for line in lines),
        by=edit.by,
    )


async def _events(states: Path, session: str, turn: str) -> list[Event]:
    """What the journal tells of the turn and of the session's connections, once the turn's end is in it."""
    feed = Feed(states, since=(datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%d"))
    events: list[Event] = []
    try:
        for _ in range(int(JOURNAL_LIMIT_S / LOOK_S)):
            while found := feed.poll():
                events += [event for event in found if event.turn == turn or _is_connection(event, session)]
            if any(isinstance(event, TurnFinished) for event in events):
                break
            await asyncio.sleep(LOOK_S)
    finally:
        feed.close()
    return events


def _is_connection(event: Event, session: str) -> bool:
    return event.session == session and str(type(event).__struct_config__.tag).startswith("connection.")
