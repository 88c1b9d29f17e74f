"""Server-sent events: the encoder of the service and the client's incremental decoder (WHATWG HTML, 9.2)."""

from __future__ import annotations

from typing import NamedTuple

from agent_core.errors import WireError

DONE = b"data: [DONE]\n\n"
"""Ends an HTTP stream; it carries no event."""

MAX_EVENT_BYTES = 64 * 1024 * 1024


class SseMessage(NamedTuple):
    """One dispatched message. `event` is "" when the stream named none; `data` is UTF-8 text, not decoded."""

    event: str
    data: bytes


def encode_event(type: str, data: bytes) -> bytes:
    """One message as one chunk, to be written at once: some clients lose a message that is split."""
    if b"\n" in data or b"\r" in data:
        lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        return b"event: %b\n%b\n" % (type.encode(), b"".join(b"data: %b\n" % line for line in lines))
    return b"event: %b\ndata: %b\n\n" % (type.encode(), data)


class SseDecoder:
    """Feed it the body in any pieces. `done` is true once the peer said `[DONE]`."""

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        """`max_event_bytes`: bound of one unfinished message; above it `feed` raises WireError(`message_too_large`)."""
        self.done = False
        self._max = max_event_bytes
        self._rest = bytearray()
        self._event = ""
        self._data: list[bytes] = []
        self._size = 0
        self._skip_newline = False
        self._start = True

    def feed(self, chunk: bytes) -> list[SseMessage]:
        """The messages that this piece completes. An unfinished last message is never dispatched."""
        if self._skip_newline and chunk:
            # the last line ended in CR at the end of a piece: a LF here belongs to it
            if chunk[:1] == b"\n":
                chunk = chunk[1:]
            self._skip_newline = False
        if chunk[-1:] == b"\r":
            self._skip_newline = True
        scan_from = len(self._rest)
        self._rest += chunk
        if b"\r" in chunk:
            self._rest[scan_from:] = bytes(self._rest[scan_from:]).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        end = self._rest.rfind(b"\n", scan_from)
        if self._size + len(self._rest) > self._max and end < 0:
            raise WireError(f"A server-sent event is above {self._max} bytes.", code="message_too_large")
        if end < 0:
            return []
        lines = bytes(self._rest[:end]).split(b"\n")
        del self._rest[: end + 1]
        return [message for line in lines if (message := self._line(line)) is not None]

    def _line(self, line: bytes) -> SseMessage | None:
        if self._start:
            self._start = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._size += len(value)
            if self._size > self._max:
                raise WireError(f"A server-sent event is above {self._max} bytes.", code="message_too_large")
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        return None

    def _dispatch(self) -> SseMessage | None:
        event, data = self._event, self._data
        self._event, self._data, self._size = "", [], 0
        if not data:
            return None
        joined = b"\n".join(data)
        if joined == b"[DONE]":
            self.done = True
            return None
        return SseMessage(event, joined)
