"""Reading journals: one file, NDJSON, and following a state directory by cursor."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import pytest

from agent_core.errors import StateError
from agent_core.telemetry import events as ev
from agent_core.telemetry.codec import decode_event, encode_event
from agent_core.telemetry.journal.layout import list_journals
from agent_core.telemetry.journal.reader import PAGE, Cursor, Feed, read_journal, read_ndjson
from agent_core.telemetry.journal.sink import JournalSink
from tests.support.telemetry.scene import Scene

FIRST, SECOND = "h000000-1-aaaaaa", "h000000-2-bbbbbb"


def written(state_dir: Path, source: str, turns: int, *, wait_ms: float = 0) -> Scene:
    """A closed journal of whole turns."""
    sink = JournalSink(state_dir, source)
    scene = Scene(sink, source=source, session=source)
    scene.wait(wait_ms)
    for _ in range(turns):
        scene.start_turn()
        scene.wait(1000)
        scene.finish_turn()
    sink.close(10)
    return scene


def drain(feed: Feed) -> list[ev.Event]:
    events: list[ev.Event] = []
    while found := feed.poll():
        events += found
    return events


def test_following_while_another_writes(tmp_path: Path) -> None:
    sink = JournalSink(tmp_path, FIRST)
    scene = Scene(sink, source=FIRST)
    feed = Feed(tmp_path)
    assert feed.poll() == []
    seen: list[ev.Event] = []
    for _ in range(5):
        scene.start_turn()
        scene.call()
        scene.finish_turn()
        assert sink.flush(10)
        new = feed.poll()
        assert len(new) == 5
        seen += new
    assert seen == scene.events
    sink.close(10)
    assert feed.poll() == []
    feed.close()


def test_sources_are_merged_by_time_and_keep_their_own_order(tmp_path: Path) -> None:
    first = written(tmp_path, FIRST, 3)
    second = written(tmp_path, SECOND, 3, wait_ms=500)
    feed = Feed(tmp_path)
    events = feed.poll()
    feed.close()
    assert sorted(event.time for event in events) == [event.time for event in events]
    assert [event for event in events if event.source == FIRST] == first.events
    assert [event for event in events if event.source == SECOND] == second.events


def test_a_cursor_goes_on_where_it_stood(tmp_path: Path) -> None:
    scene = written(tmp_path, FIRST, 3)
    written(tmp_path, SECOND, 2)
    feed = Feed(tmp_path)
    feed.poll(2)
    saved = msgspec.json.encode(feed.cursor)
    feed.close()
    for seqs in ({FIRST: 2, SECOND: 3}, {FIRST: 6}):
        feed = Feed(tmp_path, cursor=Cursor(seqs=dict(seqs)))
        events = drain(feed)
        feed.close()
        assert [event.seq for event in events if event.source == FIRST] == list(range(seqs[FIRST] + 1, 7))
        assert [event.seq for event in events if event.source == SECOND] == list(range(seqs.get(SECOND, 0) + 1, 5))
        assert feed.cursor.finished == {FIRST, SECOND}
    again = Feed(tmp_path, cursor=msgspec.json.decode(saved, type=Cursor))
    assert len(drain(again)) < len(scene.events) + 4
    again.close()


def test_finished_sources_are_not_opened_again_and_forgotten_with_their_files(tmp_path: Path) -> None:
    written(tmp_path, FIRST, 1)
    feed = Feed(tmp_path)
    drain(feed)
    feed.close()
    (file,) = list_journals(tmp_path)
    Path(file.path).write_bytes(b"")
    again = Feed(tmp_path, cursor=feed.cursor)
    assert again.poll() == []
    assert again.notices == []
    Path(file.path).unlink()
    assert again.poll() == []
    assert again.cursor.finished == set()
    again.close()


def test_a_poll_is_limited_and_the_next_one_goes_on(tmp_path: Path) -> None:
    scene = written(tmp_path, FIRST, PAGE)
    feed = Feed(tmp_path)
    sizes = []
    seen: list[int] = []
    while found := feed.poll(limit=100):
        sizes.append(len(found))
        seen += [event.seq for event in found]
    feed.close()
    assert sizes == [PAGE, PAGE]
    assert seen == [event.seq for event in scene.events]


def test_since_leaves_earlier_days_unread(tmp_path: Path) -> None:
    sink = JournalSink(tmp_path, FIRST)
    scene = Scene(sink, source=FIRST)
    scene.start_turn()
    scene.wait(24 * 3600 * 1000)
    scene.finish_turn()
    sink.close(10)
    feed = Feed(tmp_path, since="2026-12-01")
    assert [event.seq for event in drain(feed)] == [2]
    feed.close()


def test_an_interruption_is_found_again_from_a_cursor_before_it(tmp_path: Path) -> None:
    sink = JournalSink(tmp_path, FIRST)
    scene = Scene(sink, source=FIRST)
    scene.start_turn()
    scene.send()
    sink.close(10)
    for cursor, expected in ((0, [1, 2, 3, 4]), (2, [3, 4]), (3, [4]), (4, [])):
        feed = Feed(tmp_path, cursor=Cursor(seqs={FIRST: cursor}))
        assert [event.seq for event in drain(feed)] == expected
        feed.close()


def test_rows_this_version_does_not_know_are_passed_over(tmp_path: Path) -> None:
    scene = written(tmp_path, FIRST, 1)
    (file,) = list_journals(tmp_path)
    connection = sqlite3.connect(file.path)
    known = encode_event(scene.events[0]).decode()
    for seq, body in (
        (3, known.replace("turn.started", "turn.dreamt")),
        (4, "no json"),
        (5, '{"type":"turn.finished"}'),
        (6, known.replace('"seq":1', '"seq":6')),
    ):
        connection.execute("INSERT INTO event VALUES (?, ?)", (seq, body))
    connection.commit()
    connection.close()
    assert [event.seq for event in read_journal(file.path)] == [1, 2, 6]
    feed = Feed(tmp_path)
    assert [event.seq for event in feed.poll()] == [1, 2, 6, 7], "7 ends the turn that 6 left open"
    feed.close()


def test_unknown_fields_are_ignored_and_unknown_types_told_apart_from_misfits() -> None:
    assert decode_event(b'{"type":"turn.started","v":9,"brand_new":[1]}') == ev.TurnStarted(v=9)
    assert decode_event(b'{"type":"turn.dreamt"}') is None
    for data in (b'{"type":"tool.started"}', b"[]", b"", b'{"type":7}', b"\xff"):
        with pytest.raises(StateError) as caught:
            decode_event(data)
        assert caught.value.code == "state_bad_event"


def test_ndjson_names_the_line_that_is_no_event(tmp_path: Path) -> None:
    scene = written(tmp_path, FIRST, 2)
    path = tmp_path / "export.ndjson"
    path.write_bytes(b"\n".join(encode_event(event) for event in scene.events) + b"\n\n")
    assert list(read_ndjson(path)) == scene.events
    path.write_bytes(path.read_bytes() + b"{oops\n")
    with pytest.raises(StateError, match="line 6"):
        list(read_ndjson(path))
