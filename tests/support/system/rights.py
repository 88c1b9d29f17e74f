"""Work without the rights of root, where the tests run as root."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


@contextmanager
def somebody_else() -> Iterator[None]:
    """Without root's right to read and write everything. A plain user stays who it is. Folders above what is to be
    found must let others pass: see `let_pass`."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def let_pass(folder: Path) -> None:
    """Let others pass through `folder` and those above it that are ours, without listing them."""
    for place in (folder, *folder.parents):
        if place.stat().st_uid == os.geteuid() and place != Path("/"):
            place.chmod(place.stat().st_mode | 0o011)


def as_somebody_else(work: Callable[[], str]) -> str:
    """What `work` gives in a process of its own that gave root's rights up for good, threads of it included."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read_end)
            if os.geteuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            text = work()
        except BaseException as error:
            text = f"raised {error!r}"
        os.write(write_end, text.encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        text = pipe.read().decode()
    os.waitpid(child, 0)
    return text
