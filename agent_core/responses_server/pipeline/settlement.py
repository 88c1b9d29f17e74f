"""Work after the terminal frame: ledger, telemetry and the durable store, while the next request is served.

Owns its tasks; `drain` waits for them. What the next request must see at once (the store's `put`, the key's limit, the
counters) happens before the terminal frame leaves, what must be durable happens here.
"""

from __future__ import annotations

import asyncio
import logging

import msgspec

from agent_core.clock import Clock
from agent_core.errors import Retry, ServiceError, StateError
from agent_core.responses_server.admission.limits import Limits
from agent_core.responses_server.ledger.port import Account, Intent, Ledger, Status
from agent_core.responses_server.metrics.counters import Counters
from agent_core.responses_server.stages import Stages
from agent_core.responses_server.store.port import ResponseStore
from agent_core.telemetry.emitter import Emitter
from agent_core.telemetry.events import ServiceCall
from agent_core.telemetry.rollup.prices import PriceTable
from agent_core.wire.response import Usage

log = logging.getLogger(__name__)


LEDGER_PAUSE_S = 5.0
"""The pause asked of clients while the ledger can't be written (a full disk)."""


class UsageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What is settled for one response. `stored`: the store holds it and must make it durable.

    `usage` None: it was not rendered. `error_code`: of a failed one, "" else. `screened`: code of the screen that
    flagged or blocked its input, "" for none.
    """

    intent: Intent
    status: Status
    usage: Usage | None
    error_code: str
    stages: Stages
    new_tokens: int
    reused_tokens: int
    tools_ignored: int
    """Tools of the request that the engine can't use."""
    screened: str
    stored: bool


class Settlement:
    """`overlap` False settles before the response ends (to measure what overlapping gives)."""

    def __init__(
        self,
        store: ResponseStore,
        ledger: Ledger,
        emitter: Emitter,
        *,
        clock: Clock,
        limits: Limits,
        counters: Counters,
        prices: PriceTable,
        overlap: bool = True,
    ) -> None:
        self._store, self.ledger, self._emitter, self._clock = store, ledger, emitter, clock
        self._limits, self._counters, self._prices = limits, counters, prices
        self.overlap = overlap
        self._tasks: set[asyncio.Task[None]] = set()

    def admit(self, response_id: str, *, key: str, model: str, connection: str, lane: str | None) -> Intent:
        """The intent of a response, whose first event may leave then. Raises ServiceError if it can't be written."""
        intent = Intent(
            response_id=response_id,
            key=key,
            model=model,
            connection=connection,
            lane=lane,
            admitted_us=self._clock.wall_ns() // 1000,
            process=self._emitter.source,
        )
        try:
            self.ledger.admit(intent)
        except StateError as error:
            log.error("no response is admitted: %s", error.message)
            raise ServiceError(
                "The service can't take requests now; it is not your request.",
                code="server_is_overloaded",
                status=503,
                retry=Retry.BACKOFF,
                retry_after_s=LEDGER_PAUSE_S,
            ) from None
        return intent

    def refused(self, code: str) -> None:
        """A request was answered by an error before it was admitted."""
        self._counters.refused(code)

    def charge(self, bill: UsageRecord) -> None:
        """What the client's next request must find done. Call it before the terminal frame leaves."""
        if bill.usage is not None:
            self._limits.charge(bill.intent.key, bill.usage.total_tokens)

    def start(self, bill: UsageRecord) -> None:
        """Settle in the background."""
        task = asyncio.create_task(self.settle(bill))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settle(self, bill: UsageRecord) -> None:
        account = self._account(bill)
        with bill.stages.timed("settle"):
            self.ledger.settle(account)
            try:
                if bill.stored:
                    await self._store.flush()
                if not self.overlap:
                    await self.ledger.flush()
            except StateError as error:
                log.error("a response could not be made durable: %s", error.code)
        duration_s = max(0.0, self._clock.wall_ns() / 1e9 - bill.intent.admitted_us / 1e6)
        self._counters.settled(
            bill.intent.model, bill.status, bill.error_code, bill.usage, duration_s, bill.stages.seconds()
        )
        self._emitter.emit(
            ServiceCall(
                response_id=bill.intent.response_id,
                connection=bill.intent.connection,
                lane=bill.intent.lane,
                stages_ms=bill.stages.as_ms(),
                new_tokens=bill.new_tokens,
                reused_tokens=bill.reused_tokens,
                tools_ignored=bill.tools_ignored,
                screened=bill.screened or None,
                key=bill.intent.key,
                model=bill.intent.model,
                status=bill.status,
                error_code=bill.error_code or None,
                transport="http" if bill.intent.connection.startswith("http_") else "websocket",
                duration_ms=duration_s * 1000,
                input_tokens=account.input_tokens,
                cached_tokens=account.cached_tokens,
                output_tokens=account.output_tokens,
                reasoning_tokens=account.reasoning_tokens,
            )
        )
        self._tell(bill)

    async def drain(self) -> None:
        """Wait until everything started is settled."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _account(self, bill: UsageRecord) -> Account:
        usage = bill.usage
        given = usage.input_tokens_details if usage is not None else None
        said = usage.output_tokens_details if usage is not None else None
        cached = given.cached_tokens if given is not None else None
        return Account(
            intent=bill.intent,
            closed_us=self._clock.wall_ns() // 1000,
            status=bill.status,
            input_tokens=usage.input_tokens if usage is not None else None,
            cached_tokens=cached,
            output_tokens=usage.output_tokens if usage is not None else None,
            reasoning_tokens=said.reasoning_tokens if said is not None else None,
            cost_nano=self._prices.cost_nano(
                bill.intent.model,
                input_tokens=usage.input_tokens if usage is not None else None,
                cached_tokens=cached,
                cache_write_tokens=None,
                output_tokens=usage.output_tokens if usage is not None else None,
            ),
        )

    def _tell(self, bill: UsageRecord) -> None:
        if not log.isEnabledFor(logging.INFO):
            return
        usage = bill.usage
        fields = {
            "response_id": bill.intent.response_id,
            "key": bill.intent.key,
            "model": self._counters.model(bill.intent.model),
            "connection": bill.intent.connection,
            "status": bill.status,
            "error_code": bill.error_code or None,
            "input_tokens": usage.input_tokens if usage is not None else None,
            "output_tokens": usage.output_tokens if usage is not None else None,
            "stages_ms": bill.stages.as_ms(),
        }
        log.info("response", extra={"fields": fields})
