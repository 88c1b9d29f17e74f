"""What stands in for a closed file that git tracks: as long and as old as the file, and empty of what it says.

git believes a file's length and time of change where both are as in its index, so `git add -A` neither reads the file
nor takes it for changed or gone. One that is not tracked is ignored, by lines behind those of `.git/info/exclude`. A
file that differs from the index is hidden in the plain way, which git refuses to add: what is closed is never committed
in another form.
"""

from __future__ import annotations

import os
import shutil
import struct
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from agent_core.tools.workspace.git_places import Repository

MAX_INDEX_BYTES = 64_000_000
STAT_ONLY: Mapping[str, str] = {"core.checkStat": "minimal", "core.trustctime": "false"}
"""For git in the sandbox: length and time are all that it compares."""

_HEAD = struct.Struct(">10I20sH")
"""Of an entry in an index of version 2 or 3 (gitformat-index(5)): times, numbers, mode, length, hash, flags."""


class Covers:
    """Belongs to one session; `close` removes the stand-ins."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._made: dict[tuple[str, int, int], str] = {}
        self._index: tuple[str, tuple[int, int], bytes] = ("", (0, 0), b"")

    def sources(self, closed: Sequence[str], repositories: Sequence[Repository]) -> dict[str, str]:
        """A stand-in for each closed file that needs one, and for the lists of ignored files of their repositories."""
        found: dict[str, str] = {}
        ignored: dict[str, list[str]] = {}
        for path in closed:
            home = max((each for each in repositories if path.startswith(each.top + "/")), key=_depth, default=None)
            if home is None:
                continue
            if (source := self._source(path, home)) is not None:
                found[path] = source
            elif self._tracked(relative := path.removeprefix(home.top + "/"), home) is None:
                ignored.setdefault(f"{home.common}/info/exclude", []).append(_as_pattern(relative))
        for path, lines in ignored.items():
            with suppress(OSError):
                found[path] = self._with_lines(path, lines)
        return found

    def close(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
            self._made.clear()

    def _source(self, path: str, home: Repository) -> str | None:
        try:
            there = Path(path).lstat()
            tracked = self._tracked(path.removeprefix(home.top + "/"), home)
            if tracked != (int(there.st_mtime), there.st_size & 0xFFFFFFFF) or not there.st_size:
                return None
            return self._made.get(key := (path, there.st_mtime_ns, there.st_size)) or self._make(key, there)
        except OSError:
            return None

    def _with_lines(self, path: str, lines: Sequence[str]) -> str:
        own = Path(path).read_bytes()
        text = own + b"\n" + b"".join(os.fsencode(line) + b"\n" for line in lines)
        key = (path, len(text), hash(text))
        if key not in self._made:
            cover = self._place()
            cover.write_bytes(text)
            self._made[key] = str(cover)
        return self._made[key]

    def _place(self) -> Path:
        if self._folder is None:
            self._folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="loopline-covers-")))
        return self._folder / str(len(self._made))

    def _make(self, key: tuple[str, int, int], there: os.stat_result) -> str:
        cover = self._place()
        handle = os.open(cover, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(handle, "wb") as file:  # noqa: PTH123
            file.truncate(there.st_size)
        cover.chmod(there.st_mode & 0o777)
        os.utime(cover, ns=(there.st_mtime_ns, there.st_mtime_ns))
        self._made[key] = str(cover)
        return str(cover)

    def _tracked(self, relative: str, home: Repository) -> tuple[int, int] | None:
        """Time of change (s) and length of a file as the index has them; None where it is not in it."""
        data = self._read(f"{home.folder}/index")
        name = os.fsencode(relative)
        at = data.find(name + b"\0")
        while at >= 0:
            for start in (at - _HEAD.size, at - _HEAD.size - 2):
                if start >= 12:
                    head = _HEAD.unpack_from(data, start)
                    if head[11] & 0xFFF == min(len(name), 0xFFF) and head[6] >> 12 == 0b1000:
                        return head[2], head[9]
            at = data.find(name + b"\0", at + 1)
        return None

    def _read(self, path: str) -> bytes:
        with suppress(OSError):
            found = Path(path).stat()
            stamp = (found.st_mtime_ns, found.st_size)
            if self._index[:2] != (path, stamp) and found.st_size <= MAX_INDEX_BYTES:
                self._index = (path, stamp, Path(path).read_bytes())
            return self._index[2] if self._index[:2] == (path, stamp) else b""
        return b""


def _as_pattern(relative: str) -> str:
    """A path as gitignore(5) takes it for itself."""
    return "/" + "".join(f"\\{each}" if each in "\\*?[]#! " else each for each in relative)


def _depth(repository: Repository) -> int:
    return len(repository.top)
