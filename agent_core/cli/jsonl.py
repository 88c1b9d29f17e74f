"""A session as JSON lines: one turn event per line on stdout, and nothing else there. The last line is the summary."""

from __future__ import annotations

import sys
from typing import Any, BinaryIO

from agent_core.text import to_json
from agent_core.turns.events import TurnEvent


class JsonLines:
    """An observer that writes each event as it comes."""

    def __init__(self, stream: BinaryIO | None = None) -> None:
        self._stream = stream or sys.stdout.buffer

    def __call__(self, event: TurnEvent) -> None:
        self.write(event)

    def write(self, value: Any) -> None:
        """Write one object as one line; a reader that went away is no error of the run."""
        try:
            self._stream.write(to_json(value) + b"\n")
            self._stream.flush()
        except BrokenPipeError:
            return
