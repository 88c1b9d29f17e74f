"""`loopline tui` as a process on a real terminal: it draws, it quits with 0, and bad options cost nothing."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from agent_core.demo.sample import copy_to
from agent_core.errors import StateError, UsageError
from agent_core.telemetry.codec import encode_event
from agent_core.telemetry.journal.sink import JournalSink
from dashboard.tui.command import since, tui_command
from tests.support.telemetry.recorded_feed import recorded_feed, restamped
from tests.support.terminal.pty import Terminal

PROGRAM = (
    "import sys, pathlib; from dashboard.tui.command import tui_command\n"
    "path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None\n"
    "sys.exit(tui_command(replay=path, speed=0.0, hub=None))"
)
TUI = (sys.executable, "-c", PROGRAM)


def test_it_follows_live_journals_and_q_quits_with_0(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, *TUI)
    try:
        terminal.until("loopline demo")
        sink = JournalSink(tmp_path / "loopline", "h000000-1-aaaaaa")
        for event in restamped(recorded_feed(), time.time_ns()):
            if event.session == "sess_editor_a":
                sink.emit(event)
        assert sink.flush()
        terminal.until("waits for approval")
        terminal.press("?")
        terminal.until("where the time of the turn went")
        terminal.press("?q")
        assert terminal.end() == 0
        sink.close()
    finally:
        terminal.close()


def test_it_replays_an_export(tmp_path: Path) -> None:
    path = tmp_path / "export.ndjson"
    path.write_bytes(b"".join(encode_event(event) + b"\n" for event in recorded_feed()))
    terminal = Terminal(tmp_path, *TUI, str(path))
    try:
        terminal.until("replay ended")
        terminal.until("inventory #2")
        terminal.press("5")
        terminal.until("rate_limit_exceeded")
        terminal.press("q")
        assert terminal.end() == 0
    finally:
        terminal.close()


def test_bad_options_are_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    for options in (
        {"replay": tmp_path / "x", "speed": 1.0, "hub": "http://hub.example"},
        {"replay": None, "speed": -1.0, "hub": None},
        {"replay": None, "speed": float("nan"), "hub": None},
    ):
        with pytest.raises(UsageError):
            tui_command(**options)
    with pytest.raises(StateError):
        tui_command(replay=tmp_path / "missing", speed=1.0, hub=None)


def test_the_last_day_is_whole_in_every_time_zone() -> None:
    assert since(1_796_000_000_000_000_000, 1) == "2026-11-29"
    assert since(1_796_000_000_000_000_000, 7) == "2026-11-23"


def test_a_live_session_is_watched_answered_and_cancelled(tmp_path: Path) -> None:
    """Two terminals: an agent that asks before it runs anything, and the dashboard that answers."""
    work = copy_to(tmp_path / "work")
    loopline = (sys.executable, "-m", "agent_core")
    with closing(Terminal(tmp_path, *TUI)) as watching:
        watching.until("loopline demo")
        with closing(Terminal(tmp_path, *loopline, "run", "-w", str(work), "fix the failing test")) as running:
            running.until("run shell")
            watching.until("waits for approval")
            watching.press("a")
            watching.until("always, in this session")
            watching.press("y")
            running.until("exit code: 0")
            running.until("run checks")
            watching.press("x")
            watching.until("Cancel this turn?")
            watching.press("y")
            assert running.end() == 130
        watching.until("cancelled")
        watching.press("q")
        assert watching.end() == 0
    assert list((tmp_path / "run" / "loopline").iterdir()) == [], "no socket stays behind"
