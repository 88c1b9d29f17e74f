"""What each sandbox holds, cell by cell. Pure.

The table is what `doctor` and the README tell, and what decides whether `auto` may run commands: with a cell missing
they ask. `tests/interaction/tools/test_guarantees.py` tries each cell in each sandbox, as root and as another user.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Cell = Literal[
    "files",
    "guarded",
    "secrets",
    "environment",
    "capabilities",
    "devices",
    "terminal",
    "network",
    "sockets",
    "processes",
]

CELLS: Mapping[Cell, str] = {
    "files": "nothing outside the workspace can be written, nor its permissions and times changed",
    "guarded": "what runs by itself (.git, .envrc, .vscode and others) can neither be made nor changed",
    "secrets": "keys and passwords can't be read, neither the user's nor those in the workspace",
    "environment": "the variables and the memory of other processes can't be read",
    "capabilities": "no capability but those that root needs for files of others; no way to more",
    "devices": "no device but /dev/null and its like: no disks, no kernel log",
    "terminal": "the user's terminal can be neither read nor written, nor typed into",
    "network": "no network but the command's own loopback, unless the user opens it",
    "sockets": "local sockets of other programs, this one's control socket among them, can't be used",
    "processes": "other processes are neither seen nor signalled, and none outlives its command",
}

_MISSING_WITHOUT_NAMESPACES: frozenset[Cell] = frozenset({"files", "guarded", "secrets", "processes"})


def missing(kind: str, *, namespaces: bool) -> tuple[Cell, ...]:
    """The cells that do not hold. sandbox-exec is written after its manual, and never tried: it is taken to hold."""
    if kind == "none":
        return tuple(CELLS)
    if kind == "sandbox-exec" or namespaces:
        return ()
    return tuple(cell for cell in CELLS if cell in _MISSING_WITHOUT_NAMESPACES)
