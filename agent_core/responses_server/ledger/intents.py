"""Intents on disk: one line each in an append-only file, written before the response's first event.

One `write` to the page cache costs a few microseconds and outlives a kill of the process, so admission needs neither a
transaction nor another thread. It does not outlive a loss of power: nothing here is synced.

Files belong to the process that holds their lock. A lock ends with its process, however that ends, so a file whose lock
can be had was left behind. A file is given up for a new one above `MAX_BYTES`, and deleted once all of its responses
are settled; under steady load none grows for ever.
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from agent_core.errors import StateError
from agent_core.responses_server.ledger.port import Intent

log = logging.getLogger(__name__)

MAX_BYTES = 1024 * 1024
SUFFIX = ".intents"

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Intent).decode


class _File:
    """One locked file and the responses in it that are not settled."""

    def __init__(self, path: Path) -> None:
        """Raises OSError. It gets its name once it is locked, so that nobody takes it for one left behind."""
        self.path = path
        self.bytes = 0
        self.open: set[str] = set()
        new = path.with_suffix(".new")
        self._fd = os.open(new, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            new.rename(path)
        except OSError:
            os.close(self._fd)
            new.unlink(missing_ok=True)
            raise

    def append(self, line: bytes) -> None:
        """Raises OSError."""
        written = os.write(self._fd, line)
        self.bytes += written
        if written < len(line):
            # A half line must not run into the next one; it is passed over when the file is read.
            os.write(self._fd, b"\n")
            raise OSError(28, "no space left on the device")

    def delete(self) -> None:
        self.path.unlink(missing_ok=True)
        self.leave()

    def leave(self) -> None:
        """Give the lock back and leave the file to whoever comes next."""
        os.close(self._fd)


class IntentLog:
    """The intents of this process, in `folder`. `process` is unique to it and makes the files' names."""

    def __init__(self, folder: Path, process: str) -> None:
        self._folder, self._process = folder, process
        self._files: list[_File] = []
        self._made = 0
        self._place: dict[str, _File] = {}

    @property
    def pending(self) -> int:
        return len(self._place)

    def append(self, intent: Intent) -> None:
        """Raises StateError."""
        line = _encode(intent) + b"\n"
        try:
            if not self._files or self._files[-1].bytes >= MAX_BYTES:
                self._begin()
            file = self._files[-1]
            file.append(line)
        except OSError as error:
            raise StateError(
                f"{self._folder}: no intent can be written: {error.strerror}", code="state_ledger"
            ) from error
        file.open.add(intent.response_id)
        self._place[intent.response_id] = file

    def settled(self, response_ids: list[str]) -> None:
        """These are durable elsewhere. Ids that are not open are passed over."""
        for response_id in response_ids:
            file = self._place.pop(response_id, None)
            if file is None:
                continue
            file.open.discard(response_id)
            if not file.open and file is not self._files[-1]:
                self._files.remove(file)
                file.delete()

    def close(self) -> None:
        """Files with open intents stay for whoever comes next."""
        for file in self._files:
            if file.open:
                file.leave()
            else:
                file.delete()
        self._files.clear()
        self._place.clear()

    def _begin(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._made += 1
        if self._files and not self._files[-1].open:
            self._files.pop().delete()
        self._files.append(_File(self._folder / f"{self._process}-{self._made}{SUFFIX}"))


class LeftBehind:
    """A file of a process that is gone, locked by us while we look at it."""

    def __init__(self, path: Path, fd: int) -> None:
        """`lost`: lines that are no intents, None if the file is blank, though each is begun with a line."""
        self._path, self._fd = path, fd
        data = path.read_bytes()
        self.intents = list(read_intents(data))
        self.lost = sum(bool(line) for line in data.split(b"\n")) - len(self.intents) if data else None

    def delete(self) -> None:
        """Remove it; one that was damaged is set aside and told of."""
        if self.lost == 0:
            self._path.unlink(missing_ok=True)
            return
        aside = self._path.with_name(f"{self._path.name}.damaged")
        self._path.replace(aside)
        what = "blank" if self.lost is None else f"damaged, lines that can't be read: {self.lost}"
        log.warning(
            "%s: %s; responses that were begun then and not closed are missing in the ledger. It is kept as %s",
            self._path, what, aside.name,
        )  # fmt: skip

    def release(self) -> None:
        os.close(self._fd)


def left_behind(folder: Path) -> Iterator[LeftBehind]:
    """Files of processes that are gone; the caller deletes each once its intents are closed. Raises OSError."""
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            fd = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            continue
        file = LeftBehind(path, fd)
        try:
            yield file
        finally:
            file.release()


def read_intents(data: bytes) -> Iterator[Intent]:
    """Whole lines only: the `admit` of a line that was cut short never returned."""
    for line in data.split(b"\n"):
        try:
            yield _decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
