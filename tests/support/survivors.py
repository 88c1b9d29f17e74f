"""Which processes were started below a test's home: found by the environment they inherited."""

from __future__ import annotations

import time
from pathlib import Path


def processes_of(home: Path) -> dict[int, str]:
    """Live processes whose environment names `home`, with their command lines; zombies do not count."""
    marker = str(home).encode()
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if marker not in (entry / "environ").read_bytes():
                continue
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if state != "Z":
            found[int(entry.name)] = command
    return found


def wait_until_none(home: Path, timeout_s: float) -> dict[int, str]:
    """Wait until no process of `home` is left; what is left after `timeout_s` seconds."""
    give_up = time.monotonic() + timeout_s
    while (left := processes_of(home)) and time.monotonic() < give_up:
        time.sleep(0.02)
    return left
