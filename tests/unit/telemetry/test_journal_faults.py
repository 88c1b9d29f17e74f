"""Journals after the worst: killed writers, full and read-only disks, files of another kind."""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_core.errors import StateError
from agent_core.telemetry import events as ev
from agent_core.telemetry.journal.layout import is_alive, journal_dir, list_journals
from agent_core.telemetry.journal.reader import Feed, read_journal
from agent_core.telemetry.journal.sink import JournalSink
from agent_core.telemetry.rollup.rollup import Rollup
from tests.support.suite.parts import lacking
from tests.support.system.rights import as_somebody_else
from tests.support.telemetry.scene import Scene

SOURCE = "h000000-7-cccccc"
ROOT = Path(__file__).parents[3]


def writer(state_dir: Path, mode: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.support.telemetry.writer", str(state_dir), SOURCE, mode]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)


def test_after_kill_9_the_turn_is_interrupted_at_its_last_activity(tmp_path: Path) -> None:
    process = writer(tmp_path, "turn")
    feed = Feed(tmp_path)
    rollup = Rollup()
    try:
        before = feed.poll()
        rollup.fold_all(before)
        assert [event.seq for event in before] == list(range(1, 8))
        assert feed.poll() == []
        assert is_alive(tmp_path, SOURCE)
        assert rollup.turns["t"].running
    finally:
        kill(process)
    ends = feed.poll()
    rollup.fold_all(ends)
    assert [type(event) for event in ends] == [ev.CallCompleted, ev.ApprovalResolved, ev.TurnFinished]
    assert [event.seq for event in ends] == [8, 9, 10]
    assert {(event.time, event.mono_ns) for event in ends} == {(before[-1].time, before[-1].mono_ns)}
    turn = rollup.turns["t"]
    assert turn.status == rollup.calls["c"].status == "interrupted"
    assert turn.approvals[0].decision == "withdrawn"
    assert sum(turn.stages_ns.values()) == turn.duration_ns == before[-1].mono_ns - before[1].mono_ns
    assert feed.poll() == []
    feed.close()
    late = Feed(tmp_path)
    assert [event.seq for event in late.poll()] == list(range(1, 11)), "a reader that starts late sees the same"
    late.close()


def test_killed_while_writing_leaves_a_readable_journal_without_gaps(tmp_path: Path) -> None:
    process = writer(tmp_path, "spam")
    feed = Feed(tmp_path)
    seen: list[int] = []
    while len(seen) < 3_000:
        seen += [event.seq for event in feed.poll()]
    kill(process)
    events = feed.poll(1_000_000)
    seen += [event.seq for event in events]
    feed.close()
    assert seen == list(range(1, len(seen) + 1))
    (file,) = list_journals(tmp_path)
    connection = sqlite3.connect(file.path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_a_file_that_may_not_grow_costs_one_line_and_keeps_what_fitted(tmp_path: Path) -> None:
    process = writer(tmp_path, "limit")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    dropped, lost = map(int, out.split())
    (line,) = err.splitlines()
    assert line.startswith("telemetry is not recorded")
    (file,) = list_journals(tmp_path)
    kept = [event.seq for event in read_journal(file.path)]
    assert kept == list(range(1, len(kept) + 1))
    assert dropped == 0
    assert len(kept) + lost == 2_001
    assert lost > 0


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 160 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", place], capture_output=True, check=False
    )
    if mounted.returncode:
        lacking("root", "mounting a file system")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_full_disk_costs_one_line_and_writing_resumes_when_there_is_room(
    tiny_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ballast = tiny_disk / "ballast"
    ballast.write_bytes(b"x" * 60_000)
    sink = JournalSink(tiny_disk, SOURCE)
    scene = Scene(sink)
    for _ in range(1_000):
        scene.emit(ev.ConnectionPrewarmed(cause="a line that takes some room on this small disk"))
    assert not sink.flush(0.5)
    (record,) = caplog.records
    assert "telemetry is not recorded" in record.getMessage()
    assert "full" in record.getMessage()
    for file in list_journals(tiny_disk):
        kept = [event.seq for event in read_journal(file.path)]
        assert kept == list(range(1, len(kept) + 1)), "what fitted can be read on the full disk"
    ballast.unlink()
    sink._events.clear()  # the rest would not fit even without the ballast
    scene.start_session()
    assert sink.flush(20)
    sink.close(10)
    (file,) = list_journals(tiny_disk)
    assert list(read_journal(file.path))[-1] == scene.events[-1]
    assert len(caplog.records) == 1


@pytest.fixture
def shared_dir() -> Iterator[Path]:
    """A state directory that others may read but not write."""
    if os.geteuid():
        lacking("root", "a folder of another user")
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        Path(place).chmod(0o755)
        yield Path(place)


class Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def test_a_read_only_state_directory_costs_one_line(shared_dir: Path) -> None:
    def work() -> str:
        lines = Lines()
        logging.getLogger("agent_core.telemetry").addHandler(lines)
        sink = JournalSink(shared_dir, SOURCE)
        scene = Scene(sink)
        scene.start_session()
        sink.flush(0.3)
        scene.start_turn()
        sink.flush(0.3)
        sink.close(5)
        return f"{sink.lost}\n" + "\n".join(lines.lines)

    lost, *lines = as_somebody_else(work).splitlines()
    assert lost == "2"
    (line,) = lines
    assert f"telemetry is not recorded: {journal_dir(shared_dir)}: EACCES Permission denied" in line
    assert list(shared_dir.iterdir()) == []


def test_a_closed_journal_on_a_read_only_medium_is_readable(shared_dir: Path) -> None:
    sink = JournalSink(shared_dir, SOURCE)
    scene = Scene(sink)
    scene.start_session()
    scene.start_turn()
    sink.close(10)
    journal_dir(shared_dir).chmod(0o755)
    (file,) = list_journals(shared_dir)
    Path(file.path).chmod(0o644)
    assert as_somebody_else(lambda: " ".join(str(event.seq) for event in read_journal(file.path))) == "1 2"


def other_file(state_dir: Path, name: str, *statements: str) -> Path:
    path = journal_dir(state_dir) / name
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def test_files_of_another_kind_get_one_line_each_and_stop_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sink = JournalSink(tmp_path, SOURCE)
    Scene(sink).start_session()
    sink.close(10)
    newer = other_file(
        tmp_path, "2026-11-30-newer.db", "PRAGMA application_id = 1280266064", "PRAGMA user_version = 99",
        "CREATE TABLE event (seq INTEGER PRIMARY KEY, body BLOB)",
    )  # fmt: skip
    foreign = other_file(tmp_path, "2026-11-30-foreign.db", "PRAGMA user_version = 1", "CREATE TABLE t (a)")
    garbage = journal_dir(tmp_path) / "2026-11-30-garbage.db"
    garbage.write_bytes(b"no database at all " * 500)
    empty = journal_dir(tmp_path) / "2026-11-30-empty.db"
    empty.touch()
    (journal_dir(tmp_path) / "notes.txt").write_text("not a journal by its name")
    feed = Feed(tmp_path)
    assert [event.seq for event in feed.poll()] == [1]
    assert feed.poll() == []
    feed.close()
    assert len(feed.notices) == len(caplog.records) == 4
    assert "\n" not in "".join(feed.notices)
    files = (newer, foreign, garbage, empty)
    by_file = {path: next(line for line in feed.notices if str(path) in line) for path in files}
    assert "newer Loopline (journal schema 99, this one reads 1)" in by_file[newer]
    assert "not a telemetry journal" in by_file[foreign]
    assert "not a telemetry journal" in by_file[garbage]
    assert "is empty" in by_file[empty]
    for path, code in (
        (newer, "state_newer_schema"),
        (garbage, "state_no_journal"),
        (tmp_path / "x", "state_no_journal"),
    ):
        with pytest.raises(StateError) as caught:
            list(read_journal(path))
        assert caught.value.code == code


def test_a_journal_of_a_newer_schema_is_not_written_into(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    journal_dir(tmp_path).mkdir()
    path = other_file(
        tmp_path, f"2026-11-30-{SOURCE}.db", "PRAGMA application_id = 1280266064", "PRAGMA user_version = 99"
    )
    before = path.read_bytes()
    sink = JournalSink(tmp_path, SOURCE)
    Scene(sink).start_session()
    sink.close(10)
    assert path.read_bytes() == before
    assert sink.lost == 1
    (record,) = caplog.records
    assert "newer Loopline" in record.getMessage()
