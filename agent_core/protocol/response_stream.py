"""Legality of one response's events as two tables, and what the response comes to.

Owns the order of events of one response (Open Responses specification, "Streaming"; OpenAI streaming events), the
sequence numbers and the authoritative output: the items of `response.output_item.done` in the order of
`output_index`. A server that sends no complete item events is taken by the `output` of its terminal event. The order
inside an item (parts before their deltas) is not judged: nothing is built from it. Unknown events pass. No I/O.

    response:  WAITING --created/queued--> OPEN --completed/incomplete/failed/error--> ENDED
    item:      NONE --added--> OPEN --done--> DONE        (deltas without an item event leave NONE as it is)
"""

from __future__ import annotations

from enum import Enum, IntEnum
from functools import cache
from typing import Final

from agent_core.errors import ProtocolError
from agent_core.wire import events as ev


class Kind(IntEnum):
    """What an event is for the order of a response."""

    CREATED = 0
    QUEUED = 1
    IN_PROGRESS = 2
    """Also a keepalive: it may be repeated at any time after the response was created."""
    ITEM_ADDED = 3
    ITEM_INNER = 4
    """A delta, a part, or progress of a hosted tool: whatever lies inside an item."""
    ITEM_DONE = 5
    COMPLETED = 6
    INCOMPLETE = 7
    FAILED = 8
    ERROR = 9
    ASIDE = 10
    """Unknown events, timing and steering: about the response, not of it."""


class ResponseState(Enum):
    WAITING = "waiting"
    OPEN = "open"
    ENDED = "ended"


class ItemState(Enum):
    NONE = "none"
    OPEN = "open"
    DONE = "done"


_W, _O, _E = ResponseState.WAITING, ResponseState.OPEN, ResponseState.ENDED

RESPONSE_TABLE: Final[dict[tuple[ResponseState, Kind], ResponseState]] = {
    (_W, Kind.CREATED): _O,
    (_W, Kind.QUEUED): _O,
    (_W, Kind.FAILED): _E,
    (_W, Kind.ERROR): _E,
    (_W, Kind.ASIDE): _W,
    (_O, Kind.QUEUED): _O,
    (_O, Kind.IN_PROGRESS): _O,
    (_O, Kind.ITEM_ADDED): _O,
    (_O, Kind.ITEM_INNER): _O,
    (_O, Kind.ITEM_DONE): _O,
    (_O, Kind.COMPLETED): _E,
    (_O, Kind.INCOMPLETE): _E,
    (_O, Kind.FAILED): _E,
    (_O, Kind.ERROR): _E,
    (_O, Kind.ASIDE): _O,
    (_E, Kind.ASIDE): _E,
}
"""(state, event) -> new state. What is absent is illegal."""

ITEM_TABLE: Final[dict[tuple[ItemState, Kind], ItemState]] = {
    (ItemState.NONE, Kind.ITEM_ADDED): ItemState.OPEN,
    (ItemState.NONE, Kind.ITEM_INNER): ItemState.NONE,
    (ItemState.NONE, Kind.ITEM_DONE): ItemState.DONE,
    (ItemState.OPEN, Kind.ITEM_INNER): ItemState.OPEN,
    (ItemState.OPEN, Kind.ITEM_DONE): ItemState.DONE,
}

_NAMED: Final[dict[type, Kind]] = {
    ev.ResponseCreated: Kind.CREATED,
    ev.ResponseQueued: Kind.QUEUED,
    ev.ResponseInProgress: Kind.IN_PROGRESS,
    ev.OutputItemAdded: Kind.ITEM_ADDED,
    ev.OutputItemDone: Kind.ITEM_DONE,
    ev.ResponseCompleted: Kind.COMPLETED,
    ev.ResponseIncomplete: Kind.INCOMPLETE,
    ev.ResponseFailed: Kind.FAILED,
    ev.ErrorEvent: Kind.ERROR,
    ev.UnknownEvent: Kind.ASIDE,
    ev.WebsocketTiming: Kind.ASIDE,
    ev.SteerAccepted: Kind.ASIDE,
    ev.SteerPending: Kind.ASIDE,
    ev.SteerFailed: Kind.ASIDE,
}

TERMINAL: Final = frozenset({Kind.COMPLETED, Kind.INCOMPLETE, Kind.FAILED, Kind.ERROR})


@cache
def kinds() -> dict[type, Kind]:
    """The kind of every known event struct."""
    return {struct: _NAMED.get(struct, Kind.ITEM_INNER) for struct in [*ev.EVENTS.values(), ev.UnknownEvent]}


