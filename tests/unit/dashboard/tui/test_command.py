"""`loopline tui` as a process on a real terminal: it draws, it quits with 0, and bad options cost nothing."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from agent_core.errors import StateError, UsageError
from agent_core.telemetry.codec import encode_event
from agent_core.telemetry.journal import JournalSink
from dashboard.tui.command import since, tui_command
from tests.support.dashboard import recorded_feed, restamped

WAIT_S = 60.0
PROGRAM = (
    "import sys, pathlib; from dashboard.tui.command import tui_command\n"
    "path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None\n"
    "sys.exit(tui_command(replay=path, speed=0.0, hub=None))"
)


class Terminal:
    """A process on a pseudo terminal of 120 x 32."""

    def __init__(self, state: Path, *arguments: str) -> None:
        self._main, child = pty.openpty()
        termios.tcsetwinsize(child, (32, 120))
        env = {
            **os.environ,
            "XDG_STATE_HOME": str(state),
            "XDG_RUNTIME_DIR": str(state / "run"),
            "TERM": "xterm-256color",
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments], stdin=child, stdout=child, stderr=child, env=env
        )
        os.close(child)
        self.shown = b""

    def until(self, text: str) -> None:
        give_up = time.monotonic() + WAIT_S
        while text.encode() not in self.shown:
            assert time.monotonic() < give_up, self.shown[-2000:]
            if select.select([self._main], [], [], 0.2)[0]:
                self.shown += os.read(self._main, 65_536)
            assert self.process.poll() is None, self.shown[-2000:]

    def press(self, keys: str) -> None:
        os.write(self._main, keys.encode())

    def end(self) -> int:
        """Its exit code, once it ended by itself; what it still writes is taken."""
        give_up = time.monotonic() + WAIT_S
        while self.process.poll() is None:
            assert time.monotonic() < give_up
            if select.select([self._main], [], [], 0.05)[0]:
                try:
                    self.shown += os.read(self._main, 65_536)
                except OSError:
                    break
        return self.process.wait(WAIT_S)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(WAIT_S)
        os.close(self._main)


def test_it_follows_live_journals_and_q_quits_with_0(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
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
    terminal = Terminal(tmp_path, str(path))
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
