"""A folder that a command writes a report into, and that we read it from: two names for one place.

A command may be confined, and see the place under another name; what it leaves there is not to be trusted: links are
not followed, and only so many bytes are read.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


class Scratch:
    """`there` is the folder's path for the command. Build with `open_scratch`."""

    def __init__(self, there: str, handle: int) -> None:
        self.there = there
        self._handle = handle

    def read(self, name: str, max_bytes: int) -> bytes | None:
        """The bytes of a file; None if there is none, it is no plain file, or it is larger."""
        try:
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._handle)
        except OSError:
            return None
        with open(file, "rb") as opened:  # noqa: PTH123
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode) or found.st_size > max_bytes:
                return None
            return opened.read(max_bytes)


@contextmanager
def open_scratch(folder: str | None = None, there: str | None = None) -> Iterator[Scratch]:
    """A fresh folder, gone at the end. It lies in `folder`, which commands know as `there`; None: the system's own
    place, under one name for all."""
    with tempfile.TemporaryDirectory(prefix="loopline-", dir=folder, ignore_cleanup_errors=True) as made:
        handle = os.open(made, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield Scratch(f"{there}/{os.path.basename(made)}" if there else made, handle)  # noqa: PTH119
        finally:
            os.close(handle)
