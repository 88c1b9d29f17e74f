"""Messages out of a byte stream and into it: headers, a blank line, a JSON body. No I/O.

Header names are read in any case and order. What is no frame comes out as `Malformed` and the reader goes on at the
next header, so that one bad message does not end a connection.
"""

from __future__ import annotations

from enum import Enum

MAX_BODY_BYTES = 128 << 20
MAX_HEADER_BYTES = 16 << 10
_SEPARATOR = b"\r\n\r\n"
_NAME = b"content-length"


class Malformed(Enum):
    """Why a piece of the stream was no message."""

    HEADER = "a header that is none, or no Content-Length"
    TOO_LARGE = f"a message above {MAX_BODY_BYTES >> 20} MiB"


def frame(body: bytes) -> bytes:
    """One message as it goes over a stream."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class FrameReader:
    """Feed it whatever arrived. `alien` is true once a header of another protocol came (HTTP from a browser)."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._expected: int | None = None
        self._skip = 0
        self.alien = False

    def feed(self, data: bytes) -> list[bytes | Malformed]:
        """Whole messages in order, and what could not be read."""
        self._buffer += data
        found: list[bytes | Malformed] = []
        while (step := self._step()) is not None:
            if step != b"":
                found.append(step)
        return found

    def _step(self) -> bytes | Malformed | None:
        """A message, a fault, b"" for progress without either, or None if more bytes are needed."""
        if self._skip:
            dropped = min(self._skip, len(self._buffer))
            del self._buffer[:dropped]
            self._skip -= dropped
            return None if self._skip else b""
        if self._expected is None:
            return self._head()
        if len(self._buffer) < self._expected:
            return None
        body = bytes(self._buffer[: self._expected])
        del self._buffer[: self._expected]
        self._expected = None
        return body or Malformed.HEADER

    def _head(self) -> bytes | Malformed | None:
        end = self._buffer.find(_SEPARATOR)
        if end < 0:
            if len(self._buffer) <= MAX_HEADER_BYTES:
                return None
            del self._buffer[:-MAX_HEADER_BYTES]
            return self._resume()
        length = self._length(bytes(self._buffer[:end]))
        if length is None:
            return self._resume()
        del self._buffer[: end + len(_SEPARATOR)]
        if length > MAX_BODY_BYTES:
            self._skip = length
            return Malformed.TOO_LARGE
        self._expected = length
        return b""

    def _length(self, head: bytes) -> int | None:
        length = None
        for line in head.split(b"\r\n"):
            name, colon, value = line.partition(b":")
            if not colon or not name.strip().replace(b"-", b"").isalpha():
                self.alien = self.alien or line.rstrip().endswith((b"HTTP/1.1", b"HTTP/1.0"))
                return None
            if name.strip().lower() == _NAME:
                if not value.strip().isdigit() or len(value.strip()) > 12:
                    return None
                length = int(value)
        return length

    def _resume(self) -> Malformed | None:
        """Drop what is no header, up to where the next one may begin."""
        lower = bytes(self._buffer).lower()
        start = lower.find(_NAME, 1)
        if start < 0:
            keep = len(_NAME) - 1
            done = len(self._buffer) <= keep
            del self._buffer[: max(0, len(self._buffer) - keep)]
            return None if done else Malformed.HEADER
        del self._buffer[:start]
        return Malformed.HEADER
