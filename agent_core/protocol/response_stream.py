"""The events of one response as two tables, and what the response comes to.

Owns the order of events of one response (Open Responses specification, "Streaming"; OpenAI streaming events), the
sequence numbers and the output, of which the terminal event is the truth (`reconcile`). What strays from the order
without contradicting that is an oddity: it is noted by name, and the response goes on. The order inside an item (parts
before their deltas) is not judged: nothing is built from it. Unknown events pass. No I/O.

    response:  WAITING --created/queued--> OPEN --completed/incomplete/failed/error--> ENDED
    item:      NONE --added--> OPEN --done--> DONE        (deltas without an item event leave NONE as it is)
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum, IntEnum
from functools import cache
from typing import Final

from agent_core.errors import ProtocolError
from agent_core.protocol.reconcile import FOREIGN, DoneItem, reconcile, same
from agent_core.text import sound_json
from agent_core.wire import events as ev
from agent_core.wire.head import read_head


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
    (_W, Kind.IN_PROGRESS): _O,
    (_W, Kind.ITEM_ADDED): _O,
    (_W, Kind.ITEM_INNER): _O,
    (_W, Kind.ITEM_DONE): _O,
    (_W, Kind.COMPLETED): _E,
    (_W, Kind.INCOMPLETE): _E,
    (_W, Kind.FAILED): _E,
    (_W, Kind.ERROR): _E,
    (_W, Kind.ASIDE): _W,
    (_O, Kind.CREATED): _O,
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

NOT_CREATED: Final = "not_created"
"""The response began without `response.created`."""
REPEATED: Final = "event_repeated"
LATE: Final = "event_late"
"""An event for an item that was done."""
ID_CHANGED: Final = "id_changed"
"""The response's id was another one in a later event."""
NUMBER_GAP: Final = "number_gap"
NUMBER_REPEATED: Final = "number_repeated"
MENDED: Final = "text_mended"
"""An item held text that is no Unicode."""

ODD_RESPONSE: Final[dict[tuple[ResponseState, Kind], str]] = {
    (_W, Kind.IN_PROGRESS): NOT_CREATED,
    (_W, Kind.ITEM_ADDED): NOT_CREATED,
    (_W, Kind.ITEM_INNER): NOT_CREATED,
    (_W, Kind.ITEM_DONE): NOT_CREATED,
    (_W, Kind.COMPLETED): NOT_CREATED,
    (_W, Kind.INCOMPLETE): NOT_CREATED,
    (_O, Kind.CREATED): REPEATED,
}
"""Legal rows that no server should need."""

ITEM_TABLE: Final[dict[tuple[ItemState, Kind], ItemState]] = {
    (ItemState.NONE, Kind.ITEM_ADDED): ItemState.OPEN,
    (ItemState.NONE, Kind.ITEM_INNER): ItemState.NONE,
    (ItemState.NONE, Kind.ITEM_DONE): ItemState.DONE,
    (ItemState.OPEN, Kind.ITEM_ADDED): ItemState.OPEN,
    (ItemState.OPEN, Kind.ITEM_INNER): ItemState.OPEN,
    (ItemState.OPEN, Kind.ITEM_DONE): ItemState.DONE,
    (ItemState.DONE, Kind.ITEM_ADDED): ItemState.DONE,
    (ItemState.DONE, Kind.ITEM_INNER): ItemState.DONE,
    (ItemState.DONE, Kind.ITEM_DONE): ItemState.DONE,
}

