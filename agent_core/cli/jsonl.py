"""A session as JSON lines: one turn event per line on stdout, and nothing else there. The last line is the summary."""

from __future__ import annotations

from typing import Any, BinaryIO

from agent_core.telemetry.screen import write_json
from agent_core.text import to_json
from agent_core.turns.events import TurnEvent


class JsonLines:
    """An observer that writes each event as it comes."""

    def __init__(self, stream: BinaryIO | None = None) -> None:
        self._stream = stream

    def __call__(self, event: TurnEvent) -> None:
        self.write(event)

    def write(self, value: Any) -> None:
        """Write one object as one line; a reader that went away is no error of the run."""
        try:
            write_json(to_json(value), self._stream)
        except BrokenPipeError:
            return