class ResponseStream:
    """One response from its first event to its last. Feed every event that belongs to it, in the order of arrival."""

    def __init__(self) -> None:
        self.state = ResponseState.WAITING
        self.response_id: str | None = None
        """None until an event names it."""
        self.terminal: ev.ServerEvent | None = None
        """The event that ended it, None while it runs."""
        self._kinds = kinds()
        self._items: dict[int, ItemState] = {}
        self._done: dict[int, bytes] = {}
        self._first: int | None = None
        self._next = -1
        self._numbered = True

    @property
    def begun(self) -> bool:
        """Whether the response itself showed: an error before that means that nothing ran."""
        return self.response_id is not None or self.state is ResponseState.OPEN

    def feed(self, event: ev.ServerEvent) -> Kind:
        """Take the next event. Raises ProtocolError for an order that no server may use; the response is then
        void."""
        kind = self._kinds[type(event)]
        if kind is Kind.ITEM_INNER:
            # The hot path: nearly all events are deltas of an item that is open.
            if self.state is not ResponseState.OPEN:
                raise _illegal(event, self.state)
            index = getattr(event, "output_index", None)
            if index is not None and self._items.get(index) is ItemState.DONE:
                raise ProtocolError(f"{ev.event_type(event)} for item {index}, which is done")
            if self._numbered and event.sequence_number == self._next:
                self._next += 1
            else:
                self._count(event, kind)
            return kind
        state = RESPONSE_TABLE.get((self.state, kind))
        if state is None:
            raise _illegal(event, self.state)
        self._count(event, kind)
        if isinstance(event, ev.OutputItemAdded | ev.OutputItemDone):
            self._item(event, kind)
        elif isinstance(event, _LIFECYCLE):
            self._identify(event.response.id)
        self.state = state
        if kind in TERMINAL:
            self.terminal = event
        return kind

    def output(self) -> list[bytes]:
        """The authoritative output items, encoded, after a completed or incomplete end.

        Raises ProtocolError where an item of a completed response never became complete.
        """
        terminal = self.terminal
        if not isinstance(terminal, ev.ResponseCompleted | ev.ResponseIncomplete):
            raise ProtocolError("the response has no output: it did not end with one")
        stated = [_sound(bytes(raw)) for raw in terminal.response.output]
        unfinished = [index for index, state in self._items.items() if state is ItemState.OPEN]
        if (unfinished or not self._done) and stated:
            return stated
        if unfinished and isinstance(terminal, ev.ResponseCompleted):
            raise ProtocolError(f"the response completed, but its item {unfinished[0]} did not")
        return [self._done[index] for index in sorted(self._done)]

    def _item(self, event: ev.OutputItemAdded | ev.OutputItemDone, kind: Kind) -> None:
        index = event.output_index
        old = self._items.get(index, ItemState.NONE)
        new = ITEM_TABLE.get((old, kind))
        if new is None:
            raise ProtocolError(f"{ev.event_type(event)} for item {index}, which is {old.value}")
        self._items[index] = new
        if new is ItemState.DONE:
            self._done[index] = _sound(bytes(event.item))

    def _identify(self, response_id: str) -> None:
        if not response_id:
            return
        if self.response_id is None:
            self.response_id = response_id
        elif self.response_id != response_id:
            raise ProtocolError(f"an event of response {response_id} amid {self.response_id}")

    def _count(self, event: ev.ServerEvent, kind: Kind) -> None:
        """Sequence numbers rise by one, if the server numbers its events at all.

        A server that repeats its first number (or leaves numbers out, which reads as 0) does not number; what stands
        aside may have no number.
        """
        number = event.sequence_number
        if number == self._next and self._numbered:
            self._next = number + 1
        elif not self._numbered or number is None or (kind is Kind.ASIDE and number == 0) or kind is Kind.ERROR:
            return
        elif self._first is None:
            self._first, self._next = number, number + 1
        elif number == self._first and self._next == number + 1:
            self._numbered = False
        else:
            raise ProtocolError(f"event number {number} came where {self._next} was due")


_LIFECYCLE = (
    ev.ResponseCreated,
    ev.ResponseQueued,
    ev.ResponseInProgress,
    ev.ResponseCompleted,
    ev.ResponseIncomplete,
    ev.ResponseFailed,
)


def _sound(item: bytes) -> bytes:
    """An item is kept undecoded and sent again with every full input, so its text must be text (RFC 6455, 8.1)."""
    try:
        item.decode()
    except UnicodeDecodeError:
        raise ProtocolError("an output item that is no UTF-8") from None
    return item


def _illegal(event: ev.ServerEvent, state: ResponseState) -> ProtocolError:
    return ProtocolError(f"{ev.event_type(event)} is not possible while the response is {state.value}")
