"""Tokens, sessions, values and the audit log in `people.db`. Safe from several threads and processes."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dashboard.hub.store.records import AuditRecord, SessionRecord, TokenRecord
from dashboard.hub.store.sqlite_files import mended, open_writable, store_errors, transaction

MAX_AUDIT = 10_000
"""Audit records kept; the oldest go first."""

_CREATE = (
    (
        "CREATE TABLE IF NOT EXISTS token (name TEXT PRIMARY KEY, role TEXT NOT NULL, team TEXT NOT NULL,"
        " digest TEXT NOT NULL UNIQUE, created_us INTEGER NOT NULL, revoked_us INTEGER) WITHOUT ROWID"
    ),
    (
        "CREATE TABLE IF NOT EXISTS session (digest TEXT PRIMARY KEY, token TEXT, created_us INTEGER NOT NULL,"
        " used_us INTEGER NOT NULL) WITHOUT ROWID"
    ),
    "CREATE TABLE IF NOT EXISTS value (name TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID",
    (
        "CREATE TABLE IF NOT EXISTS audit (id INTEGER PRIMARY KEY AUTOINCREMENT, at_us INTEGER NOT NULL,"
        " actor TEXT NOT NULL, action TEXT NOT NULL, detail TEXT NOT NULL)"
    ),
)
_TOKEN = "name, role, team, digest, created_us, revoked_us"


class SqlitePeople:
    """Implements `store.People`."""

    def __init__(self, folder: Path) -> None:
        """Raises `StoreError` or `StateError` if the file can't be used."""
        self._path = folder / "people.db"
        self._lock = threading.Lock()
        self._changes = 0
        with store_errors(self._path):
            note = mended(self._path, _CREATE)
            self.notices = [] if note is None else [f"{note}. Check the tokens: loopline web token list"]
            self._db = open_writable(self._path, _CREATE)

    def add_token(self, token: TokenRecord) -> bool:
        with self._change() as db:
            found = db.execute("SELECT revoked_us FROM token WHERE name = ?", (token.name,)).fetchone()
            if found is not None and found[0] is None:
                return False
            db.execute("DELETE FROM session WHERE token = ?", (token.name,))
            db.execute(
                f"INSERT OR REPLACE INTO token ({_TOKEN}) VALUES (?, ?, ?, ?, ?, ?)",
                (token.name, token.role, token.team, token.digest, token.created_us, token.revoked_us),
            )
            return True

    def revoke_token(self, name: str, at_us: int) -> bool:
        with self._change() as db:
            cursor = db.execute("UPDATE token SET revoked_us = ? WHERE name = ? AND revoked_us IS NULL", (at_us, name))
            db.execute("DELETE FROM session WHERE token = ?", (name,))
            return cursor.rowcount > 0

    def tokens(self) -> list[TokenRecord]:
        with self._ask() as db:
            return [_token(row) for row in db.execute(f"SELECT {_TOKEN} FROM token ORDER BY name")]

    def token_by_digest(self, digest: str) -> TokenRecord | None:
        with self._ask() as db:
            row = db.execute(
                f"SELECT {_TOKEN} FROM token WHERE digest = ? AND revoked_us IS NULL", (digest,)
            ).fetchone()
        return None if row is None else _token(row)

    def put_session(self, session: SessionRecord) -> None:
        with self._change() as db:
            db.execute(
                "INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?)",
                (session.digest, session.token, session.created_us, session.used_us),
            )

    def session(self, digest: str) -> tuple[SessionRecord, TokenRecord | None] | None:
        with self._ask() as db:
            row = db.execute("SELECT digest, token, created_us, used_us FROM session WHERE digest = ?", (digest,))
            found = row.fetchone()
            if found is None:
                return None
            token = db.execute(f"SELECT {_TOKEN} FROM token WHERE name = ?", (found[1],)).fetchone()
        record = SessionRecord(digest=found[0], token=found[1], created_us=found[2], used_us=found[3])
        return record, None if token is None else _token(token)

    def touch_session(self, digest: str, at_us: int) -> None:
        with self._change() as db:
            db.execute("UPDATE session SET used_us = ? WHERE digest = ?", (at_us, digest))

    def end_session(self, digest: str) -> None:
        with self._change() as db:
            db.execute("DELETE FROM session WHERE digest = ?", (digest,))

    def end_old_sessions(self, used_before_us: int, created_before_us: int) -> int:
        with self._change() as db:
            cursor = db.execute(
                "DELETE FROM session WHERE used_us < ? OR created_us < ?", (used_before_us, created_before_us)
            )
            return cursor.rowcount

    def version(self) -> tuple[int, int]:
        with self._ask() as db:
            return self._changes, int(db.execute("PRAGMA data_version").fetchone()[0])

    def value(self, name: str) -> bytes | None:
        with self._ask() as db:
            row = db.execute("SELECT body FROM value WHERE name = ?", (name,)).fetchone()
        return None if row is None else bytes(row[0])

    def put_value(self, name: str, value: bytes) -> None:
        with self._change() as db:
            db.execute("INSERT OR REPLACE INTO value VALUES (?, ?)", (name, value))

    def audit(self, record: AuditRecord) -> None:
        with self._change() as db:
            cursor = db.execute(
                "INSERT INTO audit (at_us, actor, action, detail) VALUES (?, ?, ?, ?)",
                (record.at_us, record.actor, record.action, record.detail),
            )
            db.execute("DELETE FROM audit WHERE id <= ?", ((cursor.lastrowid or 0) - MAX_AUDIT,))

    def audited(self, limit: int) -> list[AuditRecord]:
        with self._ask() as db:
            rows = db.execute("SELECT at_us, actor, action, detail FROM audit ORDER BY id DESC LIMIT ?", (limit,))
            return [AuditRecord(at_us=row[0], actor=row[1], action=row[2], detail=row[3]) for row in rows]

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextmanager
    def _ask(self) -> Iterator[sqlite3.Connection]:
        with self._lock, store_errors(self._path):
            yield self._db

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        with self._lock, store_errors(self._path), transaction(self._db):
            self._changes += 1
            yield self._db


def _token(row: tuple[str, str, str, str, int, int | None]) -> TokenRecord:
    name, role, team, digest, created_us, revoked_us = row
    return TokenRecord(name=name, role=role, team=team, digest=digest, created_us=created_us, revoked_us=revoked_us)
