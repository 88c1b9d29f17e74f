"""Retention unlinks whole files and nothing that lives."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_core.telemetry import events as ev
from agent_core.telemetry.journal import retention
from agent_core.telemetry.journal.layout import content_dir, is_alive, journal_dir, list_files, list_journals
from agent_core.telemetry.journal.retention import sweep
from agent_core.telemetry.journal.sink import JournalSink
from tests.support.telemetry.scene import EPOCH_NS, Scene

SOURCE = "h000000-1-aaaaaa"
DAY_NS = 24 * 3600 * 1_000_000_000


def day(number: int) -> int:
    """Nanoseconds of the scene's start plus so many days."""
    return EPOCH_NS + number * DAY_NS


def written(state_dir: Path, days: int) -> JournalSink:
    """An open journal with figures and content on each of so many days."""
    sink = JournalSink(state_dir, SOURCE, content=True)
    scene = Scene(sink)
    for number in range(days):
        scene.emit(ev.ConnectionPrewarmed())
        scene.emit(ev.Content(kind="user", text="text"))
        if number < days - 1:
            scene.wait(DAY_NS / 1e6)
    assert sink.flush(20)
    return sink


def dates(directory: Path) -> list[str]:
    return [file.date for file in list_files(directory)]


def test_old_files_go_and_content_goes_first(tmp_path: Path) -> None:
    written(tmp_path, 5).close(10)
    before = sum(path.stat().st_size for path in journal_dir(tmp_path).rglob("*.db*"))
    swept = sweep(tmp_path, day(4), figure_days=3, content_days=1)
    assert dates(journal_dir(tmp_path)) == ["2026-12-01", "2026-12-02", "2026-12-03", "2026-12-04"]
    assert dates(content_dir(tmp_path)) == ["2026-12-03", "2026-12-04"]
    assert swept.files == 4
    after = sum(path.stat().st_size for path in journal_dir(tmp_path).rglob("*.db*"))
    assert swept.freed_bytes == before - after > 0
    assert swept.backlog == 0
    assert sweep(tmp_path, day(4), figure_days=3, content_days=1).files == 0


def test_a_living_process_keeps_the_file_it_writes(tmp_path: Path) -> None:
    sink = written(tmp_path, 3)
    assert sweep(tmp_path, day(90)).files == 4
    assert dates(journal_dir(tmp_path)) == dates(content_dir(tmp_path)) == ["2026-12-02"]
    assert is_alive(tmp_path, SOURCE)
    sink.close(10)
    assert sweep(tmp_path, day(90)).files == 2
    assert [path for path in journal_dir(tmp_path).rglob("*") if path.is_file()] == []


def test_what_a_killed_writer_left_goes_with_its_file(tmp_path: Path) -> None:
    written(tmp_path, 1).close(10)
    (file,) = list_journals(tmp_path)
    for end in ("-wal", "-shm"):
        Path(file.path + end).write_bytes(b"left")
    lock = journal_dir(tmp_path) / f"{SOURCE}.lock"
    lock.touch()
    sweep(tmp_path, day(90))
    assert [path for path in journal_dir(tmp_path).rglob("*") if path.is_file()] == []


def test_a_file_from_the_future_lives_from_when_it_was_written(tmp_path: Path) -> None:
    sink = JournalSink(tmp_path, SOURCE)
    scene = Scene(sink)
    scene.clock.set_wall(day(400))
    scene.start_session()
    sink.close(10)
    (file,) = list_journals(tmp_path)
    os.utime(file.path, ns=(day(0), day(0)))
    assert sweep(tmp_path, day(20)).files == 0
    assert sweep(tmp_path, day(40)).files == 1


def test_a_sweep_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, 4).close(10)
    monkeypatch.setattr(retention, "MAX_FILES", 3)
    swept = sweep(tmp_path, day(90))
    assert (swept.files, swept.backlog) == (3, 5)
    assert sweep(tmp_path, day(90)).backlog == 2


def test_other_files_are_not_touched(tmp_path: Path) -> None:
    journal_dir(tmp_path).mkdir()
    keep = journal_dir(tmp_path) / "notes.txt"
    keep.write_text("mine")
    (journal_dir(tmp_path) / "2020-01-01-x.db").mkdir()
    assert sweep(tmp_path, day(90)).backlog == 1
    assert keep.exists()


def test_no_state_directory_is_nothing_to_do(tmp_path: Path) -> None:
    assert sweep(tmp_path / "nothing", day(0)) == retention.Swept(0, 0, 0)
