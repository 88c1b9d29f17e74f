"""Tables of the hub in PostgreSQL: migrations by number, forward only, and the partitions of a day."""

from __future__ import annotations

from agent_core.postgres import Connection
from dashboard.hub.store.records import SAMPLE

SCHEMA = "loopline_hub"
DAILY = ("event", "turn", "finding")
"""Tables with a partition for each day, which retention drops."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # `pos` rises in the order of commits: writers take turns.
        """
        CREATE TABLE event (
            day date NOT NULL, source text NOT NULL, seq bigint NOT NULL,
            pos bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
            team text NOT NULL, at_us bigint NOT NULL, subject text NOT NULL, kind smallint NOT NULL,
            body bytea NOT NULL, PRIMARY KEY (day, source, seq)
        ) PARTITION BY LIST (day)
        """,
        "CREATE INDEX event_pos ON event (pos)",
        "CREATE INDEX event_subject ON event (subject) WHERE subject <> ''",
        f"CREATE INDEX event_sample ON event (at_us) WHERE kind = {SAMPLE}",
        """
        CREATE TABLE turn (
            day date NOT NULL, team text NOT NULL, turn text NOT NULL, session text NOT NULL, source text NOT NULL,
            agent text NOT NULL, project text NOT NULL, model text NOT NULL, status text NOT NULL,
            reuse text NOT NULL, started_us bigint NOT NULL, ended_us bigint, body bytea NOT NULL,
            PRIMARY KEY (day, turn, team)
        ) PARTITION BY LIST (day)
        """,
        "CREATE INDEX turn_started ON turn (started_us)",
        """
        CREATE TABLE finding (
            day date NOT NULL, source text NOT NULL, seq bigint NOT NULL, team text NOT NULL, at_us bigint NOT NULL,
            severity text NOT NULL, code text NOT NULL, agent text NOT NULL, turn text NOT NULL, body bytea NOT NULL,
            PRIMARY KEY (day, source, seq)
        ) PARTITION BY LIST (day)
        """,
        "CREATE INDEX finding_at ON finding (at_us)",
        # `stamp`: the unit that wrote the row last; who folded on from another one is refused.
        (
            "CREATE TABLE source (source text PRIMARY KEY, seen_us bigint NOT NULL, stamp bigint NOT NULL,"
            " body bytea NOT NULL)"
        ),
        (
            "CREATE TABLE cell (level integer NOT NULL, bucket bigint NOT NULL, team text NOT NULL, dims text NOT NULL,"
            " body bytea NOT NULL, PRIMARY KEY (level, bucket, team, dims))"
        ),
        (
            "CREATE TABLE owner (team text NOT NULL, name text NOT NULL, agent text NOT NULL, day text NOT NULL,"
            " PRIMARY KEY (team, name))"
        ),
        "CREATE INDEX owner_day ON owner (day)",
        (
            "CREATE TABLE token (name text PRIMARY KEY, role text NOT NULL, team text NOT NULL,"
            " digest text NOT NULL UNIQUE, created_us bigint NOT NULL, revoked_us bigint)"
        ),
        (
            "CREATE TABLE session (digest text PRIMARY KEY, token text, created_us bigint NOT NULL,"
            " used_us bigint NOT NULL)"
        ),
        "CREATE TABLE value (name text PRIMARY KEY, body bytea NOT NULL)",
        (
            "CREATE TABLE audit (id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, at_us bigint NOT NULL,"
            " actor text NOT NULL, action text NOT NULL, detail text NOT NULL)"
        ),
        # One row, counted up by each change of tokens, sessions and values.
        "CREATE TABLE change (number bigint NOT NULL)",
        "INSERT INTO change VALUES (0)",
    ),
)


def days(db: Connection) -> list[str]:
    """Days that have partitions, oldest first."""
    rows = db.execute(
        "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
        " WHERE i.inhparent = 'event'::regclass"
    )
    return sorted(_day_of(str(name)) for (name,) in rows)


def make_day(db: Connection, day: str) -> None:
    """The partitions of a day; who calls holds the writers' lock. A table is made whole and then attached, which lets
    others read meanwhile."""
    for table in DAILY:
        name = _partition(table, day)
        db.execute(f"CREATE TABLE {name} (LIKE {table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)".encode())
        db.execute(f"ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES IN ('{day}')".encode())


def drop_day(db: Connection, day: str) -> int:
    """Drop a day's partitions; gives the bytes that they had. Waits for who reads them for 2 s at most."""
    db.execute("SET LOCAL lock_timeout = '2s'")
    freed = 0
    for table in DAILY:
        name = _partition(table, day)
        row = db.execute("SELECT pg_total_relation_size(to_regclass(%s))", (name,)).fetchone()
        freed += int(row[0] or 0) if row is not None else 0
        db.execute(f"DROP TABLE IF EXISTS {name}".encode())
    return freed


def _partition(table: str, day: str) -> str:
    return f"{table}_{day.replace('-', '')}"


def _day_of(name: str) -> str:
    digits = name.rpartition("_")[2]
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"
