"""Tokens, sessions, values and the audit log in PostgreSQL, shared by all hubs on one database.

What changes here is counted in one row. Others notice within `LOOK_S`: that is when a thread looks at the count again,
so that `version`, which is asked for with each message to a browser, costs nothing.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from agent_core.postgres import Connection, Database, DatabaseError, plain, plains
from dashboard.hub.store.postgres.schema import MIGRATIONS, SCHEMA
from dashboard.hub.store.postgres.store import store_errors
from dashboard.hub.store.records import AuditRecord, SessionRecord, TokenRecord

MAX_AUDIT = 10_000
"""Audit records kept; the oldest go first."""
LOOK_S = 1.0
CONNECTIONS = 4
_TOKEN = "name, role, team, digest, created_us, revoked_us"


class PostgresPeople:
    """Implements `store.People`. Owns its connections and the thread that looks for changes of others."""

    def __init__(self, url: str) -> None:
        """Raises as `PostgresStore`."""
        self.notices: list[str] = []
        self._db = Database(url, SCHEMA, connections=CONNECTIONS, quick=True)
        self._ending = threading.Event()
        self._changes, self._seen = 0, 0
        self._lock = threading.Lock()
        self._valid: dict[str, TokenRecord] = {}
        """Tokens by digest that were valid at `_valid_at`, so that a push asks for none."""
        self._valid_at = (0, 0)
        try:
            with store_errors():
                self._db.migrate(MIGRATIONS)
        except BaseException:
            self._db.close()
            raise
        self._looking = threading.Thread(target=self._look, name="hub-people", daemon=True)
        self._looking.start()

    def add_token(self, token: TokenRecord) -> bool:
        with self._change() as db:
            taken = db.execute(
                f"INSERT INTO token ({_TOKEN}) VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (name) DO UPDATE SET"
                " (role, team, digest, created_us, revoked_us) = (excluded.role, excluded.team, excluded.digest,"
                " excluded.created_us, excluded.revoked_us) WHERE token.revoked_us IS NOT NULL",
                (*plains((token.name, token.role, token.team, token.digest)), token.created_us, token.revoked_us),
            ).rowcount
            if taken:
                db.execute("DELETE FROM session WHERE token = %s", (plain(token.name),))
            return taken > 0

    def revoke_token(self, name: str, at_us: int) -> bool:
        with self._change() as db:
            found = db.execute(
                "UPDATE token SET revoked_us = %s WHERE name = %s AND revoked_us IS NULL", (at_us, plain(name))
            ).rowcount
            db.execute("DELETE FROM session WHERE token = %s", (plain(name),))
            return found > 0

    def tokens(self) -> list[TokenRecord]:
        with self._ask() as db:
            return [_token(row) for row in db.execute(f'SELECT {_TOKEN} FROM token ORDER BY name COLLATE "C"')]

    def token_by_digest(self, digest: str) -> TokenRecord | None:
        version = self.version()
        with self._lock:
            if self._valid_at != version:
                self._valid, self._valid_at = {}, version
            if digest in self._valid:
                return self._valid[digest]
        with self._ask() as db:
            row = db.execute(
                f"SELECT {_TOKEN} FROM token WHERE digest = %s AND revoked_us IS NULL", (digest,)
            ).fetchone()
        if row is None:
            return None
        with self._lock:
            if self._valid_at == version == self.version():
                self._valid[digest] = _token(row)
        return _token(row)

    def put_session(self, session: SessionRecord) -> None:
        token = None if session.token is None else plain(session.token)
        with self._change() as db:
            db.execute(
                "INSERT INTO session VALUES (%s, %s, %s, %s) ON CONFLICT (digest) DO UPDATE SET"
                " (token, created_us, used_us) = (excluded.token, excluded.created_us, excluded.used_us)",
                (session.digest, token, session.created_us, session.used_us),
            )

    def session(self, digest: str) -> tuple[SessionRecord, TokenRecord | None] | None:
        with self._ask() as db:
            row = db.execute(
                "SELECT s.digest, s.token, s.created_us, s.used_us, t.name, t.role, t.team, t.digest, t.created_us,"
                " t.revoked_us FROM session s LEFT JOIN token t ON t.name = s.token WHERE s.digest = %s",
                (digest,),
            ).fetchone()
        if row is None:
            return None
        record = SessionRecord(digest=row[0], token=row[1], created_us=row[2], used_us=row[3])
        return record, None if row[4] is None else _token(row[4:])

    def touch_session(self, digest: str, at_us: int) -> None:
        with self._change() as db:
            db.execute("UPDATE session SET used_us = %s WHERE digest = %s", (at_us, digest))

    def end_session(self, digest: str) -> None:
        with self._change() as db:
            db.execute("DELETE FROM session WHERE digest = %s", (digest,))

    def end_old_sessions(self, used_before_us: int, created_before_us: int) -> int:
        with self._change() as db:
            return db.execute(
                "DELETE FROM session WHERE used_us < %s OR created_us < %s", (used_before_us, created_before_us)
            ).rowcount

    def version(self) -> tuple[int, int]:
        return self._changes, self._seen

    def value(self, name: str) -> bytes | None:
        with self._ask() as db:
            row = db.execute("SELECT body FROM value WHERE name = %s", (plain(name),)).fetchone()
        return None if row is None else bytes(row[0])

    def put_value(self, name: str, value: bytes) -> None:
        with self._change() as db:
            db.execute(
                "INSERT INTO value VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET body = excluded.body",
                (plain(name), value),
            )

    def audit(self, record: AuditRecord) -> None:
        with self._change() as db:
            row = db.execute(
                "INSERT INTO audit (at_us, actor, action, detail) VALUES (%s, %s, %s, %s) RETURNING id",
                (record.at_us, *plains((record.actor, record.action, record.detail))),
            ).fetchone()
            db.execute("DELETE FROM audit WHERE id <= %s", ((row[0] if row is not None else 0) - MAX_AUDIT,))

    def audited(self, limit: int) -> list[AuditRecord]:
        with self._ask() as db:
            rows = db.execute("SELECT at_us, actor, action, detail FROM audit ORDER BY id DESC LIMIT %s", (limit,))
            return [AuditRecord(at_us=row[0], actor=row[1], action=row[2], detail=row[3]) for row in rows]

    def close(self) -> None:
        self._ending.set()
        self._looking.join(2 * LOOK_S)
        self._db.close()

    @contextlib.contextmanager
    def _ask(self) -> Iterator[Connection]:
        with store_errors(), self._db.asking() as db:
            yield db

    @contextlib.contextmanager
    def _change(self) -> Iterator[Connection]:
        with store_errors(), self._db.changing() as db:
            db.execute("UPDATE change SET number = number + 1")
            yield db
        self._changes += 1

    def _look(self) -> None:
        while not self._ending.wait(LOOK_S):
            with contextlib.suppress(DatabaseError):
                if self._db.away:
                    self._db.probe()
                with self._db.asking() as db:
                    row = db.execute("SELECT number FROM change").fetchone()
                self._seen = int(row[0]) if row is not None else 0


def _token(row: tuple[Any, ...]) -> TokenRecord:
    name, role, team, digest, created_us, revoked_us = row
    return TokenRecord(name=name, role=role, team=team, digest=digest, created_us=created_us, revoked_us=revoked_us)
