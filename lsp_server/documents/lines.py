"""Lines that something is known of, kept in place while a document changes around them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from lsp_server.documents.documents import Splice

T = TypeVar("T")


class LineNotes(Generic[T]):
    """At most one note per line, lines counted from 0."""

    def __init__(self) -> None:
        self._notes: dict[int, T] = {}

    def __getitem__(self, line: int) -> T | None:
        return self._notes.get(line)

    def lines(self) -> list[int]:
        return sorted(self._notes)

    def put(self, lines: Iterable[int], note: T) -> None:
        for line in lines:
            self._notes[line] = note

    def drop(self, lines: Iterable[int]) -> None:
        for line in lines:
            self._notes.pop(line, None)

    def clear(self) -> None:
        self._notes.clear()

    def move(self, splice: Splice) -> None:
        """A change of the document: what stood in the changed lines is forgotten, what stood below moves along."""
        shift = splice.count - (splice.last - splice.first)
        self._notes = {
            line if line < splice.first else line + shift: note
            for line, note in self._notes.items()
            if line < splice.first or line >= splice.last
        }
