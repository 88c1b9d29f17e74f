"""Tables of a day file."""

from __future__ import annotations

from dashboard.hub.store.records import SAMPLE

CREATE = (
    """
    CREATE TABLE IF NOT EXISTS event (
        pos INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT NOT NULL, seq INTEGER NOT NULL, team TEXT NOT NULL,
        at_us INTEGER NOT NULL, subject TEXT NOT NULL, kind INTEGER NOT NULL, body BLOB NOT NULL, UNIQUE (source, seq)
    )
    """,
    "CREATE INDEX IF NOT EXISTS event_subject ON event (subject) WHERE subject != ''",
    f"CREATE INDEX IF NOT EXISTS event_sample ON event (at_us) WHERE kind = {SAMPLE}",
    """
    CREATE TABLE IF NOT EXISTS turn (
        team TEXT NOT NULL, turn TEXT NOT NULL, session TEXT NOT NULL, source TEXT NOT NULL, agent TEXT NOT NULL,
        project TEXT NOT NULL, model TEXT NOT NULL, status TEXT NOT NULL, reuse TEXT NOT NULL,
        started_us INTEGER NOT NULL, ended_us INTEGER, body BLOB NOT NULL, PRIMARY KEY (turn, team)
    )
    """,
    "CREATE INDEX IF NOT EXISTS turn_started ON turn (started_us)",
    """
    CREATE TABLE IF NOT EXISTS finding (
        source TEXT NOT NULL, seq INTEGER NOT NULL, team TEXT NOT NULL, at_us INTEGER NOT NULL, severity TEXT NOT NULL,
        code TEXT NOT NULL, agent TEXT NOT NULL, turn TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (source, seq)
    )
    """,
    "CREATE INDEX IF NOT EXISTS finding_at ON finding (at_us)",
)
TURN_COLUMNS = "team, turn, session, source, agent, project, model, status, reuse, started_us, ended_us, body"
FINDING_COLUMNS = "team, source, seq, at_us, severity, code, agent, turn, body"
