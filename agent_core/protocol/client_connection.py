"""The life of one client connection as a table, and whose event an event is.

Owns which call the connection works for, by response id. It never decides about retries and does no I/O: the caller
feeds inputs, and does what the returned `Effect` says.

                connect        opened         send           ended
        IDLE ----------> CONNECTING --> READY ----> IN_FLIGHT ----> READY
                              |           ^            | cancel
                              | refused   |  ended     v
                              v           +-------- DRAINING
                           CLOSED <---------- lost, close, overdue, mixed up (from everywhere)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from enum import Enum
from typing import Final

from agent_core.errors import ProtocolError


class State(Enum):
    IDLE = "idle"
    CONNECTING = "connecting"
    READY = "ready"
    IN_FLIGHT = "in_flight"
    DRAINING = "draining"
    """The call was cancelled; its response is still running at the service."""
    CLOSED = "closed"


class Input(Enum):
    CONNECT = "connect"
    OPENED = "opened"
    REFUSED = "refused"
    SEND = "send"
    ENDED = "ended"
    """The running response's terminal event, or an error that answers the request."""
    CANCEL = "cancel"
    OVERDUE = "overdue"
    """Draining took longer than its bound."""
    MIXED_UP = "mixed_up"
    """What comes next on this socket can't be told apart from the last call's tail."""
    CLOSE = "close"
    LOST = "lost"


class Effect(Enum):
    NONE = "none"
    OPEN = "open"
    """Start the handshake."""
    TRANSMIT = "transmit"
    """Write the request."""
    STOP = "stop"
    """Ask the service to stop (`response.cancel`) where it can, and wait for the end within a bound."""
    DROP = "drop"
    """Close the socket."""


_DROP: Final = (State.CLOSED, Effect.DROP)
_GONE: Final = (State.CLOSED, Effect.NONE)

TABLE: Final[dict[tuple[State, Input], tuple[State, Effect]]] = {
    (State.IDLE, Input.CONNECT): (State.CONNECTING, Effect.OPEN),
    (State.IDLE, Input.CLOSE): _GONE,
    (State.CONNECTING, Input.OPENED): (State.READY, Effect.NONE),
    (State.CONNECTING, Input.REFUSED): _GONE,
    (State.CONNECTING, Input.CLOSE): _DROP,
    (State.CONNECTING, Input.LOST): _GONE,
    (State.READY, Input.SEND): (State.IN_FLIGHT, Effect.TRANSMIT),
    (State.READY, Input.MIXED_UP): _DROP,
    (State.READY, Input.CLOSE): _DROP,
    (State.READY, Input.LOST): _GONE,
    (State.IN_FLIGHT, Input.ENDED): (State.READY, Effect.NONE),
    (State.IN_FLIGHT, Input.CANCEL): (State.DRAINING, Effect.STOP),
    (State.IN_FLIGHT, Input.MIXED_UP): _DROP,
    (State.IN_FLIGHT, Input.CLOSE): _DROP,
    (State.IN_FLIGHT, Input.LOST): _GONE,
    (State.DRAINING, Input.ENDED): (State.READY, Effect.NONE),
    (State.DRAINING, Input.CANCEL): (State.DRAINING, Effect.NONE),
    (State.DRAINING, Input.OVERDUE): _DROP,
    (State.DRAINING, Input.MIXED_UP): _DROP,
    (State.DRAINING, Input.CLOSE): _DROP,
    (State.DRAINING, Input.LOST): _GONE,
    (State.CLOSED, Input.CLOSE): _GONE,
    (State.CLOSED, Input.CANCEL): _GONE,
    (State.CLOSED, Input.OVERDUE): _GONE,
    (State.CLOSED, Input.MIXED_UP): _GONE,
    (State.CLOSED, Input.LOST): _GONE,
    (State.CLOSED, Input.REFUSED): _GONE,
}
"""(state, input) -> (new state, effect). What is absent is illegal."""

KEPT_IDS: Final = 16
"""How many ids of ended responses are remembered, to recognise their late events."""


class ClientConnection:
    """One connection's state. `opened_ns` and `age_ns` are monotonic nanoseconds handed in by the caller."""

    def __init__(self) -> None:
        self.state = State.IDLE
        self.response_id: str | None = None
        """Id of the response that the present call runs, None until its first event; the last of several ids."""
        self._earlier: list[str] = []
        self.opened_ns: int | None = None
        self._ended: deque[str] = deque(maxlen=KEPT_IDS)
        self._items: deque[str] = deque(maxlen=8 * KEPT_IDS)

    def feed(self, event: Input) -> Effect:
        """Apply one input. Raises ProtocolError where the table has no row; the state is then unchanged."""
        row = TABLE.get((self.state, event))
        if row is None:
            raise ProtocolError(f"{event.value} is not possible while {self.state.value}")
        if self.response_id is not None and row[0] not in (State.IN_FLIGHT, State.DRAINING):
            self._ended.extend([*self._earlier, self.response_id])
            self._earlier.clear()
            self.response_id = None
        self.state = row[0]
        return row[1]

    def opened(self, now_ns: int) -> None:
        self.feed(Input.OPENED)
        self.opened_ns = now_ns

    def age_ns(self, now_ns: int) -> int:
        """Time since the handshake, 0 before it."""
        return 0 if self.opened_ns is None else now_ns - self.opened_ns

    def leave_behind(self, item_ids: Iterable[str]) -> None:
        """The items of a call that is over: late events may still name them."""
        self._items.extend(item_ids)

    @property
    def earlier_items(self) -> Collection[str]:
        """Ids of the last items that ended calls left behind."""
        return frozenset(self._items)

    def claims(self, response_id: str | None) -> bool:
        """Whether an event that names `response_id` (None: it names none) belongs to the call that runs now.

        An id first seen after a send is the call's own; gateways give a response several. False = stale: an earlier
        response's tail.
        """
        if self.state not in (State.IN_FLIGHT, State.DRAINING):
            return False
        if response_id is None or response_id == self.response_id:
            return True
        if response_id in self._ended:
            return False
        if self.response_id is not None and len(self._earlier) < KEPT_IDS:
            self._earlier.append(self.response_id)
        self.response_id = response_id
        return True
