"""Log lines as people read them: one form for the language server and the web dashboard, cleaned."""

from __future__ import annotations

import logging

from agent_core.telemetry.display import clean

FORM = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class CleanFormatter(logging.Formatter):
    """`time level logger: message`, with the traceback behind it; what others say in it is text and nothing else."""

    def __init__(self) -> None:
        super().__init__(FORM)

    def format(self, record: logging.LogRecord) -> str:
        return clean(super().format(record))


def handler_to_stderr() -> logging.Handler:
    """Writes such lines to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(CleanFormatter())
    return handler
