"""Server-sent events: the encoder of the service and the client's incremental decoder (WHATWG HTML, section 9.2)."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from agent_core.errors import WireError

DONE = b"data: [DONE]\n\n"
"""Ends an HTTP stream; it carries no event."""

MAX_EVENT_BYTES = 64 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"


class SseMessage(NamedTuple):
    """One dispatched message. `event` is "" when the stream named none; `data` is UTF-8 text, not decoded."""

    event: str
    data: bytes


def encode_event(type: str, data: bytes) -> bytes:
    """One message as one chunk, to be written at once: some clients lose a message that is split."""
    if b"\n" not in data and b"\r" not in data:
        return b"event: %b\ndata: %b\n\n" % (type.encode(), data)
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    return b"event: %b\n%b\n" % (type.encode(), b"".join(b"data: %b\n" % line for line in lines))


class SseDecoder:
    """Feed it the body in pieces of any size.

    Lines may end in LF, CR LF or CR; comments, `id` and `retry` are skipped. `[DONE]` is no message: it sets `done`.
    """

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        """`max_event_bytes` bounds one unfinished message."""
        self.done = False
        self._max_bytes = max_event_bytes
        self._rest = bytearray()
        self._event = ""
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._after_cr = False
        self._at_start = True

    def feed(self, chunk: bytes) -> list[SseMessage]:
        """The messages that this piece completes; a last message without its blank line is never dispatched.

        Raises WireError(`message_too_large`) when an unfinished message is above the bound.
        """
        if self._after_cr and chunk:
            # a CR LF that was cut in two: the CR has ended the line, this LF ends nothing
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        head, newline, tail = chunk.rpartition(b"\n")
        messages: list[SseMessage] = []
        if newline:
            lines = bytes(self._rest + head).split(b"\n")
            self._rest.clear()
            messages = [message for line in lines if (message := self._line(line)) is not None]
        self._rest += tail
        self._require_bound(self._data_bytes + len(self._rest))
        return messages

    def last(self) -> bytes:
        """The body is over: the data of a message whose blank line never came, b"" where there is none or it is cut.

        The specification drops it; servers leave the blank line out behind their last message.
        """
        if self._rest:
            line = bytes(self._rest)
            self._rest.clear()
            self._line(line)
        message = self._dispatch()
        try:
            return b"" if message is None else bytes(msgspec.json.decode(message.data, type=msgspec.Raw))
        except msgspec.MsgspecError:
            return b""

    def _line(self, line: bytes) -> SseMessage | None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._data_bytes += len(value)
            self._require_bound(self._data_bytes)
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        return None

    def _dispatch(self) -> SseMessage | None:
        event, data = self._event, b"\n".join(self._data)
        had_data = bool(self._data)
        self._event, self._data, self._data_bytes = "", [], 0
        if not had_data:
            return None
        if data.strip() == b"[DONE]":
            self.done = True
            return None
        return SseMessage(event, data)

    def _require_bound(self, size: int) -> None:
        if size > self._max_bytes:
            raise WireError(f"A server-sent event is above {self._max_bytes} bytes.", code="message_too_large")
