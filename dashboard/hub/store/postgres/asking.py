"""Questions to the hub's tables in PostgreSQL. Each is answered as of one instant; readers wait for nobody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from operator import itemgetter
from typing import Any

from agent_core.postgres import Connection, plain, plains
from dashboard.hub.store.postgres.schema import days
from dashboard.hub.store.records import (
    CONTEXT,
    SAMPLE,
    FindingQuery,
    FindingRecord,
    Reach,
    SourceRecord,
    TurnQuery,
    TurnRecord,
    day_of,
)
from dashboard.hub.store.rows import finding_of, turn_of

PAGE = 1_000
TURN_COLUMNS = "team, turn, session, source, agent, project, model, status, reuse, started_us, ended_us, body"
FINDING_COLUMNS = "team, source, seq, at_us, severity, code, agent, turn, body"


def as_dates(names: Sequence[str]) -> list[date]:
    return [date.fromisoformat(name) for name in names]


def positions(db: Connection, names: Sequence[str]) -> dict[str, int]:
    """The last event position of each of these days."""
    rows = db.execute(
        "SELECT day, coalesce((SELECT max(pos) FROM event WHERE event.day = asked.day), 0)"
        " FROM unnest(%s::date[]) AS asked(day)",
        (as_dates(names),),
    )
    return {day.isoformat(): last for day, last in rows}


def events_after(
    db: Connection, reached: Mapping[str, int], upto: Mapping[str, int], team: str | None, limit: int
) -> tuple[list[bytes], dict[str, int]]:
    found = dict(reached)
    bodies: list[bytes] = []
    mine, arguments = _of_team(team)
    for day in sorted(day for day, last in upto.items() if last > reached.get(day, 0)):
        rows = db.execute(
            f"SELECT pos, body FROM event WHERE day = %s AND pos > %s AND pos <= %s{mine} ORDER BY pos LIMIT %s",
            (date.fromisoformat(day), reached.get(day, 0), upto[day], *arguments, limit - len(bodies)),
        ).fetchall()
        bodies += [body for _, body in rows]
        if len(bodies) >= limit:
            found[day] = rows[-1][0]
            break
        found[day] = upto[day]
    return bodies, found


def source_events(db: Connection, source: str, names: Sequence[str], from_seq: int | None) -> list[bytes]:
    wanted = f"kind = {CONTEXT}" if from_seq is None else f"(kind = {CONTEXT} OR (seq >= %s AND kind <> {SAMPLE}))"
    rows = db.execute(
        f"SELECT body FROM event WHERE day = ANY(%s) AND source = %s AND {wanted} ORDER BY day, seq",
        (as_dates(names), plain(source), *([] if from_seq is None else [from_seq])),
    )
    return [body for (body,) in rows]


def events_of(db: Connection, subjects: Sequence[str], team: str | None) -> list[bytes]:
    mine, arguments = _of_team(team)
    rows = db.execute(
        f"SELECT source, seq, body FROM event WHERE subject = ANY(%s) AND subject <> '' AND kind <> {SAMPLE}{mine}",
        (plains(subjects), *arguments),
    ).fetchall()
    rows.sort(key=itemgetter(0, 1))
    return [body for _, _, body in rows]


def events_between(
    db: Connection, day: str, after: int, since_us: int, until_us: int, team: str | None
) -> tuple[int, list[bytes]] | None:
    """A page of a day's events after a position, with the position it reaches; None at the end."""
    mine, arguments = _of_team(team)
    rows = db.execute(
        f"SELECT pos, at_us, body FROM event WHERE day = %s AND pos > %s AND kind <> {SAMPLE}{mine}"
        " ORDER BY pos LIMIT %s",
        (date.fromisoformat(day), after, *arguments, PAGE),
    ).fetchall()
    if not rows:
        return None
    return rows[-1][0], [body for _, at_us, body in rows if since_us <= at_us < until_us]


