"""Tables of the service in PostgreSQL, shared by all that serve on one database: migrations by number, forward only."""

from __future__ import annotations

SCHEMA = "loopline_serve"

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """
        CREATE TABLE response (
            id text PRIMARY KEY, parent text, created_at bigint NOT NULL, owner text NOT NULL,
            input bytea NOT NULL, output bytea NOT NULL, response bytea NOT NULL
        )
        """,
        "CREATE INDEX response_created ON response (created_at)",
        "CREATE TABLE secret (id integer PRIMARY KEY CHECK (id = 1), value bytea NOT NULL)",
    ),
)
