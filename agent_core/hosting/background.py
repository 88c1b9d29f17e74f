"""Sessions that go on without a front end: each such process leaves a note in the runtime folder while it runs.

A note counts only while the process that it names holds the session; else it is left over, and is cleared away.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from agent_core.agent.archive import Archive, Entry
from agent_core.config.paths import runtime_dir, state_dir

MAX_BYTES = 4096
"""Of a note."""


class Background(msgspec.Struct, frozen=True, kw_only=True):
    """`since` is RFC 3339."""

    session: str
    pid: int
    since: str


@contextlib.contextmanager
def noted(env: Mapping[str, str], session_id: str, since: str) -> Iterator[None]:
    """While entered, this process is known to host the session in the background. Where the note can't be written the
    session goes on all the same."""
    path = _folder(env) / f"{os.getpid()}.json"
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_bytes(msgspec.json.encode(Background(session=session_id, pid=os.getpid(), since=since)))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def backgrounds(env: Mapping[str, str]) -> list[tuple[Background, Entry]]:
    """The sessions that run in the background, newest first, as the archive lists them."""
    held = {entry.id: entry for entry in Archive(state_dir(env) / "sessions").entries() if entry.host_pid is not None}
    found: list[tuple[Background, Entry]] = []
    for path in sorted(_folder(env).glob("*.json")):
        note = _read(path)
        entry = held.get(note.session) if note is not None else None
        if note is not None and entry is not None and entry.host_pid == note.pid:
            found.append((note, entry))
        else:
            path.unlink(missing_ok=True)
    return sorted(found, key=lambda each: each[0].since, reverse=True)


def stop(background: Background) -> None:
    """Ask its process to stop what runs and to end; what was done is kept. One that is gone is left alone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(background.pid, signal.SIGTERM)


def _folder(env: Mapping[str, str]) -> Path:
    return runtime_dir(env) / "background"


def _read(path: Path) -> Background | None:
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(MAX_BYTES), type=Background)
    except (OSError, msgspec.MsgspecError):
        return None