def sources_in(db: Connection, reached: Reach) -> list[str]:
    rows = db.execute(
        "SELECT DISTINCT source FROM event WHERE day = %s AND pos > %s AND pos <= %s",
        (date.fromisoformat(reached.day), reached.after, reached.upto),
    )
    return [source for (source,) in rows]


def events_since(db: Connection, record: SourceRecord, seq: int) -> list[bytes]:
    """Bodies of a source after `seq` and up to the record's own, in order."""
    rows = db.execute(
        "SELECT body FROM event WHERE day BETWEEN %s AND %s AND source = %s AND seq > %s AND seq <= %s ORDER BY seq",
        (*as_dates([record.first_day, record.last_day]), plain(record.source), seq, record.seq),
    )
    return [body for (body,) in rows]


def holding(db: Connection, bodies: Sequence[bytes]) -> list[str]:
    """The days that hold one of these bodies."""
    rows = db.execute("SELECT DISTINCT day FROM event WHERE body = ANY(%s)", (list(bodies),))
    return sorted(day.isoformat() for (day,) in rows)


def kept(db: Connection, source: str, names: Sequence[str], seqs: Sequence[int]) -> set[int]:
    rows = db.execute(
        "SELECT seq FROM event WHERE day = ANY(%s) AND source = %s AND seq BETWEEN %s AND %s",
        (as_dates(names), plain(source), min(seqs), max(seqs)),
    )
    return {seq for (seq,) in rows}


def turn(db: Connection, name: str, team: str | None) -> TurnRecord | None:
    mine, arguments = _of_team(team)
    row = db.execute(
        f"SELECT {TURN_COLUMNS} FROM turn WHERE turn = %s{mine} ORDER BY day DESC LIMIT 1", (plain(name), *arguments)
    ).fetchone()
    return None if row is None else turn_of(row)


def turns(db: Connection, query: TurnQuery) -> list[TurnRecord]:
    where, arguments = _where(query, "started_us", ("agent", "project", "model", "status", "session"))
    sql = f"SELECT {TURN_COLUMNS} FROM turn WHERE {where} ORDER BY started_us DESC LIMIT %s"
    return [turn_of(row) for row in _newest(db, query, sql, arguments)]


def findings(db: Connection, query: FindingQuery) -> list[FindingRecord]:
    where, arguments = _where(query, "at_us", ("severity", "code", "agent", "turn"))
    sql = f"SELECT {FINDING_COLUMNS} FROM finding WHERE {where} ORDER BY at_us DESC LIMIT %s"
    return [finding_of(row) for row in _newest(db, query, sql, arguments)]


def days_between(names: Sequence[str], since_us: int, until_us: int) -> list[str]:
    """Of some days those of [since, until), the latest first."""
    first, last = day_of(since_us), day_of(max(since_us, until_us - 1))
    return [day for day in reversed(names) if first <= day <= last]


def _newest(
    db: Connection, query: TurnQuery | FindingQuery, sql: str, arguments: Sequence[str | int]
) -> list[tuple[Any, ...]]:
    """Rows of the days of a question, the latest day first, up to its limit: few days are read for a short list."""
    found: list[tuple[Any, ...]] = []
    for day in days_between(days(db), query.since_us, query.until_us):
        found += db.execute(sql, (date.fromisoformat(day), *arguments, query.limit - len(found))).fetchall()
        if len(found) >= query.limit:
            break
    return found


def _where(query: TurnQuery | FindingQuery, at: str, fields: Sequence[str]) -> tuple[str, list[str | int]]:
    parts = ["day = %s", f"{at} >= %s", f"{at} < %s"]
    found: list[str | int] = [query.since_us, query.until_us]
    for field in ("team", *fields):
        value = getattr(query, field)
        if value or (field == "team" and value is not None):
            parts.append(f"{field} = %s")
            found.append(plain(value))
    return " AND ".join(parts), found


def _of_team(team: str | None) -> tuple[str, tuple[str, ...]]:
    return ("", ()) if team is None else (" AND team = %s", (plain(team),))
