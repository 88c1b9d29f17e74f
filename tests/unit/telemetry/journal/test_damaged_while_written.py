"""A journal that is damaged while its process writes it: set aside, made anew, told once; readers follow."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from agent_core.telemetry import events as ev
from agent_core.telemetry.journal.layout import list_journals
from agent_core.telemetry.journal.reader import Feed, read_journal
from agent_core.telemetry.journal.sink import JournalSink
from agent_core.telemetry.rollup.running import Running
from tests.support.telemetry.scene import Scene

SOURCE = "h000000-7-cccccc"
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "blank": lambda data: b"",
    "no database": lambda data: b"x" * len(data),
    "first page": lambda data: bytes(4096) + data[4096:],
    "pages": lambda data: data[:4096] + b"\xff" * (len(data) - 4096),
}


def forget_cached_pages(path: Path) -> None:
    """Another's change makes the writer read its file again; the log is moved into the file."""
    with closing(sqlite3.connect(path)) as other:
        other.execute("INSERT OR REPLACE INTO meta VALUES ('other', '1')")
        other.commit()
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


@pytest.mark.parametrize("kind", DAMAGES)
def test_the_writer_goes_on_in_a_new_file_and_says_so_once(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sink = JournalSink(tmp_path, SOURCE)
    scene = Scene(sink, source=SOURCE)
    feed = Feed(tmp_path)
    for _ in range(60):
        scene.start_turn()
        scene.call()
        scene.finish_turn()
    assert sink.flush(20)
    seen = len(feed.poll())
    assert seen == len(scene.events)
    (file,) = list_journals(tmp_path)
    path = Path(file.path)
    forget_cached_pages(path)
    path.write_bytes(DAMAGES[kind](path.read_bytes()))
    caplog.set_level(logging.WARNING)
    for _ in range(3):
        scene.start_turn()
        scene.call()
        scene.finish_turn()
        assert sink.flush(20)
    new = scene.events[seen:]
    found = []
    while events := feed.poll():
        found += events
    feed.close()
    sink.close(20)
    assert sink.lost == 0
    assert [event.seq for event in read_journal(path)][-len(new) :] == [event.seq for event in new]
    assert [event.seq for event in found] == [event.seq for event in new]
    told = [line for line in caplog.messages if str(path) in line and "damaged-1" in line]
    assert len(told) == 1, caplog.messages
    assert path.with_name(f"{path.name}.damaged-1").exists()


@pytest.mark.timeout(30)
def test_rows_that_lead_back_are_told_and_end(tmp_path: Path) -> None:
    sink = JournalSink(tmp_path, SOURCE)
    scene = Scene(sink, source=SOURCE)
    for _ in range(20):
        scene.start_turn()
        scene.call()
        scene.finish_turn()
    sink.close(20)
    (file,) = list_journals(tmp_path)
    with closing(sqlite3.connect(file.path)) as database:
        last = len(scene.events)
        assert scene.events[-1].seq == last
        database.execute(
            "UPDATE event SET body = replace(body, ?, ?) WHERE seq = ?", (f'"seq":{last}', '"seq":3', last)
        )
        database.commit()
    feed = Feed(tmp_path)
    found = []
    while events := feed.poll():
        found += events
    feed.close()
    assert [event.seq for event in found] == list(range(1, last)) or found[-1].seq >= last
    assert any(file.path in notice for notice in feed.notices)


def test_a_lost_end_of_a_call_does_not_outlive_its_turn() -> None:
    scene = Scene()
    scene.start_turn()
    scene.call()
    scene.finish_turn()
    running = Running()
    for event in scene.events:
        if not isinstance(event, ev.CallCompleted):
            running.fold(event)
    (end,) = running.interruptions()
    assert isinstance(end, ev.CallCompleted)
    assert (end.status, end.turn) == ("interrupted", scene.events[-1].turn)
