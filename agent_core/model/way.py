"""A way to the service: what the session needs of WebSocket and of HTTP alike."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

from agent_core.errors import LooplineError
from agent_core.model.request import Fields
from agent_core.protocol.chain import Plan
from agent_core.protocol.item_log import ItemLog
from agent_core.telemetry.events import TransportKind


class Way(Protocol):
    """Carries one request at a time: `prepare`, `plan`, `send`, `receive` until the end, then `succeeded` or
    `failed`."""

    @property
    def kind(self) -> TransportKind: ...

    @property
    def connection(self) -> str | None:
        """Telemetry id of the connection in use, None where there is none that lasts."""

    @property
    def lane(self) -> str | None:
        """Name of the lane on that connection, None for the default one."""

    @property
    def reached(self) -> bool:
        """Whether the service ever answered on this way."""

    async def prepare(self) -> None:
        """Be ready to send. Raises a TransportError, AuthError or ServiceError if that can't be had."""

    def plan(self, fields: Fields, log: ItemLog) -> Plan:
        """What to send: a delta or everything."""

    def encode(self, fields: Fields, plan: Plan, new: Sequence[bytes], *, warmup: bool) -> bytes:
        """The request's bytes; `new` are the items from `plan.first_new` on."""

    async def send(self, data: bytes, left: Callable[[int], None]) -> None:
        """Let the request leave, and tell `left` when its first byte did (monotonic nanoseconds), once it has gone.

        Raises MessageTooLarge (nothing left), TransportError, AuthError, ServiceError.
        """

    async def receive(self) -> list[bytes]:
        """The next events, encoded; waits for at least one. Raises ConnectionLost or ProtocolError."""

    def put_back(self, events: list[bytes]) -> None:
        """Events that came with the last one of the response, but after it."""

    def claims(self, response_id: str | None) -> bool:
        """Whether an event that names this response (None: none) belongs to the request under way."""

    @property
    def earlier_items(self) -> Collection[str]:
        """Ids of items of earlier responses whose events may still come on this way."""

    def leave_behind(self, item_ids: Iterable[str]) -> None:
        """The items of the request that is over now; before `succeeded`, `failed` or `abandon`."""

    def running(self) -> None:
        """The response of the request under way has begun at the service (`response.in_progress`)."""

    async def succeeded(self, response_id: str, fields: Fields, log: ItemLog, count: int, output: list[bytes]) -> None:
        """The response ended well. Its input was the first `count` items of `log`; `response_id` "" if it had no
        id."""

    async def failed(self, error: LooplineError, *, ended: bool, begun: bool) -> None:
        """The request failed. `ended`: by the service's own word, so that the way is still good; `begun`: a response
        had shown."""

    def abandon(self) -> None:
        """The call was cancelled: leave the way fit for the next request. Never waits."""

    async def close(self) -> None:
        """End everything that belongs to this way."""
