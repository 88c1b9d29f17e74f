"""The ledger of a service that keeps nothing on disk."""

from __future__ import annotations

from collections import OrderedDict

from agent_core.responses_server.ledger.port import Account, Intent, Total
from agent_core.responses_server.ledger.totals import add

ACCOUNTS_KEPT = 10_000


class MemoryLedger:
    """Keeps the latest `limit` entries and the sums of all; nothing survives the process."""

    def __init__(self, limit: int = ACCOUNTS_KEPT) -> None:
        self._limit = limit
        self._open: set[str] = set()
        self._closed: OrderedDict[str, Account] = OrderedDict()
        self._totals: dict[str, Total] = {}

    @property
    def pending(self) -> int:
        return len(self._open)

    async def open(self) -> list[Intent]:
        return []

    def admit(self, intent: Intent) -> None:
        self._open.add(intent.response_id)

    def settle(self, account: Account) -> None:
        self._open.discard(account.intent.response_id)
        self._closed[account.intent.response_id] = account
        add(self._totals, account)
        if len(self._closed) > self._limit:
            self._closed.popitem(last=False)

    async def flush(self) -> None:
        return

    async def find(self, response_id: str) -> Account | None:
        return self._closed.get(response_id)

    async def totals(self) -> dict[str, Total]:
        return dict(self._totals)

    async def close(self) -> None:
        return
