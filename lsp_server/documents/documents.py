"""The open documents as their client sees them, changed by its notifications alone.

Owns: the lines of each document (`line_store` keeps them), and position encodings, which are known nowhere but here.
Everywhere else a place is an offset into the text, or a line and a column in characters.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

import msgspec

from lsp_server.documents.line_store import LineStore, ended, split_lines

Encoding = Literal["utf-8", "utf-16", "utf-32"]


class Place(msgspec.Struct, frozen=True, order=True):
    """A line and a column in characters, both from 0."""

    line: int
    column: int


class Position(msgspec.Struct, frozen=True):
    """A place as the client counts: `character` is in units of the negotiated encoding."""

    line: int
    character: int


class Change(msgspec.Struct, frozen=True):
    """One change of a `didChange`. `start` None: `text` is the whole new document."""

    text: str
    start: Position | None = None
    end: Position | None = None


class Splice(msgspec.Struct, frozen=True):
    """What a change did to the lines: those from `first` to before `last` became `count` lines.

    Lines at either end that came out as they were do not count, however much of the text the client sent."""

    first: int
    last: int
    count: int


def bare(line: str) -> str:
    """A line without its end."""
    return line[:-2] if line.endswith("\r\n") else line[:-1] if line.endswith(("\n", "\r")) else line


def column_of(line: str, character: int, encoding: Encoding) -> int:
    """Characters before `character` units of a line without its end; too far is the line's end."""
    if encoding == "utf-32" or line.isascii():
        return min(character, len(line))
    if encoding == "utf-8":
        data = line.encode("utf-8", "surrogatepass")
        cut = min(character, len(data))
        while cut < len(data) and data[cut] & 0xC0 == 0x80:
            cut -= 1
        return len(data[:cut].decode("utf-8", "surrogatepass"))
    data = line.encode("utf-16-le", "surrogatepass")
    if len(data) == 2 * len(line):
        return min(character, len(line))
    column = len(data[: 2 * character].decode("utf-16-le", "surrogatepass"))
    inside_a_pair = character < len(data) // 2 and column and units_of(line[:column], encoding) > character
    return column - 1 if inside_a_pair else column


def units_of(text: str, encoding: Encoding) -> int:
    """The length of `text` in the client's units."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


class Document:
    """One open document. `path` is where it really lies (links resolved), None if it is no file."""

    def __init__(self, uri: str, language: str, version: int, text: str, encoding: Encoding) -> None:
        self.uri, self.language, self.version, self._encoding = uri, language, version, encoding
        given = path_of(uri)
        self.path = os.path.realpath(given) if given is not None else None
        self.lines = LineStore(text)
        self._text: str | None = text
        self.edited = False
        """True once the client changed it since it was opened or saved."""

    @property
    def text(self) -> str:
        if self._text is None:
            self._text = self.lines.text()
        return self._text

    def holding(self, text: str) -> Document:
        """The same document with another text."""
        return Document(self.uri, self.language, self.version, text, self._encoding)

    def place(self, position: Position) -> Place:
        """Where a client's position is; what lies outside is moved to the nearest place."""
        if position.line >= len(self.lines):
            return self.end
        line = bare(self.lines[position.line])
        return Place(position.line, column_of(line, max(0, position.character), self._encoding))

    @property
    def end(self) -> Place:
        if not len(self.lines):
            return Place(0, 0)
        last = self.lines[-1]
        return Place(len(self.lines), 0) if ended(last) else Place(len(self.lines) - 1, len(last))

    def position(self, place: Place) -> Position:
        """A place in the client's units."""
        line = self.lines[place.line] if place.line < len(self.lines) else ""
        return Position(place.line, units_of(line[: place.column], self._encoding))

    def position_at(self, offset: int) -> Position:
        return self.positions_at([offset])[0]

    def positions_at(self, offsets: Sequence[int]) -> list[Position]:
        """The client's positions of offsets into the text, which must be in order."""
        return [self.position(Place(line, column)) for line, column in self.lines.places(offsets)]

    def offset(self, place: Place) -> int:
        return self.lines.start_of(place.line) + place.column

    def text_between(self, start: Position, end: Position) -> str:
        """The text of a client's range."""
        first, last = sorted((self.place(start), self.place(end)))
        return self._slice(first, last)

    def apply(self, changes: Iterable[Change], version: int) -> list[Splice]:
        """Take a client's changes, one after the other."""
        splices = [self._apply(change) for change in changes]
        self.version, self.edited = version, True
        return splices

    def _slice(self, first: Place, last: Place) -> str:
        pieces = self.lines.between(first.line, last.line + 1)
        if last.line < len(self.lines):
            pieces[-1] = pieces[-1][: last.column]
        if pieces:
            pieces[0] = pieces[0][first.column :]
        return "".join(pieces)

    def _apply(self, change: Change) -> Splice:
        if change.start is None or change.end is None:
            old = self.lines.between(0, len(self.lines))
            self.lines, self._text = LineStore(change.text), change.text
            return _splice(0, old, self.lines.between(0, len(self.lines)))
        start, end = self.place(change.start), self.place(change.end)
        if end < start:
            start, end = end, start
        first, stop = start.line, min(end.line + 1, len(self.lines))
        head = self.lines[first][: start.column] if first < len(self.lines) else ""
        tail = self.lines[end.line][end.column :] if end.line < len(self.lines) else ""
        if first and not head and self._can_join(self.lines[first - 1]):
            first -= 1
            head = self.lines[first]
        middle = head + change.text + tail
        if stop < len(self.lines) and (middle == "" or self._can_join(middle)):
            middle += self.lines[stop]
            stop += 1
        new, old = split_lines(middle), self.lines.between(first, stop)
        self.lines.splice(first, stop, new)
        self._text = None
        return _splice(first, old, new)

    @staticmethod
    def _can_join(line: str) -> bool:
        """Whether more text may become part of the line: it has no end, or a `\\r` that a `\\n` may follow."""
        return not line.endswith("\n")


