"""Installing from the registries once, into a folder that is kept."""

from __future__ import annotations

import fcntl
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

INSTALL_S = 600.0


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Two runs or workers at once must not install into the same folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install(command: Sequence[str], cwd: Path | None = None) -> None:
    """Run an installer to its end. Raises OSError or subprocess.SubprocessError."""
    subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True, timeout=INSTALL_S)


def last_words(error: Exception) -> str:
    """Why it failed, in a line."""
    if isinstance(error, subprocess.CalledProcessError):
        lines = [line for line in str(error.stderr).strip().splitlines() if line.strip()]
        return lines[-1][:300] if lines else f"exit code {error.returncode}"
    return str(error)[:300]
