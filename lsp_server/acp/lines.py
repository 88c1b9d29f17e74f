"""Messages out of a byte stream: one JSON object a line. No I/O.

What is no message comes out as a `Fault`, and the reader goes on at the next line. What comes out as a message has the
shape that the SDK takes for granted: a text as method, an id that can be looked up, an error that is one.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

MAX_LINE_BYTES = 64 << 20
PARSE_ERROR, INVALID_REQUEST = -32700, -32600

Json = dict[str, Any]


class Fault(msgspec.Struct, frozen=True):
    """A line that is refused. `id` is that of the request, where one could be read."""

    code: int
    words: str
    id: int | str | None = None


class LineReader:
    """Feed it whatever arrived."""

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_bytes = max_line_bytes
        self._begun: list[bytes] = []
        self._size = 0
        self._skipping = False

    def feed(self, data: bytes) -> list[Json | Fault]:
        """Whole messages in order, and what could not be read."""
        found: list[Json | Fault] = []
        *whole, rest = data.split(b"\n")
        for piece in whole:
            found += self._line(piece)
        self._add(rest, found)
        return found

    def end(self) -> list[Json | Fault]:
        """The stream is over: a last line without its end counts."""
        return self._line(b"")

    def _line(self, piece: bytes) -> list[Json | Fault]:
        found: list[Json | Fault] = []
        self._add(piece, found)
        line, skipped = b"".join(self._begun), self._skipping
        self._begun, self._size, self._skipping = [], 0, False
        if not skipped and line.strip():
            found.append(read_line(line))
        return found

    def _add(self, piece: bytes, found: list[Json | Fault]) -> None:
        if self._skipping or not piece:
            return
        self._begun.append(piece)
        self._size += len(piece)
        if self._size > self._max_bytes:
            self._begun, self._skipping = [], True
            found.append(Fault(PARSE_ERROR, f"a line above {self._max_bytes:,} bytes"))


def read_line(line: bytes) -> Json | Fault:
    """One message, or why it is none."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):  # a UnicodeDecodeError is a ValueError
        return Fault(PARSE_ERROR, "the line is no JSON")
    if not isinstance(message, dict):
        return Fault(INVALID_REQUEST, "a message is an object")
    number = message.get("id")
    named = isinstance(number, (int, str)) and not isinstance(number, bool)
    known = number if named and isinstance(number, (int, str)) else None
    if "id" in message and not named and number is not None:
        return Fault(INVALID_REQUEST, "an id is a number or a text")
    if "method" in message:
        if not isinstance(message["method"], str):
            return Fault(INVALID_REQUEST, "a method is a text", known)
        return message
    if "id" not in message or not ("result" in message or "error" in message):
        return Fault(INVALID_REQUEST, "neither a request nor an answer", known)
    if "error" in message and "result" not in message:
        message["error"] = _error(message["error"])
    return message


def _error(given: Any) -> Json:
    if isinstance(given, dict) and isinstance(given.get("code"), int) and isinstance(given.get("message"), str):
        return given
    return {"code": -32603, "message": "an error without a code"}
