"""The figures of a turn that ran in another process, as its journal tells them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agent_core.telemetry.events import Event, TurnFinished
from agent_core.telemetry.journal.reader import Feed

JOURNAL_LIMIT_S, LOOK_S = 3.0, 0.05
"""How long the host may take to write the turn's end into its journal, and how often that is looked for."""


async def events_of(states: Path, session: str, turn: str) -> list[Event]:
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