ODD_ITEM: Final[dict[tuple[ItemState, Kind], str]] = {
    (ItemState.OPEN, Kind.ITEM_ADDED): REPEATED,
    (ItemState.DONE, Kind.ITEM_ADDED): LATE,
    (ItemState.DONE, Kind.ITEM_INNER): LATE,
    (ItemState.DONE, Kind.ITEM_DONE): REPEATED,
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
ITEM_KINDS: Final = frozenset({Kind.ITEM_ADDED, Kind.ITEM_INNER, Kind.ITEM_DONE})


@cache
def kinds() -> dict[type, Kind]:
    """The kind of every known event struct."""
    return {struct: _NAMED.get(struct, Kind.ITEM_INNER) for struct in [*ev.EVENTS.values(), ev.UnknownEvent]}


class ResponseStream:
    """One response from its first event to its last. Feed every event that belongs to it, in the order of arrival.

    `earlier`: ids of the items of responses that came before it on the same way. Where there are any, item events that
    come before this response is created, or out of their turn, are those responses' tail.
    """

    def __init__(self, earlier: Collection[str] = ()) -> None:
        self.state = ResponseState.WAITING
        self.response_id: str | None = None
        """None until an event names it; the last one counts, since that is what can be continued."""
        self.terminal: ev.ServerEvent | None = None
        """The event that ended it, None while it runs."""
        self.oddities: dict[str, int] = {}
        """What was strange and did no harm, and how often."""
        self._kinds = kinds()
        self._earlier, self._follows = earlier, bool(earlier)
        self._items: dict[int, ItemState] = {}
        self._added: dict[int, str] = {}
        self._done: list[DoneItem] = []
        self._first: int | None = None
        self._next = -1
        self._numbered = True
        self._last: ev.ServerEvent | None = None

    @property
    def item_ids(self) -> set[str]:
        """Ids of all items that showed, for the responses that follow."""
        ended = self.terminal
        stated = ended.response.output if isinstance(ended, ev.ResponseCompleted | ev.ResponseIncomplete) else ()
        shown = {*self._added.values()} | {each.item_id for each in self._done}
        return (shown | {_item_id(bytes(item)) for item in stated}) - {""}

    @property
    def begun(self) -> bool:
        """Whether the response itself showed: an error before that means that nothing ran."""
        return self.response_id is not None or self.state is ResponseState.OPEN

    def feed(self, event: ev.ServerEvent) -> Kind:
        """Take the next event; ASIDE for one that counts for nothing. Raises ProtocolError for a contradiction or
        an event after the end; the response is then void."""
        kind = self._kinds[type(event)]
        if kind is Kind.ITEM_INNER and self.state is ResponseState.OPEN:
            # The hot path: nearly all events are deltas of an item that is open.
            if self._numbered and event.sequence_number == self._next:
                self._next += 1
            elif self._is_foreign(event):
                return self.note(FOREIGN)
            elif not self._count(event, kind) and self._numbered and event == self._last:
                return Kind.ASIDE  # the same event once more
            self._last = event
            index = getattr(event, "output_index", None)
            if index is not None and self._items.get(index) is ItemState.DONE:
                return self.note(LATE)
            return kind
        state = RESPONSE_TABLE.get((self.state, kind))
        if state is None:
            raise ProtocolError(f"{ev.event_type(event)} is not possible while the response is {self.state.value}")
        if self._follows and self.state is ResponseState.WAITING and kind in ITEM_KINDS:
            if isinstance(event, ev.OutputItemDone):
                raw = bytes(event.item)
                self._keep(DoneItem(event.output_index, _item_id(raw), self._sound(raw), doubtful=True))
            return self.note(FOREIGN)
        if (oddity := ODD_RESPONSE.get((self.state, kind))) is not None:
            self.note(oddity)
        in_order = self._count(event, kind)
        if isinstance(event, ev.OutputItemAdded | ev.OutputItemDone):
            kind = self._item(event, kind, in_order=in_order)
        elif isinstance(event, _LIFECYCLE):
            self._identify(event.response.id)
        self.state = state
        if kind in TERMINAL:
            self.terminal = event
        return kind

    def note(self, oddity: str) -> Kind:
        """Count an oddity. ASIDE, since its event counts for nothing else."""
        self.oddities[oddity] = self.oddities.get(oddity, 0) + 1
        return Kind.ASIDE

    def output(self) -> list[bytes]:
        """The authoritative output items, encoded, after a completed or incomplete end.

        Raises ProtocolError for a contradiction, or where an item of a completed response never became complete.
        """
        terminal = self.terminal
        if not isinstance(terminal, ev.ResponseCompleted | ev.ResponseIncomplete):
            raise ProtocolError("the response has no output: it did not end with one")
        stated = [self._sound(bytes(raw)) for raw in terminal.response.output]
        unfinished = ItemState.OPEN in self._items.values()
        completed = isinstance(terminal, ev.ResponseCompleted)
        output = reconcile(stated, self._done, unfinished=unfinished, completed=completed, earlier=self._earlier)
        for oddity in output.oddities:
            self.note(oddity)
        return output.items

    def _item(self, event: ev.OutputItemAdded | ev.OutputItemDone, kind: Kind, *, in_order: bool) -> Kind:
        """Gateways give an item a new id in each event; so another id alone does not make it another response's."""
        index, item_id = event.output_index, _item_id(bytes(event.item))
        old = self._items.get(index, ItemState.NONE)
        announced = self._added.get(index, "")
        if kind is Kind.ITEM_ADDED:
            if old is ItemState.NONE or announced in self._earlier:
                self._added[index] = item_id
        else:
            doubtful = self._follows and not in_order and bool(announced and item_id and item_id != announced)
            self._keep(DoneItem(index, item_id, self._sound(bytes(event.item)), doubtful))
            if doubtful:
                # The terminal event tells whether it is this response's; until then the item itself is still awaited.
                return self.note(FOREIGN)
        self._items[index] = ITEM_TABLE[old, kind]
        oddity = ODD_ITEM.get((old, kind))
        return kind if oddity is None else self.note(oddity)

    def _sound(self, item: bytes) -> bytes:
        """An item is kept undecoded and sent again with every full input, so its text must be text (RFC 6455, 8.1)."""
        mended = sound_json(item)
        if mended != item:
            self.note(MENDED)
        return mended

    def _keep(self, item: DoneItem) -> None:
        for known in self._done:
            if known.index == item.index and (known.item_id == item.item_id or not known.item_id or not item.item_id):
                if same(known.raw, item.raw):
                    return
                if known.doubtful == item.doubtful:
                    raise ProtocolError(f"item {item.index} was done twice, with different contents")
        self._done.append(item)

    def _is_foreign(self, event: ev.ServerEvent) -> bool:
        """Whether an event out of its number names another item than the one that was announced in its place."""
        item_id = getattr(event, "item_id", "")
        announced = self._added.get(getattr(event, "output_index", -1), "")
        return bool(self._follows and item_id and announced and item_id != announced)

    def _identify(self, response_id: str) -> None:
        if not response_id:
            return
        if self.response_id not in (None, response_id):
            self.note(ID_CHANGED)
        self.response_id = response_id

    def _count(self, event: ev.ServerEvent, kind: Kind) -> bool:
        """Whether the event came in its turn. Sequence numbers rise by one, if the server numbers its events at all.

        A server that repeats its first number (or leaves numbers out, which reads as 0) does not number; what stands
        aside may have no number or one of its own.
        """
        number = event.sequence_number
        if number == self._next and self._numbered:
            self._next = number + 1
        elif not self._numbered or number is None or kind in (Kind.ASIDE, Kind.ERROR):
            return False
        elif self._first is None:
            self._first, self._next = number, number + 1
        elif number == self._first and self._next == number + 1:
            self._numbered = False
        elif number > self._next:
            self.note(NUMBER_GAP)
            self._next = number + 1
            return False
        else:
            self.note(NUMBER_REPEATED)
            return False
        return True


_LIFECYCLE = (
    ev.ResponseCreated,
    ev.ResponseQueued,
    ev.ResponseInProgress,
    ev.ResponseCompleted,
    ev.ResponseIncomplete,
    ev.ResponseFailed,
)


def _item_id(item: bytes) -> str:
    return read_head(item).text("id") or ""
