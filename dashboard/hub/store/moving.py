"""A hub's folder of SQLite files into a PostgreSQL database, with all that is in it.

Events go first, day by day; sources, cells, claims and people follow in one transaction. What was broken off is begun
again: events that are there are passed over, and a database that has sources is taken by nobody's folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from agent_core.errors import StateError
from agent_core.postgres import Connection, plain
from dashboard.hub.store.postgres.people import PostgresPeople
from dashboard.hub.store.postgres.store import PostgresStore
from dashboard.hub.store.records import EventRow, FindingRecord, Flush, SourceRecord, TurnRecord
from dashboard.hub.store.sqlite_days_schema import FINDING_COLUMNS, TURN_COLUMNS
from dashboard.hub.store.sqlite_files import open_readable
from dashboard.hub.store.sqlite_people import SqlitePeople
from dashboard.hub.store.sqlite_store import SqliteStore

PAGE = 2_000

_ROWS = {
    "rollups.db": {
        "source": ("source", "source, seen_us, body, body", "source, seen_us, stamp, body"),
        "cell": ("cell", "level, bucket, team, dims, body", "level, bucket, team, dims, body"),
        "owner": ("owner", "team, name, agent, day", "team, name, agent, day"),
    },
    "people.db": {
        "token": ("token", *("name, role, team, digest, created_us, revoked_us",) * 2),
        "session": ("session", *("digest, token, created_us, used_us",) * 2),
        "value": ("value", *("name, body",) * 2),
        "audit": ("audit", *("at_us, actor, action, detail",) * 2),
    },
}
"""By file and table: where from, what of it, and the columns that it goes to."""


class MovedRows(msgspec.Struct):
    events: int = 0
    turns: int = 0
    findings: int = 0
    others: int = 0
    """Sources, cells, claims, tokens, sessions, values and audit records."""


def move(folder: Path, url: str, told: Callable[[str], None]) -> MovedRows:
    """`told` is called with each day that is done. The folder stays as it is.

    Raises `StateError` for a folder that is none or in use, and for a database that has a hub's sources already; else
    as the two stores do.
    """
    if not (folder / "rollups.db").exists():
        raise StateError(f"{folder}: no hub has been here", code="state_no_hub")
    files = SqliteStore(folder)
    try:
        SqlitePeople(folder).close()
        PostgresPeople(url).close()
        target = PostgresStore(url)
        try:
            if target.sources():
                raise StateError("the database has a hub's events already", code="state_in_use")
            moved = MovedRows()
            for day in files.days():
                _move_day(folder / "days" / f"{day}.db", day, target, moved)
                told(day)
            target.fill(lambda db: _fill(db, folder, moved))
            return moved
        finally:
            target.close()
    finally:
        files.close()


def _move_day(path: Path, day: str, target: PostgresStore, moved: MovedRows) -> None:
    for rows in _pages(path, "event", "pos, source, team, seq, at_us, subject, kind, body"):
        target.write(Flush(events=[EventRow(day, *row[1:]) for row in rows]))
        moved.events += len(rows)
    for rows in _pages(path, "turn", f"rowid, {TURN_COLUMNS}"):
        names = TURN_COLUMNS.split(", ")
        turns = [TurnRecord(**dict(zip(names, row[1:], strict=True))) for row in rows]
        target.write(Flush(turns={(turn.team, turn.turn): turn for turn in turns}))
        moved.turns += len(rows)
    for rows in _pages(path, "finding", f"rowid, {FINDING_COLUMNS}"):
        names = FINDING_COLUMNS.split(", ")
        target.write(Flush(findings=[FindingRecord(**dict(zip(names, row[1:], strict=True))) for row in rows]))
        moved.findings += len(rows)


def _fill(db: Connection, folder: Path, moved: MovedRows) -> None:
    for file, tables in _ROWS.items():
        for table, (source, columns, names) in tables.items():
            db.execute(f"DELETE FROM {table}".encode())
            places = ", ".join(["%s"] * len(names.split(",")))
            with db.cursor() as cursor:
                for rows in _table(folder / file, source, columns):
                    if table == "source":
                        rows = [(name, seen_us, stamp_of(body), body) for name, seen_us, body, _ in rows]
                    cursor.executemany(
                        f"INSERT INTO {table} ({names}) VALUES ({places})".encode(),
                        [[plain(value) if isinstance(value, str) else value for value in row] for row in rows],
                    )
                    moved.others += len(rows)


def stamp_of(body: bytes) -> int:
    """Of a source's record; 0 for one that is damaged, which no hub reads."""
    try:
        return msgspec.json.decode(body, type=SourceRecord).stamp
    except msgspec.DecodeError:
        return 0


def _pages(path: Path, table: str, columns: str) -> Iterator[list[tuple[Any, ...]]]:
    """Rows in their order; the first column rises."""
    by, after = columns.partition(",")[0], 0
    db = open_readable(path)
    try:
        while rows := db.execute(
            f"SELECT {columns} FROM {table} WHERE {by} > ? ORDER BY {by} LIMIT {PAGE}", (after,)
        ).fetchall():
            after = rows[-1][0]
            yield rows
    finally:
        db.close()


def _table(path: Path, table: str, columns: str) -> Iterator[list[tuple[Any, ...]]]:
    db = open_readable(path)
    try:
        cursor = db.execute(f"SELECT {columns} FROM {table}")
        while rows := cursor.fetchmany(PAGE):
            yield rows
    finally:
        db.close()
