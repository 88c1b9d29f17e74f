"""How the bytes of a file become text and exactly the same bytes again.

Pure. Owns: encodings and byte-order marks, line ends, and the view in which all line ends are `\\n`. A line ends at
`\\n`, `\\r\\n` or `\\r` and nowhere else: form feeds, U+0085, U+2028 and U+2029 are ordinary characters.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable

import msgspec

_LINE_END = re.compile(r"\r\n|\r|\n")
_MULTIBYTE = re.compile("[^\x00-\x7f\udc80-\udcff]")
_SURROGATE = re.compile("[\ud800-\udfff]")

_BOMS: tuple[tuple[bytes, str, str], ...] = (
    (b"\xef\xbb\xbf", "utf-8", "surrogateescape"),
    (b"\xff\xfe\x00\x00", "utf-32-le", "strict"),
    (b"\x00\x00\xfe\xff", "utf-32-be", "strict"),
    (b"\xff\xfe", "utf-16-le", "surrogatepass"),
    (b"\xfe\xff", "utf-16-be", "surrogatepass"),
)

BINARY_PROBE_BYTES = 8192
"""A NUL among the first so many bytes of a file without a byte-order mark makes it binary (git's rule)."""


class Encoding(msgspec.Struct, frozen=True):
    """How a file is written: codec, error handler that keeps odd bytes, and the byte-order mark (b"" for none)."""

    codec: str = "utf-8"
    errors: str = "strict"
    bom: bytes = b""

    @property
    def label(self) -> str:
        """For people and models: `utf-8`, `utf-8 with BOM`, `latin-1`, `utf-8 with invalid bytes`."""
        name = "latin-1" if self.codec == "latin-1" else self.codec
        if self.codec == "utf-8" and self.errors == "surrogateescape" and not self.bom:
            return "utf-8 with invalid bytes"
        return f"{name} with BOM" if self.bom else name

    def decode(self, data: bytes) -> str:
        """The text of bytes that `encode` made."""
        return data[len(self.bom) :].decode(self.codec, self.errors)

    def encode(self, text: str) -> bytes:
        """Raises UnicodeEncodeError if the codec has no bytes for a character."""
        return self.bom + text.encode(self.codec, self.errors)


UTF8 = Encoding()


def decode(data: bytes) -> tuple[str, Encoding] | None:
    """The text of `data` and how to write it back, or None for a binary file.

    Order: byte-order mark, strict UTF-8, UTF-8 with some invalid bytes (kept as lone surrogates), else Latin-1, which
    has a character for every byte. What would not encode to the same bytes is binary.
    """
    for bom, codec, errors in _BOMS:
        if data.startswith(bom):
            return _checked(data, Encoding(codec, errors, bom))
    if b"\0" in data[:BINARY_PROBE_BYTES]:
        return None
    try:
        return data.decode("utf-8"), UTF8
    except UnicodeDecodeError:
        pass
    escaped = data.decode("utf-8", "surrogateescape")
    if _MULTIBYTE.search(escaped):
        return escaped, Encoding("utf-8", "surrogateescape")
    return data.decode("latin-1"), Encoding("latin-1")


def _checked(data: bytes, encoding: Encoding) -> tuple[str, Encoding] | None:
    try:
        text = encoding.decode(data)
        return (text, encoding) if encoding.encode(text) == data else None
    except UnicodeError:
        return None


def printable(text: str) -> str:
    """`text` with what no JSON string can hold (lone surrogates) as U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def split_lines(text: str) -> list[str]:
    """Lines without their ends. A final line end opens no further line; "" has no lines."""
    lines = _LINE_END.split(text) if "\r" in text else text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def to_newlines(text: str) -> str:
    """`text` with every line end as `\\n`."""
    return _LINE_END.sub("\n", text) if "\r" in text else text


def main_newline(text: str) -> str:
    """The most frequent line end of `text`; `\\n` if it has none, and on a draw the first met."""
    if "\r" not in text:
        return "\n"
    counts: dict[str, int] = {}
    for match in _LINE_END.finditer(text):
        counts[match.group()] = counts.get(match.group(), 0) + 1
    return max(counts, key=lambda end: counts[end])


class View:
    """A text as the model sees it (`flat`: all line ends `\\n`) with the way back to its real characters."""

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.flat = to_newlines(raw)
        self._starts: list[int] | None = None
        self._pairs = _pair_offsets(raw) if "\r" in raw else []

    def raw_offset(self, flat_offset: int) -> int:
        """Where a character of `flat` starts in `raw`. Never between `\\r` and `\\n`."""
        return flat_offset + bisect.bisect_left(self._pairs, flat_offset)

    def line_start(self, index: int) -> int:
        """Offset in `flat` where the line with this 0-based index starts; past the last line: the end of the text."""
        if self._starts is None:
            starts, at = [0], self.flat.find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = self.flat.find("\n", at + 1)
            self._starts = starts
        return self._starts[index] if index < len(self._starts) else len(self.flat)

    def line_of(self, flat_offset: int) -> int:
        """1-based number of the line that holds `flat_offset`."""
        return self.flat.count("\n", 0, flat_offset) + 1

    def replace(self, start: int, end: int, new: str) -> str:
        """`raw` with `flat[start:end]` replaced by `new`, whose line ends are `\\n`."""
        return self.replace_all([(start, end, new)])

    def replace_all(self, edits: Iterable[tuple[int, int, str]]) -> str:
        """`raw` after several replacements, in order of place and without overlap.

        Only what differs is touched, so the line ends of equal lines around it stay as they are. New line ends follow
        those they replace, else the line that they end up in, else the line before, else the most frequent one.
        """
        pieces: list[str] = []
        done = 0
        for start, end, new in edits:
            old = self.flat[start:end]
            head = _common_prefix(old, new)
            tail = _common_prefix(old[head:][::-1], new[head:][::-1])
            first, last = self.raw_offset(start + head), self.raw_offset(end - tail)
            middle = new[head : len(new) - tail]
            if "\n" in middle and "\r" in self.raw:
                middle = middle.replace("\n", self._newline_near(first, last))
            pieces += [self.raw[done:first], middle]
            done = last
        return _joined([*pieces, self.raw[done:]])

    def _newline_near(self, first: int, last: int) -> str:
        inside = _LINE_END.search(self.raw, first, last) or _LINE_END.search(self.raw, last)
        if inside is not None:
            return inside.group()
        before = max(self.raw.rfind("\n", 0, first), self.raw.rfind("\r", 0, first))
        if before >= 0:
            if self.raw[before] == "\n" and before and self.raw[before - 1] == "\r":
                return "\r\n"
            return self.raw[before]
        return main_newline(self.raw)


def _joined(pieces: list[str]) -> str:
    """The pieces in a row; a `\\r` and a `\\n` that were two line ends stay two."""
    found: list[str] = []
    for piece in pieces:
        if not piece:
            continue
        if found and found[-1][-1] == "\r" and piece[0] == "\n":
            found.append("\r")
        found.append(piece)
    return "".join(found)


def _pair_offsets(raw: str) -> list[int]:
    """Flat offsets of the line ends that are two characters long in `raw`."""
    pairs: list[int] = []
    at = raw.find("\r\n")
    while at >= 0:
        pairs.append(at - len(pairs))
        at = raw.find("\r\n", at + 2)
    return pairs


def _common_prefix(one: str, two: str) -> int:
    limit = min(len(one), len(two))
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == two[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
