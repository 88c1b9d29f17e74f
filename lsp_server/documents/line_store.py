"""The lines of a document in slices, so that a large one costs no more than a small one. Pure.

What ends a line: `\\n`, `\\r\\n` and `\\r`, nothing else. A document is cut into slices of some ten thousand
characters, whose lines are counted but not taken apart. A change takes apart the slice that it touches; so nothing is
ever done line by line to all of a document, which takes longer than an event loop may stand still.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

SLICE = 32_000
"""Characters of a slice, about."""

_OTHER_ENDS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_LINE = re.compile("[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
END = re.compile("\r\n|\r|\n")


def split_lines(text: str) -> list[str]:
    """Lines with their ends. A final line end opens no further line; "" has none."""
    if not any(other in text for other in _OTHER_ENDS):
        return text.splitlines(keepends=True)
    if "\r" not in text:
        lines = [line + "\n" for line in text.split("\n")]
        lines[-1] = lines[-1][:-1]
        return lines if lines[-1] else lines[:-1]
    return _LINE.findall(text)


def ended(line: str) -> bool:
    """Whether a text ends with a line end."""
    return line.endswith(("\n", "\r"))


def count_lines(text: str) -> int:
    """How many `split_lines` gives."""
    ends = text.count("\n")
    if "\r" in text:
        ends += text.count("\r") - text.count("\r\n")
    return ends + (text != "" and not ended(text))


class _Slice:
    """Whole lines. `lines` are set while somebody works on them."""

    __slots__ = ("_count", "lines", "text")

    def __init__(self, text: str, lines: list[str] | None = None) -> None:
        self.text, self.lines = text, lines
        self._count = None if lines is None else len(lines)

    @property
    def count(self) -> int:
        if self._count is None:
            self._count = count_lines(self.text)
        return self._count


class LineStore:
    """A text as a sequence of its lines with their ends. Only the last line may have none."""

    def __init__(self, text: str) -> None:
        self._slices = [_Slice(part) for part in _cut(text)]
        self._count: int | None = None
        self._warm: _Slice | None = None

    def __len__(self) -> int:
        if self._count is None:
            self._count = sum(part.count for part in self._slices)
        return self._count

    def __getitem__(self, line: int) -> str:
        """Raises IndexError. Counts from the end where it is negative."""
        at = line + len(self) if line < 0 else line
        if not 0 <= at < len(self):
            raise IndexError(line)
        index, first = self._find(at)
        return self._lines(self._slices[index])[at - first]

    def __iter__(self) -> Iterator[str]:
        for part in self._slices:
            yield from split_lines(part.text)

    def between(self, first: int, stop: int) -> list[str]:
        """The lines from `first` to before `stop`; those that there are."""
        found: list[str] = []
        begin = 0
        for part in self._slices:
            if begin >= stop:
                break
            if begin + part.count > first:
                found += self._lines(part)[max(0, first - begin) : stop - begin]
            begin += part.count
        return found

    def text(self) -> str:
        return "".join([part.text for part in self._slices])

    def start_of(self, line: int) -> int:
        """The offset at which a line begins; the text's length for one past the end."""
        offset = begin = 0
        for part in self._slices:
            if begin + part.count > line:
                return offset + sum(map(len, self._lines(part)[: line - begin]))
            offset, begin = offset + len(part.text), begin + part.count
        return offset

    def places(self, offsets: Iterable[int]) -> list[tuple[int, int]]:
        """Line and column of offsets, which must be in order. The end of a text with a final line end is column 0 of
        the line after it."""
        found = []
        index = begin = start = 0
        for offset in offsets:
            while index < len(self._slices) - 1 and start + len(self._slices[index].text) <= offset:
                begin, start = begin + self._slices[index].count, start + len(self._slices[index].text)
                index += 1
            line, at = begin, start
            for text in self._lines(self._slices[index]) if self._slices else ():
                if at + len(text) > offset or not ended(text):
                    break
                line, at = line + 1, at + len(text)
            found.append((line, offset - at))
        return found

    def splice(self, first: int, stop: int, new: Sequence[str]) -> None:
        """Put the lines `new` where those from `first` to before `stop` are. With the lines around them they must be
        the lines of a text: no `\\r` before a `\\n`, and no line without an end but the last."""
        low, low_begin = self._find(first)
        high, high_begin = self._find(stop - 1) if stop > first else (low, low_begin)
        head = self._lines(self._slices[low])[: first - low_begin] if self._slices else []
        tail = self._lines(self._slices[high])[stop - high_begin :] if self._slices else []
        lines = [*head, *new, *tail]
        text = "".join(lines)
        if high + 1 < len(self._slices) and len(text) < SLICE // 4:  # no crumbs
            high += 1
            text, lines = text + self._slices[high].text, [*lines, *split_lines(self._slices[high].text)]
        parts = [_Slice(text, lines)] if len(text) <= 2 * SLICE else [_Slice(part) for part in _cut(text)]
        old = self._slices[low : high + 1]
        self._slices[low : high + 1] = parts if text else []
        if self._count is not None:
            self._count += sum(part.count for part in parts) - sum(part.count for part in old)
        self._cool(parts[0] if len(parts) == 1 and text else None)

    def _find(self, line: int) -> tuple[int, int]:
        """The slice with a line, the last one for lines past the end, and the number of its first line."""
        begin = 0
        for index, part in enumerate(self._slices):
            if begin + part.count > line or index == len(self._slices) - 1:
                return index, begin
            begin += part.count
        return 0, 0

    def _lines(self, part: _Slice) -> list[str]:
        if part.lines is None:
            lines = split_lines(part.text)
            self._cool(part)
            part.lines = lines
        return part.lines

    def _cool(self, warm: _Slice | None) -> None:
        """Keep the lines of one slice apart, and of no other."""
        if self._warm is not None and self._warm is not warm:
            self._warm.lines = None
        self._warm = warm


def _cut(text: str) -> list[str]:
    """Slices of whole lines; none for ""."""
    found = []
    start = 0
    while len(text) - start > 2 * SLICE:
        end = END.search(text, start + SLICE)
        if end is None:
            break
        found.append(text[start : end.end()])
        start = end.end()
    if start < len(text):
        found.append(text[start:])
    return found
