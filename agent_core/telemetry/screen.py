"""The one exit of everything that people read on a terminal: what models, tools, files, services and errors say is
cleaned here, so that no caller can forget it.

`say` and `put` write a line to standard error or output. `guard_streams` puts both streams behind a filter when the
command line starts: tracebacks, logs, warnings and whatever a library prints pass through it too. A Rich console has
its own exit in `cli.console`, JSON for programs `write_json`. What is a protocol (the language server's stdio) is none
of these: no person reads it.
"""

from __future__ import annotations

import io
import sys
from typing import BinaryIO

from agent_core.telemetry.display import clean, escaped_json


class CleanStream(io.TextIOWrapper):
    """A text stream that cleans what is written. `below`: the stream before which it stands, for who draws colours."""

    def __init__(self, below: io.TextIOWrapper) -> None:
        below.flush()
        super().__init__(
            below.buffer, encoding=below.encoding, errors="backslashreplace", line_buffering=True, write_through=True
        )
        self.below = below

    def write(self, text: str) -> int:
        super().write(clean(text))
        return len(text)

    def close(self) -> None:
        """The stream below is the process's own and stays open."""
        self.flush()


def guard_streams() -> None:
    """Clean all text on standard output and error from now on. Streams that a test put there are left."""
    if type(sys.stdout) is io.TextIOWrapper:
        sys.stdout = CleanStream(sys.stdout)
    if type(sys.stderr) is io.TextIOWrapper:
        sys.stderr = CleanStream(sys.stderr)


def say(text: str) -> None:
    """A line for a person on standard error; one that nobody reads any more is no error."""
    try:
        print(clean(text), file=sys.stderr, flush=True)  # noqa: T201
    except BrokenPipeError:
        return


def put(text: str) -> None:
    """A line of the result on standard output."""
    print(clean(text), flush=True)  # noqa: T201


def write_json(encoded: bytes, stream: BinaryIO | None = None) -> None:
    """A line of JSON on standard output, or `stream`, with control characters escaped."""
    out = stream if stream is not None else sys.stdout.buffer
    out.write(escaped_json(encoded.decode()).encode() + b"\n")
    out.flush()


def standard_output() -> BinaryIO:
    """The bytes of standard output, for a file format that is written there whole."""
    return sys.stdout.buffer
