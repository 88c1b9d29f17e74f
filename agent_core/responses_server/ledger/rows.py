"""Closed entries as rows of SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from agent_core.responses_server.ledger.port import Account, Intent, Total
from agent_core.salvage import lenient_text

RETENTION_US = 400 * 24 * 3600 * 1_000_000
"""Entries older than this are deleted when the ledger opens: a year can be compared with the one before."""

_SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS ledger (
    response_id TEXT PRIMARY KEY,
    key TEXT NOT NULL,
    model TEXT NOT NULL,
    connection TEXT NOT NULL,
    lane TEXT,
    process TEXT NOT NULL,
    admitted_us INTEGER NOT NULL,
    closed_us INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('settled', 'unsettled')),
    status TEXT,
    input_tokens INTEGER,
    cached_tokens INTEGER,
    output_tokens INTEGER,
    reasoning_tokens INTEGER,
    cost_nano INTEGER
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS ledger_closed ON ledger (closed_us);
"""

_COLUMNS = (
    "response_id, key, model, connection, lane, process, admitted_us, closed_us, state, status, "
    "input_tokens, cached_tokens, output_tokens, reasoning_tokens, cost_nano"
)


def connect(path: Path) -> sqlite3.Connection:
    """Raises sqlite3.Error."""
    database = sqlite3.connect(path, timeout=5.0, check_same_thread=False)
    database.text_factory = lenient_text
    return database


def make(path: Path) -> None:
    """A fresh file with the table. Raises sqlite3.Error."""
    with closing(connect(path)) as database:
        database.executescript(_SCHEMA)


def prepare(database: sqlite3.Connection, now_us: int) -> None:
    """Make the table, and forget what is too old. Raises sqlite3.Error."""
    database.executescript(_SCHEMA)
    with database:
        database.execute("DELETE FROM ledger WHERE closed_us < ?", (now_us - RETENTION_US,))


def insert(database: sqlite3.Connection, accounts: Sequence[Account]) -> None:
    """In one transaction; an entry that is there stays as it is. Raises sqlite3.Error."""
    rows = [
        (
            account.intent.response_id,
            account.intent.key,
            account.intent.model,
            account.intent.connection,
            account.intent.lane,
            account.intent.process,
            account.intent.admitted_us,
            account.closed_us,
            account.state,
            account.status,
            account.input_tokens,
            account.cached_tokens,
            account.output_tokens,
            account.reasoning_tokens,
            account.cost_nano,
        )
        for account in accounts
    ]
    with database:
        places = ", ".join("?" * len(_COLUMNS.split(",")))
        database.executemany(f"INSERT OR IGNORE INTO ledger ({_COLUMNS}) VALUES ({places})", rows)


def select(database: sqlite3.Connection, response_id: str) -> Account | None:
    row = database.execute(f"SELECT {_COLUMNS} FROM ledger WHERE response_id = ?", (response_id,)).fetchone()
    if row is None:
        return None
    _, key, model, connection, lane, process, admitted_us, closed_us, state, status, *counts = row
    given, cached, output, reasoning, cost_nano = counts
    return Account(
        intent=Intent(
            response_id=response_id,
            key=key,
            model=model,
            connection=connection,
            lane=lane,
            process=process,
            admitted_us=admitted_us,
        ),
        closed_us=closed_us,
        state=state,
        status=status,
        input_tokens=given,
        cached_tokens=cached,
        output_tokens=output,
        reasoning_tokens=reasoning,
        cost_nano=cost_nano,
    )


def totals(database: sqlite3.Connection) -> dict[str, Total]:
    query = (
        "SELECT key, COUNT(*), SUM(state = 'unsettled'), COALESCE(SUM(input_tokens), 0), "
        "COALESCE(SUM(output_tokens), 0), COALESCE(SUM(cost_nano), 0) FROM ledger GROUP BY key"
    )
    return {
        key: Total(
            responses=responses, unsettled=unsettled, input_tokens=given, output_tokens=output, cost_nano=cost_nano
        )
        for key, responses, unsettled, given, output, cost_nano in database.execute(query)
    }
