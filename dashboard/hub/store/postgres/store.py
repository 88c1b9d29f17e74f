"""The hub's store in PostgreSQL, written by any number of hubs.

A unit is one transaction: events, turns, troubles, cells, cursors and claims together. Writers take turns by an
advisory lock, so positions rise in the order of commits and cells are added without conflict. A source carries the
stamp of the unit that wrote it last; of a unit that was folded from an earlier one, what is of that source is left out
and told (`Flush.moved`): its hub reads the source anew and folds again. A unit whose commit nobody heard of is known by
the same stamp when it comes again.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

import msgspec

from agent_core.postgres import Connection, Database, DatabaseError, plain, plains
from dashboard.hub.store.cell_codec import decode_cell, encode_cell
from dashboard.hub.store.port import StoreError
from dashboard.hub.store.postgres import asking
from dashboard.hub.store.postgres.schema import MIGRATIONS, SCHEMA, days, drop_day, make_day
from dashboard.hub.store.records import (
    LEVELS,
    SAMPLE,
    Cell,
    CellKey,
    Dims,
    Expired,
    FindingQuery,
    FindingRecord,
    Flush,
    Level,
    Reach,
    SourceRecord,
    TurnQuery,
    TurnRecord,
)
from dashboard.hub.store.retention import within
from dashboard.hub.store.rows import DIMS, SOURCE, Damage, decoded

WRITING, RETENTION = 0x4C4C_1001, 0x4C4C_1002
"""Advisory locks: the turn to write, and that one hub at a time deletes what is too old."""
CHANNEL = "loopline_hub"
DELETE_ROWS = 5_000
"""Rows of one delete, so that no transaction is long."""
_encode = msgspec.json.encode


@contextlib.contextmanager
def store_errors() -> Iterator[None]:
    try:
        yield
    except DatabaseError as error:
        raise StoreError(error.message, code=error.code) from None


class PostgresStore:
    """Implements `store.Store`. Owns its connections."""

    shared = True

    def __init__(self, url: str) -> None:
        """Raises `ConfigError`, `AuthError`, `ServiceUnreachable`, `StoreError`, `StateError`."""
        self._db = Database(url, SCHEMA)
        try:
            with store_errors():
                self._db.migrate(MIGRATIONS)
        except BaseException:
            self._db.close()
            raise
        self._one_writer = threading.Lock()
        self._days: set[str] = set()
        """Days that are known to have partitions."""
        self._damage = Damage(self._db.place)
        self.notices = self._damage.notices

    # Writing

    def write(self, flush: Flush) -> dict[str, int]:
        with self._one_writer, store_errors():
            try:
                with self._db.changing() as db:
                    db.execute("SELECT pg_advisory_xact_lock(%s)", (WRITING,))
                    moved, done = self._elsewhere(db, flush)
                    touched, before = {row.day for row in flush.events}, dict[str, int]()
                    if not done:
                        touched |= {one.day for one in flush.turns.values()} | {one.day for one in flush.findings}
                        self._make_days(db, touched)
                        before = asking.positions(db, sorted({row.day for row in flush.events}))
                        self._write_events(db, flush, moved)
                        self._write_turns(db, [one for one in flush.turns.values() if one.source not in moved])
                        self._write_findings(db, [one for one in flush.findings if one.source not in moved])
                        self._write_cells(
                            db, {key: cell for key, cell in flush.cells.items() if key.source not in moved}
                        )
                        self._write_sources(db, [one for one in flush.sources.values() if one.source not in moved])
                        self._claim(db, flush, moved)
                    reached = asking.positions(db, sorted(touched))
            except BaseException:
                self._days.clear()
                raise
            flush.moved = moved
            flush.reached = [Reach(day, after, reached[day]) for day, after in before.items() if reached[day] > after]
            return reached

    def _elsewhere(self, db: Connection, flush: Flush) -> tuple[set[str], bool]:
        """Sources that another hub wrote since this unit's part of them began, and whether all else is here by now."""
        names = list(flush.bases)
        rows = db.execute("SELECT source, stamp FROM source WHERE source = ANY(%s)", (plains(names),)).fetchall()
        stamps: dict[str, int] = dict(rows)
        now = {name: stamps.get(plain(name), 0) for name in names}
        moved = {name for name in names if now[name] not in (flush.bases[name], flush.stamp)}
        mine = [name for name in names if name not in moved]
        return moved, bool(mine) and all(now[name] == flush.stamp for name in mine)

    def _make_days(self, db: Connection, wanted: set[str]) -> None:
        if wanted <= self._days:
            return
        there = set(days(db))
        for day in sorted(wanted - there):
            make_day(db, day)
        self._days = there | wanted

    def _write_events(self, db: Connection, flush: Flush, moved: set[str]) -> None:
        rows = [row for row in flush.events if row.source not in moved]
        if not rows:
            return
        db.execute(
            "INSERT INTO event (day, source, seq, team, at_us, subject, kind, body)"
            " SELECT * FROM unnest(%s::date[], %s::text[], %s::bigint[], %s::text[], %s::bigint[], %s::text[],"
            " %s::smallint[], %s::bytea[]) ON CONFLICT DO NOTHING",
            (
                [date.fromisoformat(row.day) for row in rows], plains(row.source for row in rows),
                [row.seq for row in rows], plains(row.team for row in rows), [row.at_us for row in rows],
                plains(row.subject for row in rows), [row.kind for row in rows], [row.body for row in rows],
            ),
        )  # fmt: skip

    def _write_turns(self, db: Connection, turns: Sequence[TurnRecord]) -> None:
        with db.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO turn (day, {asking.TURN_COLUMNS})"
                " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (day, turn, team) DO UPDATE"
                " SET (session, source, agent, project, model, status, reuse, started_us, ended_us, body) ="
                " (excluded.session, excluded.source, excluded.agent, excluded.project, excluded.model,"
                " excluded.status, excluded.reuse, excluded.started_us, excluded.ended_us, excluded.body)",
                [
                    (
                        date.fromisoformat(one.day), *plains((one.team, one.turn, one.session, one.source, one.agent)),
                        *plains((one.project, one.model, one.status, one.reuse)), one.started_us, one.ended_us,
                        one.body,
                    )
                    for one in turns
                ],
            )  # fmt: skip

    def _write_findings(self, db: Connection, findings: Sequence[FindingRecord]) -> None:
        with db.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO finding (day, {asking.FINDING_COLUMNS})"
                " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
                [
                    (
                        date.fromisoformat(one.day), *plains((one.team, one.source)), one.seq, one.at_us,
                        *plains((one.severity, one.code, one.agent, one.turn)), one.body,
                    )
                    for one in findings
                ],
            )  # fmt: skip

    def _write_cells(self, db: Connection, minutes: Mapping[CellKey, Cell]) -> None:
        touched: dict[tuple[int, int, str, str], Cell] = {}
        for key, delta in minutes.items():
            dims = _encode(key.dims).decode()
            for level in LEVELS:
                wide = (level, key.bucket // level * level, plain(key.team), dims)
                touched.setdefault(wide, Cell()).merge(delta)
        if not touched:
            return
        there = db.execute(
            "SELECT level, bucket, team, dims, body FROM cell"
            " JOIN unnest(%s::integer[], %s::bigint[], %s::text[], %s::text[]) AS asked(level, bucket, team, dims)"
            " USING (level, bucket, team, dims)",
            tuple(map(list, zip(*touched, strict=True))),
        )
        for level, bucket, team, dims, body in there:
            before = decoded(decode_cell, body)
            if before is not None:
                touched[level, bucket, team, dims].merge(before)
        columns = [*map(list, zip(*touched, strict=True)), [encode_cell(cell) for cell in touched.values()]]
        db.execute(
            "INSERT INTO cell SELECT * FROM unnest(%s::integer[], %s::bigint[], %s::text[], %s::text[], %s::bytea[])"
            " ON CONFLICT (level, bucket, team, dims) DO UPDATE SET body = excluded.body",
            tuple(columns),
        )

    def _write_sources(self, db: Connection, sources: Sequence[SourceRecord]) -> None:
        db.execute(
            "INSERT INTO source SELECT * FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::bytea[])"
            " ON CONFLICT (source) DO UPDATE SET (seen_us, stamp, body) ="
            " (excluded.seen_us, excluded.stamp, excluded.body)",
            (
                plains(one.source for one in sources), [one.seen_us for one in sources],
                [one.stamp for one in sources], [_encode(one) for one in sources],
            ),
        )  # fmt: skip

    def _claim(self, db: Connection, flush: Flush, moved: set[str]) -> None:
        claims = [one for one in flush.claims.values() if one.source not in moved]
        db.execute(
            "INSERT INTO owner SELECT * FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[])"
            " ON CONFLICT DO NOTHING",
            (
                plains(one.team for one in claims), plains(one.name for one in claims),
                plains(one.agent for one in claims), [one.day for one in claims],
            ),
        )  # fmt: skip

    # Retention

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
        """One bounded step at a time; of several hubs one takes it, the others find nothing to do."""
        for day in [day for day in self.days() if day < raw_before]:
            yield Expired(files=1, bytes_freed=self._step(lambda db, day=day: drop_day(db, day), locked=True))  # type: ignore[misc]
            self._days.discard(day)
        for level, before_s in cells_before.items():
            yield from self._deleting("cell", "level = %s AND bucket < %s", (level, before_s))
        yield from self._deleting("source", "seen_us < %s", (seen_before_us,))
        yield from self._deleting("owner", "day < %s", (raw_before,))
        for day in self.days():
            samples = f"day = %s AND kind = {SAMPLE} AND at_us < %s"
            yield from self._deleting("event", samples, (date.fromisoformat(day), samples_before_us), day=day)

    def _deleting(
        self, table: str, where: str, arguments: tuple[Any, ...], day: str | None = None
    ) -> Iterator[Expired]:
        again = "" if day is None else " AND day = %s"
        sql = (
            f"DELETE FROM {table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {table} WHERE {where} LIMIT {DELETE_ROWS}))"
            f"{again}"
        )
        extra = () if day is None else (date.fromisoformat(day),)
        while rows := self._step(lambda db: db.execute(sql.encode(), (*arguments, *extra)).rowcount):
            yield Expired(rows=rows)
            if rows < DELETE_ROWS:
                break

    def _step(self, change: Callable[[Connection], int], *, locked: bool = False) -> int:
        """One transaction of retention, 0 where another hub is at it. `locked`: nobody writes meanwhile."""
        with store_errors(), self._db.changing() as db:
            row = db.execute("SELECT pg_try_advisory_xact_lock(%s)", (RETENTION,)).fetchone()
            if row is None or not row[0]:
                return 0
            if locked:
                db.execute("SELECT pg_advisory_xact_lock(%s)", (WRITING,))
            return change(db)

    def close(self) -> None:
        with self._one_writer:
            self._db.close()

    def fill(self, put: Callable[[Connection], None]) -> None:
        """Put rows into the tables in one transaction, while nobody writes."""
        with self._one_writer, store_errors(), self._db.changing() as db:
            db.execute("SELECT pg_advisory_xact_lock(%s)", (WRITING,))
            put(db)

    # What hubs tell each other

    def tell(self, message: str) -> None:
        with store_errors():
            self._db.tell(CHANNEL, message)

    def listen(self, on_told: Callable[[str], None], on_gap: Callable[[], None]) -> Callable[[], None]:
        ending = threading.Event()
        arguments = (CHANNEL, ending, on_told, on_gap)
        thread = threading.Thread(target=self._db.listen, args=arguments, name="hub-listening", daemon=True)
        thread.start()

        def end() -> None:
            ending.set()
            thread.join(10.0)

        return end

    def sources_in(self, reached: Sequence[Reach]) -> list[SourceRecord]:
        with self._asking() as db:
            names = {name for one in reached for name in asking.sources_in(db, one)}
        return self.some_sources(sorted(names))

    def events_since(self, record: SourceRecord, seq: int) -> list[bytes]:
        with self._asking() as db:
            return asking.events_since(db, record, seq)

    # Asking

    def sources(self) -> list[SourceRecord]:
        with self._asking() as db:
            bodies = [body for (body,) in db.execute("SELECT body FROM source")]
        found = [decoded(SOURCE.decode, body) for body in bodies]
        self._damage.left_out("sources", found)
        return [source for source in found if source is not None]

    def some_sources(self, names: Sequence[str]) -> list[SourceRecord]:
        with self._asking() as db:
            rows = db.execute("SELECT body FROM source WHERE source = ANY(%s)", (plains(names),)).fetchall()
        found = [decoded(SOURCE.decode, body) for (body,) in rows]
        return [source for source in found if source is not None]

    def cells(self, level: Level, since_s: int, until_s: int, team: str | None) -> list[tuple[int, Dims, Cell]]:
        where, arguments = ("", ()) if team is None else (" AND team = %s", (plain(team),))
        with self._asking() as db:
            rows = db.execute(
                f"SELECT bucket, dims, body FROM cell WHERE level = %s AND bucket >= %s AND bucket < %s{where}"
                " ORDER BY bucket",
                (level, since_s, until_s, *arguments),
            ).fetchall()
        found = [(bucket, decoded(DIMS.decode, dims), decoded(decode_cell, body)) for bucket, dims, body in rows]
        self._damage.left_out("roll-up rows", [None if dims is None else cell for _, dims, cell in found])
        return [(bucket, dims, cell) for bucket, dims, cell in found if dims is not None and cell is not None]

    def owners(self, team: str, names: Sequence[str]) -> dict[str, str]:
        by_plain = {plain(name): name for name in names}
        with self._asking() as db:
            rows = db.execute(
                "SELECT name, agent FROM owner WHERE team = %s AND name = ANY(%s)", (plain(team), list(by_plain))
            ).fetchall()
        return {by_plain[name]: agent for name, agent in rows}

    def kept(self, source: str, days: Sequence[str], seqs: Sequence[int]) -> set[int]:
        with self._asking() as db:
            return asking.kept(db, source, days, seqs)

    def positions(self) -> dict[str, int]:
        with self._asking() as db:
            return asking.positions(db, days(db))

    def events_after(
        self, positions: Mapping[str, int], upto: Mapping[str, int], team: str | None, limit: int
    ) -> tuple[list[bytes], dict[str, int]]:
        with self._asking() as db:
            return asking.events_after(db, positions, upto, team, limit)

    def source_events(self, source: str, days: Sequence[str], from_seq: int | None) -> list[bytes]:
        with self._asking() as db:
            return asking.source_events(db, source, days, from_seq)

    def events_of(self, subjects: Sequence[str], team: str | None) -> list[bytes]:
        with self._asking() as db:
            return asking.events_of(db, subjects, team)

    def events_between(self, since_us: int, until_us: int, team: str | None) -> Iterator[bytes]:
        for day in asking.days_between(self.days(), since_us, until_us):
            after = 0
            while True:
                with self._asking() as db:
                    page = asking.events_between(db, day, after, since_us, until_us, team)
                if page is None:
                    break
                after, bodies = page
                yield from bodies

    def tell_damaged(self, bodies: Sequence[bytes]) -> None:
        def holding(new: Sequence[bytes]) -> Sequence[str]:
            with self._asking() as db:
                return asking.holding(db, new)

        self._damage.events(bodies, holding)

    def turn(self, turn: str, team: str | None) -> TurnRecord | None:
        with self._asking() as db:
            return asking.turn(db, turn, team)

    def turns(self, query: TurnQuery) -> list[TurnRecord]:
        with self._asking() as db:
            return asking.turns(db, query)

    def findings(self, query: FindingQuery) -> list[FindingRecord]:
        with self._asking() as db:
            return asking.findings(db, query)

    def days(self) -> list[str]:
        with self._asking() as db:
            return days(db)

    def disk_bytes(self) -> int:
        with self._asking() as db:
            row = db.execute(
                "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class"
                " WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
            ).fetchone()
        return int(row[0]) if row is not None else 0

    # Inside

    @contextlib.contextmanager
    def _asking(self) -> Iterator[Connection]:
        with store_errors(), self._db.asking() as db:
            yield db
