"""Real bash under observation: what a command line starts and which files it leaves behind.

No program is on the path, so bash hands each one to its own hook for commands that are not found, which writes the
arguments to a log. Builtins that only print are switched off and logged too; those that evaluate stay as they are.
`./tool` is a real program that logs itself.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import msgspec

BASH = "/bin/bash"
TIMEOUT_S = 20
FILES = ("a.txt", "b.txt", "-o", "tool")

_HOOK = """
exec 198>&"$TRACE_FD" {TRACE_FD}>&-
unset TRACE_FD BASH_ENV
enable -n echo pwd true false kill type help times dirs
command_not_found_handle() {
    builtin printf '%s\\0' "$#" "$@" >&198
    return $(( ${#1} % 2 ))
}
"""
_TOOL = """#!/bin/bash
builtin printf '%s\\0' "$(( $# + 1 ))" "$0" "$@" >&198
"""


class Trace(msgspec.Struct, frozen=True):
    """`started`: the arguments of each program, in order; `written`: new or changed files, relative to the folder."""

    started: tuple[tuple[str, ...], ...]
    written: tuple[str, ...]


class TracedBash:
    """Runs commands one after the other, each in a fresh folder below `place`."""

    def __init__(self, place: Path) -> None:
        self._folder, hook = place / "outer" / "work", place / "hook"
        hook.write_text(_HOOK)
        self._env = {"PATH": "/nonexistent", "HOME": str(place / "outer"), "BASH_ENV": str(hook), "LC_ALL": "C.UTF-8",
                     "X": "x y", "EMPTY": ""}  # fmt: skip

    def run(self, command: str) -> Trace:
        shutil.rmtree(self._folder.parent, ignore_errors=True)
        self._folder.mkdir(parents=True)
        for name in FILES:
            (self._folder / name).write_text(_TOOL if name == "tool" else name)
        (self._folder / "tool").chmod(0o755)
        reader, writer = os.pipe()
        with os.fdopen(reader, "rb") as log:
            try:
                subprocess.run(
                    [BASH, "-c", command],
                    cwd=self._folder,
                    env={**self._env, "TRACE_FD": str(writer)},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(writer,),
                    timeout=TIMEOUT_S,
                    check=False,
                )
            finally:
                os.close(writer)
            started = _read(log.read())  # to the end of the last process that it left in the background
        return Trace(tuple(started), tuple(self._written()))

    def _written(self) -> list[str]:
        found = []
        for folder, _, names in os.walk(self._folder.parent):
            for name in names:
                path = Path(folder, name)
                relative = os.path.relpath(path, self._folder)
                if relative not in FILES or path.read_text() != (_TOOL if name == "tool" else name):
                    found.append(relative)
        return found


def _read(log: bytes) -> list[tuple[str, ...]]:
    fields = log.decode("utf-8", "surrogateescape").split("\0")[:-1]
    found = []
    while fields:
        count = int(fields[0])
        found.append(tuple(fields[1 : count + 1]))
        fields = fields[count + 1 :]
    return found
