"""The service's log on stderr: one line per record, JSON or text, without bodies, keys or tracebacks of clients' data.

Records of ours may carry `extra={"fields": {...}}`: ids, counts, codes and names of the configuration, never what a
client sent. A thread writes the lines, so that a full pipe holds up nobody; what it can't take is dropped and counted.
"""

from __future__ import annotations

import logging
import queue
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import QueueHandler, QueueListener
from typing import Any

import msgspec

from agent_core.clock import rfc3339
from agent_core.config.serve import LogFormat, LogLevel
from agent_core.telemetry.display import clean, escaped_json

MAX_WAITING = 10_000
"""Lines that wait to be written; beyond them lines are dropped."""


class JsonLines(logging.Formatter):
    """`{"time", "level", "logger", "event", …fields}`; fields that are None are left out."""

    def format(self, record: logging.LogRecord) -> str:
        return escaped_json(msgspec.json.encode(_entry(record)).decode())


class TextLines(logging.Formatter):
    """`time level event name=value …`."""

    def format(self, record: logging.LogRecord) -> str:
        entry = _entry(record)
        head = " ".join((entry.pop("time"), entry.pop("level"), entry.pop("event").replace("\n", "\\n")))
        entry.pop("logger")
        return clean(" ".join([head, *(f"{name}={_short(value)}" for name, value in entry.items())]))


def _entry(record: logging.LogRecord) -> dict[str, Any]:
    """An error's class and place are told; its text, which may quote what a client sent, is not."""
    entry: dict[str, Any] = {
        "time": rfc3339(int(record.created * 1e9)),
        "level": record.levelname.lower(),
        "logger": record.name,
        "event": record.getMessage(),
    }
    if record.exc_info and record.exc_info[0] is not None:
        entry["error"] = record.exc_info[0].__name__
        trace = record.exc_info[2]
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        if trace is not None:
            entry["at"] = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
    fields = getattr(record, "fields", None) or {}
    return entry | {name: value for name, value in fields.items() if value is not None}


def _short(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


class _Dropping(QueueHandler):
    """Never waits. `dropped`: lines that found no room."""

    dropped = 0

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        return record

    def enqueue(self, record: logging.LogRecord) -> None:
        try:
            self.queue.put_nowait(record)
        except queue.Full:
            self.dropped += 1


@contextmanager
def logging_to_stderr(level: LogLevel, form: LogFormat) -> Iterator[None]:
    """Log this process to stderr while the block runs."""
    waiting: queue.Queue[logging.LogRecord] = queue.Queue(MAX_WAITING)
    writer = logging.StreamHandler(sys.stderr)
    writer.setFormatter(JsonLines() if form == "json" else TextLines())
    handler, listener = _Dropping(waiting), QueueListener(waiting, writer)
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(level.upper())
    listener.start()
    try:
        yield
    finally:
        if handler.dropped:
            logging.getLogger(__name__).warning("%d lines of the log were dropped", handler.dropped)
        root.removeHandler(handler)
        root.setLevel(before)
        listener.stop()
