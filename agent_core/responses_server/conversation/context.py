"""The context of a conversation as an append-only view: items, their rendered tokens and the calls they contain.

Continuing the newest view appends in place, so a chain of n calls costs n appends and no copy. Continuing an older view
(a fork) copies its prefix once. A view never changes, whatever happens to the views that share its buffer.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar, overload

T = TypeVar("T")

TOKEN_TYPE = "I"
"""Token ids are kept as 32-bit integers."""


class View(Sequence[T]):
    """The first `length` elements of a sequence that only grows."""

    __slots__ = ("_elements", "_length")

    def __init__(self, elements: Sequence[T], length: int) -> None:
        self._elements, self._length = elements, length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            if step == 1:
                return self._elements[start:stop]
            return [self._elements[at] for at in range(start, stop, step)]
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._elements[index if index >= 0 else index + self._length]

    def __iter__(self) -> Iterator[T]:
        return islice(self._elements, self._length)


class Joined(Sequence[T]):
    """Two sequences, one after the other, without a copy."""

    __slots__ = ("_first", "_second")

    def __init__(self, first: Sequence[T], second: Sequence[T]) -> None:
        self._first, self._second = first, second

    def __len__(self) -> int:
        return len(self._first) + len(self._second)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        size = len(self)
        if not -size <= index < size:
            raise IndexError(index)
        index = index if index >= 0 else index + size
        cut = len(self._first)
        return self._first[index] if index < cut else self._second[index - cut]

    def __iter__(self) -> Iterator[T]:
        yield from self._first
        yield from self._second


class _Buffer:
    """`calls`: by call id where a call with it, or an output of one, stands, and how many then wait for an output."""

    __slots__ = ("calls", "items", "tokens")

    def __init__(self, items: list[Any], tokens: array[int], calls: dict[str, list[tuple[int, int]]]) -> None:
        self.items, self.tokens, self.calls = items, tokens, calls


class Context:
    """Items with their tokens. `Context.empty()` starts one; `extended` continues it."""

    __slots__ = ("_buffer", "_items", "_tokens")

    def __init__(self, buffer: _Buffer, items: int, tokens: int) -> None:
        self._buffer, self._items, self._tokens = buffer, items, tokens

    @classmethod
    def empty(cls) -> Context:
        return cls(_Buffer([], array(TOKEN_TYPE), {}), 0, 0)

    @property
    def items(self) -> Sequence[Any]:
        return View(self._buffer.items, self._items)

    @property
    def tokens(self) -> Sequence[int]:
        return View(self._buffer.tokens, self._tokens)

    def knows_call(self, call_id: str) -> bool:
        """Whether an item of this context is a call with this id, answered or not."""
        uses = self._buffer.calls.get(call_id)
        return uses is not None and uses[0][0] < self._items

    def open_calls(self, call_id: str) -> int:
        """How many calls with this id wait for their output."""
        uses = self._buffer.calls.get(call_id, [])
        before = bisect_left(uses, (self._items,))
        return uses[before - 1][1] if before else 0

    def extended(self, items: Sequence[Any], tokens: Iterable[int], calls: Iterable[tuple[str, int, int]]) -> Context:
        """This context and `items` behind it. `calls`: of each call and output among them its call id, its position
        within `items`, and 1 for a call, -1 for an output."""
        buffer = self._buffer
        if len(buffer.items) != self._items or len(buffer.tokens) != self._tokens:
            kept = {each: uses[: bisect_left(uses, (self._items,))] for each, uses in buffer.calls.items()}
            kept = {each: uses for each, uses in kept.items() if uses}
            buffer = _Buffer(buffer.items[: self._items], buffer.tokens[: self._tokens], kept)
        for call_id, position, opens in calls:
            uses = buffer.calls.setdefault(call_id, [])
            uses.append((self._items + position, max(0, (uses[-1][1] if uses else 0) + opens)))
        buffer.items.extend(items)
        buffer.tokens.extend(tokens)
        return Context(buffer, len(buffer.items), len(buffer.tokens))
