"""Which call a piece of a streamed tool call belongs to. Pure.

Servers give an index, an id, both or neither; one index to all calls, a new id in each piece, the name in every piece,
in several pieces or behind the arguments, a whole call twice. What holds throughout: a call's arguments are one JSON
object, and only behind it another call with the same place may begin.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from agent_core.responses_server.engines.json_scan import JsonScan
from agent_core.responses_server.engines.upstream import shapes

_ARGUMENTS = ("arguments", "input", "parameters", "args")
"""Where servers and models put them, the usual place first."""


class OpenCall:
    """One call as far as it came. `key` tells it apart; `waiting` is what came before its name was known."""

    def __init__(self, key: int, index: Any) -> None:
        self.key, self.index = key, index
        self.id = self.name = self.written = self.waiting = ""
        self.started = False
        self._scan = JsonScan()

    @property
    def is_whole(self) -> bool:
        """Its arguments are a complete JSON value."""
        return bool(self.written.strip()) and self._scan.is_complete

    @property
    def is_settled(self) -> bool:
        """Whether what came of the arguments may be passed on."""
        return self.waiting.strip() not in ("", "{}")

    def restart(self) -> None:
        """Forget the arguments so far, none of which were passed on."""
        self.written = self.waiting = ""
        self._scan = JsonScan()

    def write(self, text: str) -> None:
        self.written += text
        self.waiting += text
        self._scan.feed(text)


class CallSorter:
    """The calls of one answer, in order. `names`: the tools that there are."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self.calls: list[OpenCall] = []

    def take(self, piece: dict[str, Any]) -> OpenCall | None:
        """The call that a piece belongs to, with what it says of it; None for a piece that says nothing new."""
        function = next((piece[each] for each in ("function", "custom") if isinstance(piece.get(each), dict)), piece)
        name = shapes.string(function.get("name") or piece.get("function"))
        given = next((function[each] for each in _ARGUMENTS if function.get(each) is not None), None)
        text = shapes.arguments(given)
        call_id, index = shapes.string(piece.get("id")), shapes.place(piece.get("index"))
        call = self._known(call_id, index)
        if call is not None and call.written.strip() == "{}" and not name and text.lstrip().startswith("{"):
            call.restart()  # gateways begin with an empty object, and send the real one behind it
        elif call is not None and name and not call.name and not text.strip():
            pass  # the name behind the arguments
        elif call is not None and call.is_whole and (name or text.strip()):
            # An id may come again, but another index is another place.
            there = index is None or index == call.index
            same = there and bool(call_id) and call_id == call.id and name in ("", call.name)
            if same and text.strip() in ("", call.written.strip(), "{}"):
                return None
            if name or text.lstrip().startswith("{"):
                # The id stays where it is said once for all calls.
                name, call_id, call = name or call.name, call_id or call.id, None
            else:
                return None
        elif call is not None and call.written and name and name != call.name and call.name:
            call = None
        if call is None:
            if not (name or text or call_id):
                return None
            call = OpenCall(len(self.calls), index)
            self.calls.append(call)
        call.id = call.id or call_id
        if name and not call.written:
            call.name = self._joined(call.name, name)
        elif name and not call.name:
            call.name = name
        call.write(text)
        return call

    def _known(self, call_id: str, index: Any) -> OpenCall | None:
        """The latest call that has the piece's id or place; without either the last one."""
        newest = reversed(self.calls)
        if call_id and (found := next((call for call in self.calls[::-1] if call.id == call_id), None)):
            return found
        if index is None:
            last = next(newest, None)
            return None if call_id and last is not None and last.id and last.is_whole else last
        return next((call for call in newest if call.index == index), None)

    def _joined(self, old: str, new: str) -> str:
        """A name that comes again, or in pieces."""
        if not old or old == new:
            return new
        return new if new in self._names and old + new not in self._names else old + new


def real_name(name: str, names: Collection[str]) -> str:
    """A tool's name that a gateway has put together from all chunks (`readread`)."""
    if name in names:
        return name
    return next((each for each in names if name and name == each * (len(name) // max(1, len(each)))), name)
