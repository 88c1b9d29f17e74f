"""Settings to a ledger: on disk where the service has a state folder, else in memory."""

from __future__ import annotations

from agent_core.clock import Clock
from agent_core.responses_server.ledger.memory import MemoryLedger
from agent_core.responses_server.ledger.port import Ledger
from agent_core.responses_server.ledger.sqlite_ledger import SqliteLedger
from agent_core.responses_server.settings import ServeSettings

FILE = "ledger.db"


def make_ledger(settings: ServeSettings, process: str, clock: Clock) -> Ledger:
    """`process`: unique name of this process."""
    if settings.state_dir is None:
        return MemoryLedger()
    return SqliteLedger(settings.state_dir / FILE, process, clock)
