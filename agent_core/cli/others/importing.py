"""`loopline import`: other agents' own session logs into the journal, figures only, and only what is new.

Each log is a source of its own, and an event's sequence comes from its line, so that a line that is read again, also
after a kill, is the same event. A line that is damaged is set aside: passed over, counted, and shown with its place.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import msgspec

from agent_core.cli.console import make_console
from agent_core.cli.others.logs import PLACES, READERS, BadLine, Reader, parse
from agent_core.clock import rfc3339
from agent_core.config.paths import state_dir
from agent_core.errors import UsageError
from agent_core.telemetry.events import SCHEMA_VERSION, CallReported, Event
from agent_core.telemetry.journal.sink import JournalSink
from agent_core.telemetry.screen import say
from agent_core.untrusted_files import FILE, kind_of
from agent_core.variables import variables

MAX_LINE_BYTES = 8 << 20
"""A longer line holds a text that is not read anyway; it is passed over. As JSON a line of empty parts takes thirty
times as much."""
PER_LINE = 4
"""Sequences that a line may use."""
FLUSH_EVENTS = 2_000
SHOWN = 5
"""Damaged lines that are named."""


class Seen(msgspec.Struct):
    """How far a log was read. `lines` and `bytes` are whole lines."""

    lines: int = 0
    bytes: int = 0


class Imported(msgspec.Struct):
    logs: int = 0
    calls: int = 0
    aside: list[str] = []
    """Damaged lines: file and number."""


def import_logs(agent: str, path: Path | None) -> None:
    """Raises `UsageError` for an agent that is not known, or a path without logs of it."""
    if agent not in READERS:
        raise UsageError(f"{agent[:40]!r}: expected one of {', '.join(READERS)}")
    env = variables()
    files = find_logs(agent, path, env)
    if not files:
        raise UsageError(f"no logs of {agent} {'in ' + str(path) if path else 'on this machine'}")
    done = Imported()
    for file in files:
        try:
            import_log(agent, file, state_dir(env), done)
        except UsageError as error:
            if len(files) == 1:
                raise
            say(f"passed over: {error.message}")
    for place in done.aside[:SHOWN]:
        say(f"damaged, set aside: {place}")
    more = f", {len(done.aside)} damaged lines set aside" if done.aside else ""
    make_console().print(f"{done.calls} calls of {agent} are new, of {done.logs} logs{more}.", soft_wrap=True)


def find_logs(agent: str, path: Path | None, env: Mapping[str, str]) -> list[Path]:
    """The logs below a folder, or the one that is named, in order."""
    variable, folder, pattern = PLACES[agent]
    if path is None:
        path = Path(env.get(variable) or Path(env.get("HOME") or Path.home()) / folder)
    if path.is_file():
        return [path]
    return sorted({*path.glob(pattern), *path.glob("*.jsonl")})


def open_log(file: Path) -> BinaryIO:
    """A log to be read. Any link counts, for the folder is the user's; a pipe or device that somebody put there is
    refused. Raises UsageError, OSError."""
    real = Path(os.path.realpath(file))
    handle = os.open(real, FILE)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise UsageError(f"{file}: {kind_of(os.fstat(handle).st_mode)}, no log")
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def import_log(agent: str, file: Path, states: Path, done: Imported) -> None:
    """Read what is new of one log; what was read is noted once its events are durable."""
    source = f"import-{agent}-{hashlib.blake2b(os.fsencode(os.path.realpath(file)), digest_size=6).hexdigest()}"
    note = states / "imports" / f"{source}.json"
    seen = _noted(note, file)
    sink, calls = JournalSink(states, source), set[str]()
    try:
        waiting = 0
        for event in _events(READERS[agent](), file, seen, source, done.aside):
            sink.emit(event)
            if isinstance(event, CallReported):
                calls.add(event.call or "")
            waiting += 1
            if waiting >= FLUSH_EVENTS:
                sink.flush(60)
                waiting = 0
    finally:
        sink.close(60)
    if sink.lost:
        raise UsageError(f"the journal could not keep {sink.lost} events of {file.name}; import again")
    done.logs += 1
    done.calls += len(calls)
    note.parent.mkdir(parents=True, exist_ok=True)
    fresh = note.with_suffix(".new")
    fresh.write_bytes(msgspec.json.encode(seen))
    fresh.replace(note)


def _events(reader: Reader, file: Path, seen: Seen, source: str, aside: list[str]) -> Iterator[Event]:
    """New events. Lines that were read before are read for their context only."""
    known, number, at = seen.lines, 0, 0
    try:
        with open_log(file) as log:
            while line := log.readline(MAX_LINE_BYTES):
                if not line.endswith(b"\n") and len(line) < MAX_LINE_BYTES:
                    break  # still being written
                at += len(line)
                if not line.endswith(b"\n"):
                    at += _skip(log)
                number += 1
                try:
                    found = list(reader.line(parse(line))) if line.strip() else []
                except BadLine as bad:
                    found = []
                    if number > known:
                        aside.append(f"{file}:{number}: {bad}")
                for index, (at_ns, event) in enumerate(found[:PER_LINE] if number > known else []):
                    yield _stamped(event, at_ns, source, number * PER_LINE + index)
                seen.lines, seen.bytes = max(known, number), max(seen.bytes, at)
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror}") from None


def _stamped(event: Event, at_ns: int, source: str, seq: int) -> Event:
    stamps = {"v": SCHEMA_VERSION, "source": source, "seq": seq, "time": rfc3339(at_ns), "mono_ns": at_ns}
    return msgspec.structs.replace(event, **stamps)


def _skip(log: BinaryIO) -> int:
    skipped = 0
    while part := log.readline(MAX_LINE_BYTES):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped


def _noted(note: Path, file: Path) -> Seen:
    """What was noted of a log; one that is shorter now is another one and is read anew."""
    try:
        seen = msgspec.json.decode(note.read_bytes(), type=Seen)
    except (OSError, msgspec.MsgspecError):
        return Seen()
    try:
        return seen if file.stat().st_size >= seen.bytes else Seen()
    except OSError:
        return Seen()
