"""What the journal tells of one turn, among others."""

from __future__ import annotations

import time
from pathlib import Path

from agent_core.telemetry import events as ev
from agent_core.telemetry.journal.of_turn import events_of
from agent_core.telemetry.journal.reader import Feed
from agent_core.telemetry.journal.sink import JournalSink
from tests.support.telemetry.scene import Scene

SOURCE = "h000000-1-aaaaaa"


async def test_events_of_one_turn_and_of_its_sessions_connections_are_found(tmp_path: Path) -> None:
    sink = JournalSink(tmp_path, SOURCE)
    scene = Scene(sink, source=SOURCE, session="s")
    scene.clock.set_wall(time.time_ns())  # only the last day is looked through
    for _ in range(2):
        scene.start_turn()
        scene.call()
        scene.finish_turn()
    sink.close(10)
    feed = Feed(tmp_path)
    told = feed.poll()
    feed.close()
    turns = [event.turn for event in told if isinstance(event, ev.TurnFinished)]
    assert len(set(turns)) == 2 and turns[1] is not None
    found = await events_of(tmp_path, "s", turns[1])
    of_turn = [event for event in found if event.turn is not None]
    assert of_turn == [event for event in told if event.turn == turns[1]]
    assert isinstance(of_turn[-1], ev.TurnFinished)
