"""Sessions on disk: listed, copied, renamed, deleted; what another process hosts is only looked at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_core.agent.archive import Archive
from agent_core.agent.history import History, SessionHeader
from agent_core.control.lock import Holder, SessionHeld, SessionLock
from agent_core.errors import StateError, UsageError

ITEMS = [b'{"type":"message","role":"user","content":"a"}', b'{"type":"message","role":"assistant","content":"b"}']


def write(folder: Path, session: str, created: str = "2026-01-01T00:00:00Z", *statuses: str) -> Path:
    history = History.create(folder, SessionHeader(id=session, created=created, roots=("/w",), model="m"))
    for number, status in enumerate(statuses):
        history.mark_turn(f"turn_{number}", "started")
        if status != "started":
            history.mark_turn(f"turn_{number}", status)
    history.append(ITEMS)
    history.close()
    return history.path


def held(folder: Path, session: str) -> SessionLock:
    return SessionLock(folder / f"{session}.lock", Holder(pid=os.getpid(), since=""))


def test_sessions_are_listed_newest_first_with_how_they_stand(tmp_path: Path) -> None:
    write(tmp_path, "sess_a", "2026-01-01T00:00:00Z", "completed", "failed")
    write(tmp_path, "sess_b", "2026-01-03T00:00:00Z", "started")
    write(tmp_path, "sess_c", "2026-01-02T00:00:00Z")
    (tmp_path / "sess_d.jsonl").write_bytes(b"not json\n")
    (tmp_path / "notes.txt").touch()
    entries = {entry.id: entry for entry in Archive(tmp_path).entries()}
    assert list(entries) == ["sess_b", "sess_c", "sess_a", "sess_d"]
    assert (entries["sess_a"].turns, entries["sess_a"].status, entries["sess_a"].items) == (2, "failed", 2)
    assert (entries["sess_b"].status, entries["sess_b"].host_pid) == ("interrupted", None)
    assert entries["sess_c"].status == "" and entries["sess_c"].roots == ("/w",)
    assert "sess_d.jsonl: holds no session" in entries["sess_d"].problem
    lock = held(tmp_path, "sess_b")
    try:
        (hosted,) = [entry for entry in Archive(tmp_path).entries() if entry.id == "sess_b"]
        assert (hosted.status, hosted.host_pid) == ("running", os.getpid())
    finally:
        lock.release()
    assert Archive(tmp_path / "none").entries() == []


def test_a_title_is_kept_and_the_last_one_counts(tmp_path: Path) -> None:
    write(tmp_path, "sess_a")
    archive = Archive(tmp_path)
    archive.rename("sess_a", "first")
    archive.rename("sess_a", "  second  ")
    assert archive.load("sess_a").title == "second" and archive.entries()[0].title == "second"
    assert archive.load("sess_a").items.raw(0) == ITEMS
    with pytest.raises(UsageError):
        archive.rename("sess_a", "  ")


def test_a_fork_is_a_session_of_its_own(tmp_path: Path) -> None:
    path = write(tmp_path, "sess_a", "2026-01-01T00:00:00Z", "completed")
    before = path.read_bytes()
    archive = Archive(tmp_path)
    fork = archive.load(archive.fork("sess_a", "2026-02-01T00:00:00Z"))
    assert fork.items.raw(0) == ITEMS and fork.header.created == "2026-02-01T00:00:00Z"
    assert fork.header.id != "sess_a" and fork.title == "fork of sess_a" and fork.turns == []
    assert path.read_bytes() == before


def test_a_fork_of_a_compacted_session_goes_on_from_the_compaction(tmp_path: Path) -> None:
    path = write(tmp_path, "sess_a")
    history = History.load(path)
    history.compact([b'{"type":"message","role":"user","content":"summary"}'], "local")
    history.close()
    archive = Archive(tmp_path)
    fork = archive.load(archive.fork("sess_a", ""))
    assert fork.items.raw(0) == history.items.raw(0)
    assert fork.context() == history.context()


def test_what_a_process_hosts_is_left_alone(tmp_path: Path) -> None:
    path = write(tmp_path, "sess_a")
    archive = Archive(tmp_path)
    lock = held(tmp_path, "sess_a")
    try:
        with pytest.raises(SessionHeld):
            archive.delete("sess_a")
        with pytest.raises(SessionHeld):
            archive.rename("sess_a", "x")
        assert archive.load(archive.fork("sess_a", "")).items.raw(0) == ITEMS
    finally:
        lock.release()
    archive.delete("sess_a")
    assert not path.exists() and not path.with_suffix(".lock").exists()


@pytest.mark.parametrize("name", ["../sess_a", "", "a/b", "sess a", "."])
def test_names_that_are_no_ids_reach_no_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        Archive(tmp_path).delete(name)
    with pytest.raises(StateError) as caught:
        Archive(tmp_path).load("sess_none")
    assert caught.value.code == "state_missing"
