"""What a command prints, kept within bounds and fit for people and models. Pure.

Owns the cut (head and tail stay, the middle goes) and the cleaning (no terminal sequences, no overwritten lines).
"""

from __future__ import annotations

import re
from collections import deque

MAX_OUTPUT_BYTES = 64_000

RECENT_BYTES = 4096

_TERMINAL = re.compile(
    "\x1b(?:"
    "\\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    "|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\|$)"  # OSC, DCS, SOS, PM, APC strings
    "|[ -/]+[0-~]"  # character sets
    "|[0-~]"
    "|$)"
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")
_OVERWRITTEN = re.compile(r"[^\n]*\r(?=[^\n])")


class Capture:
    """Takes bytes as they come and keeps at most `max_bytes` of them: the first half and the last half."""

    def __init__(self, max_bytes: int = MAX_OUTPUT_BYTES) -> None:
        self._head = bytearray()
        self._head_room = max_bytes // 2
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._tail_room = max_bytes - self._head_room
        self.total_bytes = 0

    def feed(self, data: bytes) -> None:
        self.total_bytes += len(data)
        room = self._head_room - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if not data:
            return
        self._tail.append(data[-self._tail_room :])
        self._tail_bytes += len(self._tail[-1])
        while self._tail_bytes - len(self._tail[0]) >= self._tail_room:
            self._tail_bytes -= len(self._tail.popleft())

    @property
    def left_out_bytes(self) -> int:
        return max(0, self.total_bytes - self._head_room - self._tail_room)

    def kept(self) -> bytes:
        """The kept bytes, head and tail together."""
        return bytes(self._head) + b"".join(self._tail)[-self._tail_room :]

    def text(self) -> str:
        """The kept output, cleaned; a remark stands where something was left out. Ends without a line end."""
        tail = b"".join(self._tail)[-self._tail_room :]
        if not self.left_out_bytes:
            return clean(bytes(self._head) + tail).rstrip("\n")
        head = bytes(self._head)
        # Whole lines on both sides of the cut, where the output has lines.
        head = head[: head.rfind(b"\n") + 1] or head
        tail = tail[tail.find(b"\n") + 1 :] or tail
        left_out = self.total_bytes - len(head) - len(tail)
        start = clean(head).rstrip("\n")
        return f"{start}\n[{left_out:,} bytes left out]\n{clean(tail)}".rstrip("\n")


def clean(data: bytes) -> str:
    """Text as it would stand on a screen: without terminal sequences, control characters and overwritten lines."""
    text = data.decode("utf-8", "replace")
    if "\x1b" in text:
        text = _TERMINAL.sub("", text)
    if "\r" in text:
        text = re.sub(r"\r+\n", "\n", text)
        text = _OVERWRITTEN.sub("", text)
    return _CONTROL.sub("", text)


class LastLine:
    """Follows a byte stream for people who watch: its last whole line at any moment, cleaned and cut."""

    def __init__(self, max_characters: int = 500) -> None:
        self._recent = b""
        self._max = max_characters

    def feed(self, data: bytes) -> None:
        self._recent = (self._recent + data)[-RECENT_BYTES:] if len(data) < RECENT_BYTES else data[-RECENT_BYTES:]

    def take(self) -> str:
        """The last whole line that is not empty; "" if none came since the last call."""
        whole, _, rest = self._recent.rpartition(b"\n")
        self._recent = rest
        lines = [line for line in clean(whole).split("\n") if line.strip()]
        return lines[-1][: self._max] if lines else ""
