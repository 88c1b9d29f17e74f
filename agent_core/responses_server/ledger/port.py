"""The ledger: every response that was admitted, and what became of it.

`admit` is called before the first event of a response may leave, `settle` once after its last. A process that is killed
between the two leaves an intent; whoever opens the ledger next reports it and closes it as unsettled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

import msgspec

Status = Literal["completed", "incomplete", "cancelled", "failed", "abandoned"]
"""How a response ended; `abandoned`: its client left, or the service gave up, before its last event."""


STATUSES: Mapping[str, Status] = {
    "completed": "completed",
    "incomplete": "incomplete",
    "cancelled": "cancelled",
    "failed": "failed",
}
"""The response's own status to ours, for one that was told its end."""


class Intent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A response that is about to be answered. `key`: name of the API key. `lane` None: default lane, or HTTP.

    `admitted_us`: microseconds since the Unix epoch. `process`: the source that this process writes telemetry as.
    """

    response_id: str
    key: str
    model: str
    connection: str
    admitted_us: int
    process: str
    lane: str | None = None


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """A closed entry. `state` unsettled: its process was killed; then all below it is None.

    Token counts are inclusive; None: not known. `cost_nano`: nano-dollars at list price, None without a price.
    """

    intent: Intent
    closed_us: int
    state: Literal["settled", "unsettled"] = "settled"
    status: Status | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_nano: int | None = None


class Total(msgspec.Struct, kw_only=True):
    """Of one API key. Sums leave out what is not known."""

    responses: int = 0
    unsettled: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_nano: int = 0


class Ledger(Protocol):
    """All calls come from one event loop. A second process may use the same ledger at the same time."""

    @property
    def pending(self) -> int:
        """Responses admitted here that are not durably settled yet."""

    async def open(self) -> list[Intent]:
        """Called once, first. Closes what killed processes left, and returns it. Raises StateError."""

    def admit(self, intent: Intent) -> None:
        """On return the intent outlives a kill of this process. Raises StateError if it can't be written."""

    def settle(self, account: Account) -> None:
        """Close an admitted response. Never waits and never raises; durable soon, or with `flush`."""

    async def flush(self) -> None:
        """Make everything settled so far durable. Raises StateError if that fails; it is tried again later."""

    async def find(self, response_id: str) -> Account | None:
        """The closed entry of a response, None if there is none, or not yet."""

    async def totals(self) -> dict[str, Total]:
        """Sums of closed entries by name of the API key."""

    async def close(self) -> None:
        """Flush and let go. What could not be settled stays an intent for whoever opens the ledger next."""
