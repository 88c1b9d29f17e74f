"""What a user allowed for good in a session: keyed by root, tool and the command in its normal form.

Kept in a file beside the session's history, so that a session that is taken up again does not ask anew. A file that
can't be read, and a damaged line of it, allows nothing; one that can't be written is no error: the grant then holds for
this process.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path

import msgspec

from agent_core.agent.record_lines import parted, sealed
from agent_core.text import to_json

log = logging.getLogger(__name__)


class _Grant(msgspec.Struct, frozen=True):
    root: str
    tool: str
    pattern: str


class Grants:
    """`path` None: nothing is kept beyond this process."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._held: set[_Grant] = set(_read(path)) if path is not None else set()

    def has(self, root: str, tool: str, pattern: str) -> bool:
        return _Grant(root, tool, pattern) in self._held

    def add(self, root: str, tool: str, pattern: str) -> None:
        grant = _Grant(root, tool, pattern)
        if grant in self._held:
            return
        self._held.add(grant)
        if self._path is not None:
            with suppress(OSError):
                self._append(self._path, sealed(to_json(grant)))

    def _append(self, path: Path, line: bytes) -> None:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)


def _read(path: Path) -> list[_Grant]:
    try:
        data = path.read_bytes()
    except OSError:
        return []
    found: list[_Grant] = []
    for line in parted(data):
        if line.record is None:
            log.warning("%s: line %d is damaged; what it allowed is asked anew", path, line.number)
            continue
        with suppress(msgspec.MsgspecError):
            found.append(msgspec.json.decode(line.record, type=_Grant))
    return found
