"""Contents and steps of a session's turns on disk, so that turns can be undone. Never inside the workspace.

Two files per session in one folder: `<session>.log`, JSON lines of what was done, and `<session>.pack`, the contents,
each once, found by digest. Only the process that hosts the session writes them. Old sessions make room for new ones;
a session that grows past its share gives up its oldest turns.
"""

from __future__ import annotations

import fcntl
import os
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from agent_core.agent.record_lines import parted, sealed
from agent_core.text import kept_name, real_name, to_json

MAX_OBJECT_BYTES = 4_000_000
SHARE = 0.5
"""Part of the room that one session may fill."""


class Side(msgspec.Struct, frozen=True):
    """A file as it was: `digest` of its bytes in hex, permission bits (None: not known), `kept`: the bytes are here."""

    digest: str
    mode: int | None
    kept: bool


class Step(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="step"):
    """One file changed in a turn, by an edit of the agent's or by a command of it. `before` None: it did not exist;
    `after` None: it is gone."""

    n: int
    turn: str
    root: str
    path: str
    before: Side | None
    after: Side | None
    by: Literal["edit", "command"] = "edit"


class Void(msgspec.Struct, frozen=True, tag_field="kind", tag="void"):
    """Step `n` did not happen after all."""

    n: int


class MadeFolder(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="folder"):
    turn: str
    root: str
    path: str


class NotCovered(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="gap"):
    """Something in a turn that can't be undone, and why."""

    turn: str
    what: str


class _Object(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="object"):
    digest: str
    start: int
    size: int


Record = Step | Void | MadeFolder | NotCovered
_decoder: msgspec.json.Decoder[Record | _Object] = msgspec.json.Decoder(Record | _Object)


def _named(record: Record | _Object, name: Callable[[str], str]) -> Record | _Object:
    """The record with its names as they are kept, or as they are."""
    if isinstance(record, Step | MadeFolder):
        return msgspec.structs.replace(record, root=name(record.root), path=name(record.path))
    return record


