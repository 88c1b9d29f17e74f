"""What a user allowed for good in a session: keyed by root, tool and the command in its normal form.

Kept in a file beside the session's history, so that a session that is taken up again does not ask anew. A file that
can't be read allows nothing, one that can't be written is no error: the grant then holds for this process.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec


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
                self._append(self._path, msgspec.json.encode(grant) + b"\n")

    def _append(self, path: Path, line: bytes) -> None:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)


def _read(path: Path) -> list[_Grant]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return []
    found: list[_Grant] = []
    for line in lines:
        with suppress(msgspec.MsgspecError):
            found.append(msgspec.json.decode(line, type=_Grant))
    return found
