"""Raw events, turns and findings: one file per day under `days/`, so that expiry is an unlink.

Writing is for one thread. Each question opens the files it needs and closes them, so that none keeps the disk space of
an unlinked one.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from dashboard.hub.store.records import (
    CONTEXT,
    SAMPLE,
    Claim,
    EventRow,
    FindingQuery,
    FindingRecord,
    Flush,
    TurnQuery,
    TurnRecord,
    day_of,
)
from dashboard.hub.store.rows import finding_of, turn_of
from dashboard.hub.store.sqlite_days_schema import CREATE, FINDING_COLUMNS, TURN_COLUMNS
from dashboard.hub.store.sqlite_files import BUSY_S, mended, open_readable, open_writable, store_errors, transaction

MAX_OPEN = 4
"""Day files that are open for writing at once; the least recently written is closed."""
PAGE = 1_000
_NAME = re.compile(r"\d{4}-\d{2}-\d{2}\Z")


class DayFiles:
    """See the module. Raises `StoreError`."""

    def __init__(self, folder: Path, *, busy_s: float = BUSY_S) -> None:
        self._folder, self._busy_s = folder / "days", busy_s
        self._open: OrderedDict[str, sqlite3.Connection] = OrderedDict()

    def mend(self) -> list[str]:
        """Mend what is damaged, before anything is read; what to tell a person."""
        notes = [mended(self._path(day), CREATE) for day in self.days()]
        return [note for note in notes if note is not None]

    # Writing

    def write(self, flush: Flush) -> dict[str, int]:
        """Gives the last event position of each day it wrote to."""
        events: dict[str, list[EventRow]] = defaultdict(list)
        turns: dict[str, list[TurnRecord]] = defaultdict(list)
        findings: dict[str, list[FindingRecord]] = defaultdict(list)
        for row in flush.events:
            events[row.day].append(row)
        for turn in flush.turns.values():
            turns[turn.day].append(turn)
        for finding in flush.findings:
            findings[finding.day].append(finding)
        positions = {}
        for day in sorted({*events, *turns, *findings}):
            with store_errors(self._path(day)), self._giving_up(day), transaction(self._writer(day)):
                positions[day] = self._write_day(day, events[day], turns[day], findings[day])
        return positions

    def delete_samples(self, before_us: int, limit: int) -> int:
        """Delete up to `limit` samples of each file that is open for writing; gives how many."""
        deleted = 0
        for day, db in list(self._open.items()):
            with store_errors(self._path(day)), transaction(db):
                deleted += db.execute(
                    "DELETE FROM event WHERE pos IN (SELECT pos FROM event INDEXED BY event_sample"
                    f" WHERE kind = {SAMPLE} AND at_us < ? LIMIT ?)",
                    (before_us, limit),
                ).rowcount
        return deleted

    def unlink(self, day: str) -> int:
        """Remove a day; gives the bytes that its files had."""
        writer = self._open.pop(day, None)
        if writer is not None:
            writer.close()
        freed = 0
        for path in self._files(day):
            with store_errors(path), contextlib.suppress(FileNotFoundError):
                size = path.stat().st_size
                path.unlink()
                freed += size
        return freed

    def unlink_orphans(self) -> int:
        """Remove write-ahead logs whose file is gone; gives the bytes they had."""
        days, freed = set(self.days()), 0
        with store_errors(self._folder):
            left = [path for path in self._folder.glob("*.db-*") if path.name.partition(".")[0] not in days]
            for path in left:
                freed += path.stat().st_size
                path.unlink()
        return freed

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    # Asking

    def days(self) -> list[str]:
        with store_errors(self._folder):
            try:
                names = [path.stem for path in self._folder.iterdir() if path.suffix == ".db"]
            except FileNotFoundError:
                return []
        return sorted(name for name in names if _NAME.match(name))

    def positions(self) -> dict[str, int]:
        found = {}
        for day in self.days():
            for (last,) in self._rows(day, "SELECT coalesce(max(pos), 0) FROM event"):
                found[day] = last
        return found

    def events_after(
        self, positions: Mapping[str, int], upto: Mapping[str, int], team: str | None, limit: int
    ) -> tuple[list[bytes], dict[str, int]]:
        reached = dict(positions)
        bodies: list[bytes] = []
        for day in sorted(day for day, last in upto.items() if last > positions.get(day, 0)):
            mine, arguments = ("", ()) if team is None else (" AND team = ?", (team,))
            rows = self._rows(
                day,
                f"SELECT pos, body FROM event WHERE pos > ? AND pos <= ?{mine} ORDER BY pos LIMIT ?",
                positions.get(day, 0),
                upto[day],
                *arguments,
                limit - len(bodies),
            )
            bodies += [body for _, body in rows]
            if len(bodies) >= limit:
                reached[day] = rows[-1][0]
                break
            reached[day] = upto[day]
        return bodies, reached

    def source_events(self, source: str, days: Sequence[str], from_seq: int | None) -> list[bytes]:
        wanted = f"kind = {CONTEXT}" if from_seq is None else f"(kind = {CONTEXT} OR (seq >= ? AND kind != {SAMPLE}))"
        arguments = (source,) if from_seq is None else (source, from_seq)
        bodies: list[bytes] = []
        for day in days:
            rows = self._rows(day, f"SELECT body FROM event WHERE source = ? AND {wanted} ORDER BY seq", *arguments)
            bodies += [body for (body,) in rows]
        return bodies

    def events_of(self, subjects: Sequence[str], team: str | None) -> list[bytes]:
        found: list[tuple[str, int, bytes]] = []
        for day in self.days():
            for start in range(0, len(subjects), 500):
                some = subjects[start : start + 500]
                marks = ",".join("?" * len(some))
                rows = self._rows(
                    day,
                    f"SELECT source, seq, team, body FROM event WHERE subject IN ({marks}) AND subject != ''"
                    f" AND kind != {SAMPLE}",
                    *some,
                )
                found += [(source, seq, body) for source, seq, owner, body in rows if team in (None, owner)]
        found.sort(key=itemgetter(0, 1))
        return [body for _, _, body in found]

    def events_between(self, since_us: int, until_us: int, team: str | None) -> Iterator[bytes]:
        for day in reversed(self._days_between(since_us, until_us)):
            after = 0
            while rows := self._rows(
                day,
                f"SELECT pos, team, at_us, body FROM event WHERE pos > ? AND kind != {SAMPLE} ORDER BY pos LIMIT ?",
                after,
                PAGE,
            ):
                after = rows[-1][0]
                for _, owner, at_us, body in rows:
                    if since_us <= at_us < until_us and team in (None, owner):
                        yield body

    def holding(self, bodies: Sequence[bytes]) -> list[str]:
        """The files that hold one of these bodies."""
        marks = ",".join("?" * len(bodies))
        sql = f"SELECT 1 FROM event WHERE body IN ({marks}) LIMIT 1"
        return [str(self._path(day)) for day in self.days() if bodies and self._rows(day, sql, *bodies)]

    def claims(self, day: str) -> Iterator[Claim]:
        """The turns of a day and their sessions, as claims of who has them."""
        for team, turn, session, agent in self._rows(day, "SELECT team, turn, session, agent FROM turn ORDER BY rowid"):
            for name in filter(None, (turn, session)):
                yield Claim(team=team, name=name, agent=agent, day=day)

    def kept(self, source: str, days: Sequence[str], seqs: Sequence[int]) -> set[int]:
        sql = "SELECT seq FROM event WHERE source = ? AND seq BETWEEN ? AND ?"
        return {seq for day in days for (seq,) in self._rows(day, sql, source, min(seqs), max(seqs))}

    def turn(self, turn: str, team: str | None) -> TurnRecord | None:
        mine, arguments = ("", (turn,)) if team is None else (" AND team = ?", (turn, team))
        for day in reversed(self.days()):
            for row in self._rows(day, f"SELECT {TURN_COLUMNS} FROM turn WHERE turn = ?{mine} LIMIT 1", *arguments):
                return turn_of(row)
        return None

    def turns(self, query: TurnQuery) -> list[TurnRecord]:
        where, arguments = _where(query, "started_us", ("agent", "project", "model", "status", "session"))
        sql = f"SELECT {TURN_COLUMNS} FROM turn WHERE {where} ORDER BY started_us DESC LIMIT ?"
        return [turn_of(row) for row in self._newest(query, sql, arguments)]

    def findings(self, query: FindingQuery) -> list[FindingRecord]:
        where, arguments = _where(query, "at_us", ("severity", "code", "agent", "turn"))
        sql = f"SELECT {FINDING_COLUMNS} FROM finding WHERE {where} ORDER BY at_us DESC LIMIT ?"
        return [finding_of(row) for row in self._newest(query, sql, arguments)]

    def disk_bytes(self) -> int:
        total = 0
        for day in self.days():
            for path in self._files(day):
                with contextlib.suppress(FileNotFoundError):
                    total += path.stat().st_size
        return total

    # Inside

    def _write_day(
        self, day: str, events: Iterable[EventRow], turns: Iterable[TurnRecord], findings: Iterable[FindingRecord]
    ) -> int:
        db = self._open[day]
        db.executemany(
            "INSERT OR IGNORE INTO event (source, seq, team, at_us, subject, kind, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(row.source, row.seq, row.team, row.at_us, row.subject, row.kind, row.body) for row in events],
        )
        db.executemany(
            f"INSERT OR REPLACE INTO turn ({TURN_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    turn.team, turn.turn, turn.session, turn.source, turn.agent, turn.project, turn.model, turn.status,
                    turn.reuse, turn.started_us, turn.ended_us, turn.body,
                )
                for turn in turns
            ],
        )  # fmt: skip
        db.executemany(
            f"INSERT OR IGNORE INTO finding ({FINDING_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (one.team, one.source, one.seq, one.at_us, one.severity, one.code, one.agent, one.turn, one.body)
                for one in findings
            ],
        )
        return int(db.execute("SELECT coalesce(max(pos), 0) FROM event").fetchone()[0])

    def _writer(self, day: str) -> sqlite3.Connection:
        db = self._open.get(day)
        if db is None:
            while len(self._open) >= MAX_OPEN:
                self._open.popitem(last=False)[1].close()
            db = self._open[day] = open_writable(self._path(day), CREATE, busy_s=self._busy_s)
        self._open.move_to_end(day)
        return db

    @contextlib.contextmanager
    def _giving_up(self, day: str) -> Iterator[None]:
        """After an error the connection is of doubtful use: close it."""
        try:
            yield
        except (sqlite3.Error, OSError):
            writer = self._open.pop(day, None)
            if writer is not None:
                writer.close()
            raise

    def _newest(
        self, query: TurnQuery | FindingQuery, sql: str, arguments: tuple[str | int, ...]
    ) -> list[tuple[Any, ...]]:
        """Rows of the days of a question, the latest day first, up to its limit."""
        found: list[tuple[Any, ...]] = []
        for day in self._days_between(query.since_us, query.until_us):
            found += self._rows(day, sql, *arguments, query.limit - len(found))
            if len(found) >= query.limit:
                break
        return found

    def _rows(self, day: str, sql: str, *arguments: str | int | bytes) -> list[tuple[Any, ...]]:
        """The rows of one question to one day; none if its file is gone."""
        path = self._path(day)
        with store_errors(path):
            try:
                db = open_readable(path)
            except sqlite3.OperationalError:
                if path.exists():
                    raise
                return []
            try:
                return db.execute(sql, arguments).fetchall()
            finally:
                db.close()

    def _days_between(self, since_us: int, until_us: int) -> list[str]:
        first, last = day_of(since_us), day_of(max(since_us, until_us - 1))
        return [day for day in reversed(self.days()) if first <= day <= last]

    def _path(self, day: str) -> Path:
        return self._folder / f"{day}.db"

    def _files(self, day: str) -> list[Path]:
        return [self._folder / f"{day}.db{suffix}" for suffix in ("-wal", "-shm", "")]


def _where(query: TurnQuery | FindingQuery, at: str, fields: Sequence[str]) -> tuple[str, tuple[str | int, ...]]:
    parts = [f"{at} >= ?", f"{at} < ?"]
    found: list[str | int] = [query.since_us, query.until_us]
    if query.team is not None:
        parts.append("team = ?")
        found.append(query.team)
    for field in fields:
        value = getattr(query, field)
        if value:
            parts.append(f"{field} = ?")
            found.append(value)
    return " AND ".join(parts), tuple(found)
