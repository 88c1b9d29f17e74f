"""What runs: by its number, and by the home that it was started in."""

from __future__ import annotations

import time
from pathlib import Path

from tests.support.suite.leftovers import processes_of, state_of
from tests.support.system.waiting import POLL_S


def alive(pid: int) -> bool:
    """True if the process runs; a zombie does not."""
    try:
        return state_of(pid) not in "ZX"
    except OSError:
        return False


def wait_until_none(home: Path, timeout_s: float) -> dict[int, str]:
    """Wait until no process of `home` is left; what is left after `timeout_s` seconds, with its command line."""
    give_up = time.monotonic() + timeout_s
    while (left := processes_of(home)) and time.monotonic() < give_up:
        time.sleep(POLL_S)
    return left
