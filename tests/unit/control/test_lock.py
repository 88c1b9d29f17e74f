"""Who hosts a session: held, released, and taken over from a process that was killed."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agent_core.control.lock import Holder, SessionHeld, SessionLock, read_holder

SINCE = "2026-11-30T00:53:20.000000Z"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / "sess_1.lock"


def test_a_session_has_one_host_and_says_which(path: Path) -> None:
    lock = SessionLock(path, Holder(pid=41, since=SINCE))
    lock.write(Holder(pid=41, since=SINCE, socket="/run/x.sock"))
    with pytest.raises(SessionHeld) as told:
        SessionLock(path, Holder(pid=42, since=SINCE))
    assert told.value.holder == Holder(pid=41, since=SINCE, socket="/run/x.sock")
    assert read_holder(path) == told.value.holder
    lock.release()
    lock.release()
    assert read_holder(path) is None
    assert not path.exists()
    again = SessionLock(path, Holder(pid=42, since=SINCE))
    assert not again.took_over
    again.release()


def test_a_dead_hosts_session_is_taken_over(path: Path) -> None:
    program = (
        "import sys, time, pathlib; from agent_core.control.lock import SessionLock, Holder\n"
        "l = SessionLock(pathlib.Path(sys.argv[1]), Holder(pid=1, since='')); print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(SessionHeld):
            SessionLock(path, Holder(pid=2, since=SINCE))
        process.kill()
    assert read_holder(path) is None, "what a dead host said counts for nothing"
    lock = SessionLock(path, Holder(pid=2, since=SINCE))
    assert lock.took_over
    assert read_holder(path) == Holder(pid=2, since=SINCE)
    lock.release()


def test_looking_never_makes_a_taker_fail(path: Path) -> None:
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            read_holder(path)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(100):
            SessionLock(path, Holder(pid=1, since=SINCE)).release()
    finally:
        stop.set()
        looking.join(10)
