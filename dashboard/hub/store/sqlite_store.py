"""The hub's store on SQLite: day files for what agents sent, `rollups.db` for cursors and roll-up cells.

A unit is written day files first, then `rollups.db`, whose one transaction holds cursors and cells together. A crash in
between leaves events without a cursor: their agent sends them again, the day file knows them, and they are counted
then, once.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from dashboard.hub.store.cell_codec import decode_cell, encode_cell
from dashboard.hub.store.records import (
    LEVELS,
    Cell,
    CellKey,
    Claim,
    Dims,
    Expired,
    FindingQuery,
    FindingRecord,
    Flush,
    Level,
    SourceRecord,
    TurnQuery,
    TurnRecord,
)
from dashboard.hub.store.retention import within
from dashboard.hub.store.rows import DIMS, SOURCE, Damage, decoded
from dashboard.hub.store.sqlite_days import DayFiles
from dashboard.hub.store.sqlite_files import (
    BUSY_S,
    lock_folder,
    mended,
    open_readable,
    open_writable,
    store_errors,
    transaction,
    version_of,
)

MAX_CACHED = 4_000
"""Roll-up cells kept in memory, so that adding to the present ones reads nothing."""
DELETE_ROWS = 5_000
"""Rows of one delete, so that no transaction is long."""
_CREATE = (
    "CREATE TABLE IF NOT EXISTS source (source TEXT PRIMARY KEY, seen_us INTEGER NOT NULL, body BLOB NOT NULL)",
    (
        "CREATE TABLE IF NOT EXISTS cell (level INTEGER NOT NULL, bucket INTEGER NOT NULL, team TEXT NOT NULL,"
        " dims TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (level, bucket, team, dims))"
    ),
    (
        "CREATE TABLE IF NOT EXISTS owner (team TEXT NOT NULL, name TEXT NOT NULL, agent TEXT NOT NULL,"
        " day TEXT NOT NULL, PRIMARY KEY (team, name)) WITHOUT ROWID"
    ),
    "CREATE INDEX IF NOT EXISTS owner_day ON owner (day)",
)
OWNERS_SINCE = 2
"""Schema that has `owner`; before it, what turns say is what is known."""
_encode = msgspec.json.encode


class SqliteStore:
    """Implements `store.Store` in a folder, which is made if it is not there."""

    shared = False

    def __init__(self, folder: Path, *, busy_s: float = BUSY_S) -> None:
        """`busy_s`: how long to wait for a lock of another process. Raises `StoreError`; `StateError` for the files of
        a newer version (`state_newer_schema`), or while another hub writes to the folder (`state_in_use`)."""
        self._path = folder / "rollups.db"
        self._days = DayFiles(folder, busy_s=busy_s)
        self._one_writer = threading.Lock()
        self._damage = Damage(str(self._path))
        self.notices = self._damage.notices
        """What a person is to know of damage that was found."""
        self._cached: OrderedDict[CellKey, Cell] = OrderedDict()
        with store_errors(self._path):
            self._lock_fd: int | None = lock_folder(folder)
            try:
                note = mended(self._path, _CREATE)
                self.notices += filter(None, [note, *self._days.mend()])
                before = version_of(self._path)
                self._db = open_writable(self._path, _CREATE, busy_s=busy_s)
                if note is not None or 0 < before < OWNERS_SINCE:
                    self._know_owners()
            except BaseException:
                os.close(self._lock_fd)
                raise

    # Writing

    def write(self, flush: Flush) -> dict[str, int]:
        with self._one_writer:
            positions = self._days.write(flush)
            try:
                with store_errors(self._path), transaction(self._db):
                    self._write_cells(flush.cells)
                    self._db.executemany(
                        "INSERT OR REPLACE INTO source VALUES (?, ?, ?)",
                        [(source.source, source.seen_us, _encode(source)) for source in flush.sources.values()],
                    )
                    self._claim(flush.claims.values())
            except BaseException:
                self._cached.clear()
                raise
            return positions

    def expire(
        self,
        *,
        raw_before: str,
        cells_before: Mapping[Level, int],
        samples_before_us: int,
        seen_before_us: int,
        budget_s: float,
    ) -> Expired:
        return within(budget_s, self._expiry(raw_before, cells_before, samples_before_us, seen_before_us))

    def _expiry(
        self, raw_before: str, cells_before: Mapping[Level, int], samples_before_us: int, seen_before_us: int
    ) -> Iterator[Expired]:
        """One bounded step at a time; between two of them the hub writes."""
        for day in [day for day in self._days.days() if day < raw_before]:
            with self._one_writer:
                freed = self._days.unlink(day)
            yield Expired(files=1, bytes_freed=freed)
        with self._one_writer:
            freed = self._days.unlink_orphans()
        yield Expired(bytes_freed=freed)
        for level, before_s in cells_before.items():
            sql = "DELETE FROM cell WHERE rowid IN (SELECT rowid FROM cell WHERE level = ? AND bucket < ? LIMIT ?)"
            while rows := self._delete(sql, level, before_s, DELETE_ROWS):
                yield Expired(rows=rows)
        yield Expired(rows=self._delete("DELETE FROM source WHERE seen_us < ?", seen_before_us))
        yield Expired(rows=self._delete("DELETE FROM owner WHERE day < ?", raw_before))
        while True:
            with self._one_writer:
                rows = self._days.delete_samples(samples_before_us, DELETE_ROWS)
            yield Expired(rows=rows)
            if rows < DELETE_ROWS:
                break
        with self._one_writer, store_errors(self._path):
            before = self._path.stat().st_size
            self._db.execute("PRAGMA incremental_vacuum").fetchall()
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            freed = max(0, before - self._path.stat().st_size)
        yield Expired(bytes_freed=freed)

    def close(self) -> None:
        with self._one_writer:
            self._days.close()
            self._db.close()
            if self._lock_fd is not None:
                os.close(self._lock_fd)
                self._lock_fd = None

    # Asking

    def sources(self) -> list[SourceRecord]:
        with self._reader() as db:
            bodies = [body for (body,) in db.execute("SELECT body FROM source")]
        found = [decoded(SOURCE.decode, body) for body in bodies]
        self._damage.left_out("sources", found)
        return [source for source in found if source is not None]

    def some_sources(self, names: Sequence[str]) -> list[SourceRecord]:
        wanted = set(names)
        return [source for source in self.sources() if source.source in wanted]

    def cells(self, level: Level, since_s: int, until_s: int, team: str | None) -> list[tuple[int, Dims, Cell]]:
        where, arguments = ("", ()) if team is None else (" AND team = ?", (team,))
        with self._reader() as db:
            rows = db.execute(
                f"SELECT bucket, dims, body FROM cell WHERE level = ? AND bucket >= ? AND bucket < ?{where}"
                " ORDER BY bucket",
                (level, since_s, until_s, *arguments),
            )
            found = [(bucket, decoded(DIMS.decode, dims), decoded(decode_cell, body)) for bucket, dims, body in rows]
        self._damage.left_out("roll-up rows", [None if dims is None else cell for _, dims, cell in found])
        return [(bucket, dims, cell) for bucket, dims, cell in found if dims is not None and cell is not None]

    def owners(self, team: str, names: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        with self._reader() as db:
            for start in range(0, len(names), 500):
                some = names[start : start + 500]
                marks = ",".join("?" * len(some))
                sql = f"SELECT name, agent FROM owner WHERE team = ? AND name IN ({marks})"
                found.update(db.execute(sql, (team, *some)))
        return found

    def kept(self, source: str, days: Sequence[str], seqs: Sequence[int]) -> set[int]:
        return self._days.kept(source, days, seqs)

    def positions(self) -> dict[str, int]:
        return self._days.positions()

    def events_after(
        self, positions: Mapping[str, int], upto: Mapping[str, int], team: str | None, limit: int
    ) -> tuple[list[bytes], dict[str, int]]:
        return self._days.events_after(positions, upto, team, limit)

    def source_events(self, source: str, days: Sequence[str], from_seq: int | None) -> list[bytes]:
        return self._days.source_events(source, days, from_seq)

    def events_of(self, subjects: Sequence[str], team: str | None) -> list[bytes]:
        return self._days.events_of(subjects, team)

    def events_between(self, since_us: int, until_us: int, team: str | None) -> Iterator[bytes]:
        return self._days.events_between(since_us, until_us, team)

    def tell_damaged(self, bodies: Sequence[bytes]) -> None:
        self._damage.events(bodies, self._days.holding)

    def turn(self, turn: str, team: str | None) -> TurnRecord | None:
        return self._days.turn(turn, team)

    def turns(self, query: TurnQuery) -> list[TurnRecord]:
        return self._days.turns(query)

    def findings(self, query: FindingQuery) -> list[FindingRecord]:
        return self._days.findings(query)

    def days(self) -> list[str]:
        return self._days.days()

    def disk_bytes(self) -> int:
        total = self._days.disk_bytes()
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError), store_errors(self._path):
                total += Path(f"{self._path}{suffix}").stat().st_size
        return total

    # Inside

    def _claim(self, claims: Iterable[Claim]) -> None:
        rows = [(claim.team, claim.name, claim.agent, claim.day) for claim in claims]
        self._db.executemany("INSERT OR IGNORE INTO owner VALUES (?, ?, ?, ?)", rows)

    def _know_owners(self) -> None:
        """Of what was written before owners were kept: whoever has a turn by now owns it."""
        with transaction(self._db):
            for day in self._days.days():
                self._claim(self._days.claims(day))

    def _write_cells(self, minutes: Mapping[CellKey, Cell]) -> None:
        touched: dict[CellKey, Cell] = {}
        for key, delta in minutes.items():
            for level in LEVELS:
                wide = CellKey(level, key.bucket // level * level, key.team, key.dims)
                cell = touched.get(wide) or self._cached.get(wide) or self._read_cell(wide)
                cell.merge(delta)
                touched[wide] = cell
        self._db.executemany(
            "INSERT OR REPLACE INTO cell VALUES (?, ?, ?, ?, ?)",
            [
                (key.level, key.bucket, key.team, _encode(key.dims).decode(), encode_cell(cell))
                for key, cell in touched.items()
            ],
        )
        for key, cell in touched.items():
            self._cached[key] = cell
            self._cached.move_to_end(key)
        while len(self._cached) > MAX_CACHED:
            self._cached.popitem(last=False)

    def _read_cell(self, key: CellKey) -> Cell:
        row = self._db.execute(
            "SELECT body FROM cell WHERE level = ? AND bucket = ? AND team = ? AND dims = ?",
            (key.level, key.bucket, key.team, _encode(key.dims).decode()),
        ).fetchone()
        return Cell() if row is None else decoded(decode_cell, row[0]) or Cell()

    def _delete(self, sql: str, *arguments: int | str) -> int:
        with self._one_writer, store_errors(self._path), transaction(self._db):
            self._cached.clear()
            return self._db.execute(sql, arguments).rowcount

    @contextlib.contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        with store_errors(self._path):
            db = open_readable(self._path)
            try:
                yield db
            finally:
                db.close()