def _splice(first: int, old: Sequence[str], new: Sequence[str]) -> Splice:
    """The lines `old`, from line `first` on, became `new`."""
    shorter = min(len(old), len(new))
    same = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    below = next((at for at in range(shorter - same) if old[-1 - at] != new[-1 - at]), shorter - same)
    return Splice(first + same, first + len(old) - below, len(new) - same - below)


Watcher = Callable[[Document, list[Splice]], None]


class Documents:
    """All open documents of one client. Watchers are told of each change at once."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        self._by_uri: dict[str, Document] = {}
        self._by_path: dict[str, Document] = {}
        self._watchers: list[Watcher] = []

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Tell `watcher` of changes from now on; call what is returned to stop."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def open(self, uri: str, language: str, version: int, text: str) -> Document:
        self.close(uri)
        document = Document(uri, language, version, text, self.encoding)
        self._by_uri[_key(uri)] = document
        if document.path is not None:
            self._by_path[document.path] = document
        return document

    def change(self, uri: str, version: int, changes: Iterable[Change]) -> Document | None:
        """None if it is not open."""
        document = self.get(uri)
        if document is not None:
            splices = document.apply(changes, version)
            for watcher in tuple(self._watchers):
                watcher(document, splices)
        return document

    def close(self, uri: str) -> Document | None:
        document = self._by_uri.pop(_key(uri), None)
        if document is not None and document.path is not None and self._by_path.get(document.path) is document:
            del self._by_path[document.path]
        return document

    def get(self, uri: str) -> Document | None:
        return self._by_uri.get(_key(uri))

    def at(self, path: str) -> Document | None:
        """The open document of a file, by its resolved path."""
        return self._by_path.get(path)

    def all(self) -> list[Document]:
        return list(self._by_uri.values())


def _key(uri: str) -> str:
    return unquote(uri, errors="surrogateescape")


def path_of(uri: str) -> str | None:
    """The path that a `file:` URI names; None for any other."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = unquote(parts.path, errors="surrogateescape")
    return path if path.startswith("/") and "\0" not in path else None


def uri_of(path: str) -> str:
    """The `file:` URI of an absolute path."""
    return "file://" + quote(os.fsencode(path))