class Store:
    """`room_bytes` 0: nothing is kept. Opening it makes room among older sessions. Errors of the disk mean that a
    content is not kept, never that an edit fails."""

    def __init__(self, folder: Path, session: str, room_bytes: int) -> None:
        self._log_path, self._pack_path = folder / f"{session}.log", folder / f"{session}.pack"
        self._limit = int(room_bytes * SHARE)
        self._objects: dict[str, tuple[int, int]] = {}
        self._size = 0
        self._fresh: dict[str, None] = {}
        self._log = self._pack = -1
        self.records: list[Record] = []
        if not room_bytes:
            return
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            prune(folder, room_bytes - self._limit, keep=session)
            self._open()

    def close(self) -> None:
        for handle in (self._log, self._pack):
            if handle >= 0:
                os.close(handle)
        self._log = self._pack = -1

    @property
    def open(self) -> bool:
        """False where nothing can be kept."""
        return self._pack >= 0

    def has(self, digest: str) -> bool:
        return digest in self._objects

    def put(self, digest: str, data: bytes) -> bool:
        """Keep a content; False if there is no room or the disk refuses."""
        self._fresh[digest] = None
        if digest in self._objects:
            return True
        if self._pack < 0 or len(data) > MAX_OBJECT_BYTES:
            return False
        packed = zlib.compress(data, 1)
        if self._size + len(packed) > self._limit and not self._give_up_oldest(len(packed)):
            return False
        try:
            if os.write(self._pack, packed) != len(packed):
                return False
        except OSError:
            return False
        self._keep(_Object(digest=digest, start=self._size, size=len(packed)))
        self._size += len(packed)
        return True

    def get(self, digest: str) -> bytes | None:
        """A content, or None if it is not here."""
        place = self._objects.get(digest)
        if place is None or self._pack < 0:
            return None
        try:
            return zlib.decompress(os.pread(self._pack, place[1], place[0]))
        except (OSError, zlib.error):
            return None

    def add(self, record: Record) -> None:
        """Note what was done. Contents that were put since the step before are in use until then."""
        if isinstance(record, Step):
            self._fresh.clear()
        self.records.append(record)
        self._write(record)

    def _keep(self, item: _Object) -> None:
        self._objects[item.digest] = (item.start, item.size)
        self._write(item)

    def _write(self, record: Record | _Object) -> None:
        if self._log >= 0:
            with suppress(OSError):
                os.write(self._log, sealed(to_json(_named(record, kept_name))))

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._log, self._pack = os.open(self._log_path, flags, 0o600), os.open(self._pack_path, flags, 0o600)
        fcntl.flock(self._log, fcntl.LOCK_SH)
        self._size = os.fstat(self._pack).st_size
        data = self._log_path.read_bytes()
        whole = data.rfind(b"\n") + 1
        os.ftruncate(self._log, whole)
        self.records, self._objects = read_log(data[:whole], self._size)

    def _give_up_oldest(self, wanted: int) -> bool:
        """Write both files anew without the oldest turns, so that half of the share is free. False if one turn, or
        `wanted`, is more than that."""
        turns = list(dict.fromkeys(step.turn for step in self.records if isinstance(step, Step)))
        kept: set[str] = set()
        digests = {digest: None for digest in self._fresh if digest in self._objects}
        size = wanted + sum(self._objects[digest][1] for digest in digests)
        for turn in reversed(turns):
            more = [digest for digest in self._digests_of({turn}) if digest not in digests]
            size += sum(self._objects[digest][1] for digest in more)
            if size > self._limit // 2:
                break
            kept.add(turn)
            digests |= dict.fromkeys(more)
        if not kept.symmetric_difference(turns) or wanted > self._limit // 2:
            return False
        contents = {digest: self.get(digest) for digest in digests}
        numbers = {record.n for record in self.records if isinstance(record, Step) and record.turn in kept}
        records = [each for each in self.records if isinstance(each, Void) and each.n in numbers or _of(each) in kept]
        os.ftruncate(self._log, 0)
        os.ftruncate(self._pack, 0)
        self._objects, self._size, self.records = {}, 0, []
        fresh = dict(self._fresh)
        for digest, data in contents.items():
            if data is not None:
                self.put(digest, data)
        for record in records:
            self.add(record)
        self._fresh = fresh
        return True

    def _digests_of(self, turns: set[str]) -> Iterable[str]:
        for record in self.records:
            if isinstance(record, Step) and record.turn in turns:
                for side in (record.before, record.after):
                    if side is not None and side.digest in self._objects:
                        yield side.digest


def read_log(data: bytes, pack_bytes: int) -> tuple[list[Record], dict[str, tuple[int, int]]]:
    """What whole lines of a log say: the records, and where contents are in a pack of that size (offset, bytes). Of a
    damaged line it can't be known what it was of, so that each turn is told to be covered in part."""
    records: list[Record] = []
    objects: dict[str, tuple[int, int]] = {}
    damaged = 0
    for line in parted(data):
        damaged += line.record is None
        with suppress(msgspec.MsgspecError):
            record = _named(_decoder.decode(line.record or b""), real_name)
            if not isinstance(record, _Object):
                records.append(record)
            elif record.start + record.size <= pack_bytes:
                objects[record.digest] = (record.start, record.size)
    if damaged:
        what = f"{damaged} damaged record{'s' if damaged > 1 else ''} of the session's checkpoints"
        records += [NotCovered(turn=turn, what=what) for turn in dict.fromkeys(filter(None, map(_of, records)))]
    return records, objects


def _of(record: Record) -> str | None:
    return None if isinstance(record, Void) else record.turn


def prune(folder: Path, room_bytes: int, *, keep: str = "") -> None:
    """Delete what the sessions that nobody hosts keep, oldest first, until the rest fits into `room_bytes`."""
    found = []
    for log in folder.glob("*.log"):
        with suppress(OSError):
            pack = log.with_suffix(".pack")
            size = log.stat().st_size + (pack.stat().st_size if pack.exists() else 0)
            found.append((log.stat().st_mtime, size, log))
    total = sum(size for _, size, log in found if log.stem != keep)
    for _, size, log in sorted(found):
        if total <= room_bytes:
            return
        if log.stem != keep and forget(log):
            total -= size


def forget(log: Path) -> bool:
    """Delete a session's files unless a process holds them."""
    try:
        handle = os.open(log, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        log.with_suffix(".pack").unlink(missing_ok=True)
        log.unlink(missing_ok=True)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True
