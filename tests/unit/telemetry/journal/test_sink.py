"""The journal's writing side on real files."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent_core.telemetry import events as ev
from agent_core.telemetry.journal.layout import content_dir, is_alive, journal_dir, list_files, list_journals
from agent_core.telemetry.journal.reader import read_journal
from agent_core.telemetry.journal.sink import MAX_CONTENT_CHARS, MAX_PROGRESS, MAX_WAITING, JournalSink
from tests.support.telemetry.scene import EPOCH_NS, Scene

SOURCE = "h000000-1-aaaaaa"
DAY_S = 24 * 3600


@contextmanager
def journal(state_dir: Path) -> Iterator[JournalSink]:
    sink = JournalSink(state_dir, SOURCE)
    try:
        yield sink
    finally:
        sink.close(10)


@contextmanager
def disk_stands_still(path: Path) -> Iterator[None]:
    """Nobody else can write the database meanwhile."""
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        blocker.execute("ROLLBACK")
        blocker.close()


def progress(scene: Scene, number: int) -> None:
    scene.emit(ev.CallProgress(call="c", output_tokens_est=number, rate_est=0))


def test_events_come_back_as_they_were(tmp_path: Path) -> None:
    with journal(tmp_path) as sink:
        scene = Scene(sink)
        scene.start_session("label")
        scene.start_turn()
        scene.call(chunk_gaps={12: 3, -40: 1}, service_stages_ms={"render": 0.25})
        scene.tool(4)
        scene.open_approval()
        scene.resolve_approval(waited_ms=3)
        scene.finish_turn()
        scene.emit(ev.ServiceCall(response_id="r", stages_ms={"state": 0.1}, new_tokens=1, reused_tokens=2))
        scene.emit(ev.SourceAlive())
        scene.emit(ev.CallReported(reporter="codex", status="completed", input_tokens=3))
        for event in (
            ev.ConnectionOpened(handshake_ms=1.5),
            ev.ConnectionPrewarmed(),
            ev.ConnectionRotated(age_s=3300),
            ev.ConnectionReconnected(cause="connection_lost"),
            ev.ConnectionFallback(cause="426"),
            ev.ConnectionClosed(age_s=1),
        ):
            scene.emit(event)
        progress(scene, 5)
        assert sink.flush(10)
        (file,) = list_journals(tmp_path)
        assert (file.date, file.source) == ("2026-11-30", SOURCE)
        assert list(read_journal(file.path)) == scene.events, "readable while the writer is open"
    assert list(read_journal(file.path)) == scene.events
    assert {type(event) for event in scene.events} | {ev.CallFirstEvent, ev.Content} == set(ev.AnyEvent.__args__)


def test_content_is_thrown_away_unless_the_user_wants_it(tmp_path: Path) -> None:
    with journal(tmp_path) as sink:
        scene = Scene(sink)
        scene.start_session()
        scene.emit(ev.Content(session=scene.session, kind="user", text="my secret prompt"))
        scene.start_turn()
    assert [path.name for path in journal_dir(tmp_path).iterdir()] == [f"2026-11-30-{SOURCE}.db"]
    assert b"my secret prompt" not in (journal_dir(tmp_path) / f"2026-11-30-{SOURCE}.db").read_bytes()
    assert (sink.dropped, sink.lost) == (0, 0)


def test_wanted_content_lies_in_files_of_its_own(tmp_path: Path) -> None:
    sink = JournalSink(tmp_path, SOURCE, content=True)
    scene = Scene(sink)
    scene.start_session()
    scene.emit(ev.Content(session=scene.session, kind="user", text="my secret prompt"))
    scene.wait(DAY_S * 1000)
    scene.emit(ev.Content(session=scene.session, kind="answer", text="x" * 100_000))
    scene.start_turn()
    sink.close(10)
    figures, contents = list_journals(tmp_path), list_files(content_dir(tmp_path))
    assert [event.seq for file in figures for event in read_journal(file.path)] == [1, 4]
    assert [file.date for file in contents] == ["2026-11-30", "2026-12-01"]
    assert [event for file in contents for event in read_journal(file.path)] == [scene.events[1], scene.events[2]]
    for file in figures:
        assert b"my secret prompt" not in Path(file.path).read_bytes()


def test_waiting_content_is_bounded_and_gives_way_first(tmp_path: Path) -> None:
    sink = JournalSink(tmp_path, SOURCE, content=True)
    scene = Scene(sink)
    scene.start_session()
    assert sink.flush(10)
    (file,) = list_journals(tmp_path)
    with disk_stands_still(Path(file.path)):
        for _ in range(40):
            scene.emit(ev.Content(kind="answer", text="x" * 1_000_000))
            scene.emit(ev.ConnectionPrewarmed())
        assert sink._content_chars <= MAX_CONTENT_CHARS
        assert sink.dropped > 0
    sink.close(20)
    assert sum(isinstance(event, ev.ConnectionPrewarmed) for event in read_journal(file.path)) == 40
    assert sink.lost == 0


def test_nothing_is_touched_before_the_first_event(tmp_path: Path) -> None:
    with journal(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_files_are_private(tmp_path: Path) -> None:
    with journal(tmp_path) as sink:
        Scene(sink).start_session()
        assert sink.flush(10)
        assert journal_dir(tmp_path).stat().st_mode & 0o777 == 0o700
        assert {path.stat().st_mode & 0o077 for path in journal_dir(tmp_path).iterdir()} == {0}


def test_a_new_day_is_a_new_file_and_the_sequence_runs_on(tmp_path: Path) -> None:
    with journal(tmp_path) as sink:
        scene = Scene(sink)
        scene.start_session()
        scene.wait(DAY_S * 1000)
        scene.start_turn()
        scene.wait(2 * DAY_S * 1000)
        scene.finish_turn()
    files = list_journals(tmp_path)
    assert [file.date for file in files] == ["2026-11-30", "2026-12-01", "2026-12-03"]
    assert [[event.seq for event in read_journal(file.path)] for file in files] == [[1], [2], [3]]


def test_a_clock_set_back_gets_one_line_and_no_older_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with journal(tmp_path) as sink:
        scene = Scene(sink)
        scene.start_session()
        assert sink.flush(10)
        for hours in (30, 60):
            scene.clock.set_wall(EPOCH_NS - hours * 3600 * 1_000_000_000)
            scene.start_turn()
            assert sink.flush(10)
    (file,) = list_journals(tmp_path)
    assert file.date == "2026-11-30"
    assert [event.seq for event in read_journal(file.path)] == [1, 2, 3]
    (record,) = caplog.records
    assert "clock was set back by 108000 s" in record.getMessage()


def test_the_lock_tells_whether_the_writer_lives(tmp_path: Path) -> None:
    assert not is_alive(tmp_path, SOURCE)
    with journal(tmp_path) as sink:
        Scene(sink).start_session()
        assert sink.flush(10)
        assert is_alive(tmp_path, SOURCE)
        assert is_alive(tmp_path, SOURCE), "asking does not take the lock"
    assert not is_alive(tmp_path, SOURCE)
    assert not list(journal_dir(tmp_path).glob("*.lock"))


def test_emitting_never_waits_for_the_disk_and_drops_the_oldest_samples_only(tmp_path: Path) -> None:
    with journal(tmp_path) as sink:
        scene = Scene(sink)
        scene.start_session()
        assert sink.flush(10)
        (file,) = list_journals(tmp_path)
        with disk_stands_still(Path(file.path)):
            scene.start_turn()  # the writer is now stuck with this one
            deadline = time.monotonic() + 60
            while sink._events:
                assert time.monotonic() < deadline
            started = time.monotonic()
            for number in range(MAX_PROGRESS + 500):
                progress(scene, number)
                if number % 100 == 0:
                    scene.emit(ev.ConnectionPrewarmed())
            assert time.monotonic() - started < 20.0
            assert sink.dropped == 500
        assert sink.flush(20)
    kept = list(read_journal(file.path))
    samples = [event.output_tokens_est for event in kept if isinstance(event, ev.CallProgress)]
    assert samples == list(range(500, MAX_PROGRESS + 500))
    assert sum(isinstance(event, ev.ConnectionPrewarmed) for event in kept) == 15
    assert (sink.dropped, sink.lost) == (500, 0)
    assert [event.seq for event in kept] == sorted(event.seq for event in kept)
    connection = sqlite3.connect(file.path)
    assert dict(connection.execute("SELECT key, value FROM meta")) == {"source": SOURCE, "dropped": "500", "lost": "0"}
    connection.close()


def test_closing_is_bounded_when_the_disk_stands_still(tmp_path: Path) -> None:
    sink = JournalSink(tmp_path, SOURCE)
    scene = Scene(sink)
    scene.start_session()
    assert sink.flush(10)
    (file,) = list_journals(tmp_path)
    with disk_stands_still(Path(file.path)):
        scene.start_turn()
        started = time.monotonic()
        sink.close(0.2)
        assert time.monotonic() - started < 20.0
    scene.start_turn()
    assert sink.lost >= 1, "an event after close is counted, and no error"
    sink._thread.join(20)
    assert not sink._thread.is_alive()


def test_many_threads_emit_at_once(tmp_path: Path) -> None:
    with journal(tmp_path) as sink:
        scene = Scene(sink)

        def emit() -> None:
            for _ in range(500):
                scene.emit(ev.ConnectionPrewarmed())

        threads = [threading.Thread(target=emit) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    (file,) = list_journals(tmp_path)
    assert [event.seq for event in read_journal(file.path)] == list(range(1, 2001))


def test_a_value_that_is_no_json_loses_its_event_only(tmp_path: Path) -> None:
    with journal(tmp_path) as sink:
        scene = Scene(sink)
        scene.start_session()
        scene.emit(ev.ConnectionPrewarmed(cause=object()))  # type: ignore[arg-type]
        scene.start_turn()
    (file,) = list_journals(tmp_path)
    assert [event.seq for event in read_journal(file.path)] == [1, 3]
    assert sink.lost == 1


def test_an_unusable_place_costs_one_line_and_comes_back(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    journal_dir(tmp_path).write_text("a file where the directory should be")
    with journal(tmp_path) as sink:
        scene = Scene(sink)
        scene.start_session()
        assert not sink.flush(0.3)
        scene.start_turn()
        assert not sink.flush(0.3)
        progress(scene, 1)
        (record,) = caplog.records
        assert record.levelno == logging.WARNING
        assert str(journal_dir(tmp_path)) in record.getMessage()
        assert "telemetry is not recorded" in record.getMessage()
        journal_dir(tmp_path).unlink()
        assert sink.flush(10)
    (file,) = list_journals(tmp_path)
    kept = list(read_journal(file.path))
    assert [event.seq for event in kept][:2] == [1, 2]
    assert sink.lost == 0
    assert len(caplog.records) == 1


def test_what_can_never_be_written_is_counted_and_bounded(tmp_path: Path) -> None:
    journal_dir(tmp_path).write_text("a file where the directory should be")
    sink = JournalSink(tmp_path, SOURCE)
    scene = Scene(sink)
    for _ in range(MAX_WAITING + 100):
        scene.emit(ev.ConnectionPrewarmed())
    assert len(sink._events) <= MAX_WAITING
    sink.close(10)
    assert sink.lost == MAX_WAITING + 100
