"""Items that grow at the same time, one after the other: the engine port has one open item. Pure.

The oldest open item is passed on as it grows; what comes for others meanwhile is kept until it is their turn. A call
whose arguments are no JSON object stays open until it is known why: at a limit the model was cut off, otherwise it is
at fault, which its tool tells it.
"""

from __future__ import annotations

from collections.abc import Hashable

import msgspec

from agent_core.responses_server.engine import Delta, ItemEnd, ReasoningDelta, TextDelta, ToolCallDelta, ToolCallStart
from agent_core.text import Joiner


class _Item:
    """`start` None: text or reasoning."""

    def __init__(
        self,
        start: ToolCallStart | None = None,
        kind: type[TextDelta] | type[ReasoningDelta] | type[ToolCallDelta] = ToolCallDelta,
    ) -> None:
        self.start, self.kind = start, kind
        self.parts: list[str] = []
        self.joiner = Joiner()
        self.waiting: list[Delta] = [start] if start is not None else []
        self.closed = False


class Interleaved:
    """Takes deltas by the key of their item; every method gives the deltas that can go out now."""

    def __init__(self) -> None:
        self._items: dict[Hashable, _Item] = {}
        self._seen: set[Hashable] = set()
        self.count = 0
        """Items that were opened."""

    def knows(self, key: Hashable) -> bool:
        return key in self._seen

    def open_call(self, key: Hashable, start: ToolCallStart) -> list[Delta]:
        self._seen.add(key)
        self._items[key] = _Item(start)
        self.count += 1
        return self._out()

    def text(self, key: Hashable, text: str) -> list[Delta]:
        return self._grow(key, TextDelta, text)

    def reasoning(self, key: Hashable, text: str) -> list[Delta]:
        return self._grow(key, ReasoningDelta, text)

    def arguments(self, key: Hashable, text: str) -> list[Delta]:
        """A piece for an open call; for one that is not open it is dropped."""
        item = self._items.get(key)
        text = item.joiner.feed(text) if item is not None else ""
        if item is None or not text:
            return []
        item.parts.append(text)
        item.waiting.append(ToolCallDelta(text))
        return self._out()

    def written(self, key: Hashable) -> str:
        """What came for an open item so far."""
        item = self._items.get(key)
        return "".join(item.parts) if item is not None else ""

    def close(self, key: Hashable, *, unsound: bool = False) -> list[Delta]:
        """The item's end; a call with malformed arguments stays open, unless it is to end so (`unsound`)."""
        item = self._items.get(key)
        if item is None or item.closed or not (unsound or _is_sound(item)):
            return []
        item.closed = True
        if rest := item.joiner.finish():
            item.parts.append(rest)
            item.waiting.append(item.kind(rest))
        if item.start is not None and item.start.kind == "function" and not "".join(item.parts).strip():
            item.waiting.append(ToolCallDelta("{}"))
        item.waiting.append(ItemEnd())
        return self._out()

    def close_all(self) -> list[Delta]:
        return [delta for key in list(self._items) for delta in self.close(key)]

    @property
    def broken(self) -> str | None:
        """Name of the first call whose arguments are malformed so far; None if there is none."""
        return next((item.start.name for item in self._items.values() if item.start and not _is_sound(item)), None)

    def end(self, *, cut: bool) -> list[Delta]:
        """The end of all. `cut`: a limit ended it, so what is half stays open for whoever closes the response; else
        calls close with whatever arguments they have: what is wrong with them is told to the model, by the tool."""
        if cut:
            calls = [key for key, item in self._items.items() if item.start is not None]
            return [delta for key in calls for delta in self.close(key)]
        return [delta for key in list(self._items) for delta in self.close(key, unsound=True)]

    def _grow(self, key: Hashable, kind: type[TextDelta] | type[ReasoningDelta], text: str) -> list[Delta]:
        if not text:
            return []
        self._seen.add(key)
        item = self._items.get(key)
        if item is None:
            item = self._items[key] = _Item(kind=kind)
            self.count += 1
        if text := item.joiner.feed(text):
            item.parts.append(text)
            item.waiting.append(kind(text))
        return self._out()

    def _out(self) -> list[Delta]:
        deltas: list[Delta] = []
        while self._items:
            key, item = next(iter(self._items.items()))
            deltas += item.waiting
            item.waiting = []
            if not item.closed:
                break
            del self._items[key]
        return deltas


def _is_sound(item: _Item) -> bool:
    """Whether it can be closed: anything but a function call whose arguments are no JSON object."""
    text = "".join(item.parts)
    if item.start is None or item.start.kind == "custom" or not text.strip():
        return True
    try:
        msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True
