"""PostgreSQL, behind this module alone (psycopg 3, extra `postgres`): a pool of connections with bounded waits,
migrations by number, and the driver's errors as ours.

    DatabaseError    a call failed; `away` says whether the database could not be asked at all. Repeating is right
    AuthError        `database_refused`: it answers and refuses the user, the password or the name
    StateError       `state_newer_schema`, `state_store`: what is kept there can't be used by this version or this user

A password stands in the address, in `PGPASSWORD`, in libpq's password file or in a service file (`?service=NAME`); it
is in no message.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import conninfo
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolTimeout, TooManyRequests

from agent_core.errors import AuthError, ConfigError, LooplineError, Retry, ServiceUnreachable, StateError

Connection: TypeAlias = psycopg.Connection[TupleRow]

CONNECT_S = 3
"""For one address; libpq takes whole seconds, and 2 at least."""
WAIT_S, AWAY_WAIT_S = 3.0, 0.5
"""How long a call waits for a connection of the pool; while the database is away it asks whether it is back."""
STATEMENT_MS = 30_000
IDLE_MS = 10_000
"""A transaction in which nothing happens for so long is ended: its process hangs, and others wait for its locks."""
LOOK_S = 0.5
"""How long a thread that listens is deaf to its end, and waits before it connects again."""
UNACKED_MS = 5_000
"""A server that acknowledges nothing for this long is gone, e.g. cut off from the network."""
MAX_CONNECTIONS = 8

_MIGRATING = 0x4C4C_0001
_FULL = ("53100", "53200", "53400")
_BUSY = ("40001", "40P01", "55P03", "57014", "55006", "53300")


class DatabaseError(LooplineError):
    """Codes: `store_full`, `store_busy`, `store_failed`."""

    code = "store_failed"
    retry = Retry.BACKOFF
    exit_code = 2

    def __init__(self, message: str, *, code: str | None = None, away: bool = False) -> None:
        super().__init__(message, code=code)
        self.away = away


class Database:
    """One schema of one database. Safe from several threads; owns its pool."""

    def __init__(self, url: str, schema: str, *, connections: int = MAX_CONNECTIONS, quick: bool = False) -> None:
        """Connects, so that what can't be is known at once. `quick`: while the database is away calls fail without a
        wait; who owns this calls `probe` to know when it is back.

        Raises `ConfigError` for an address that is none, `AuthError`, `ServiceUnreachable`."""
        self.place = shown(url)
        """The address as a person may see it."""
        self.schema = schema
        self.away = False
        """Whether the latest call could not reach the database."""
        self._quick = quick
        self._arguments = _arguments(url)
        self._closing = threading.Lock()
        for name in ("psycopg", "psycopg.pool"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # who asks tells of its errors, once
        self.connect().close()
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            kwargs={**self._arguments, "autocommit": True}, min_size=1, max_size=connections, max_waiting=256,
            timeout=WAIT_S, reconnect_timeout=1.0, max_idle=300.0, name=schema, open=False, configure=self._configure,
        )  # fmt: skip
        self._pool.open()

    def connect(self) -> Connection:
        """A connection of its own, in autocommit mode, which the caller closes. Raises as the class does."""
        try:
            connection = psycopg.connect(**self._arguments, autocommit=True)
            self._configure(connection)
        except psycopg.Error as error:
            raise self._refusal(error) from None
        return connection

    @contextlib.contextmanager
    def asking(self) -> Iterator[Connection]:
        """A connection for questions, each a transaction of its own. Raises `DatabaseError`."""
        with self._errors(), self._pool.connection(self._patience_s()) as connection:
            yield connection

    def probe(self) -> None:
        """Ask whether the database is there. Raises `DatabaseError`."""
        with self._errors(), self._pool.connection(AWAY_WAIT_S) as connection:
            connection.execute("SELECT 1")

    @contextlib.contextmanager
    def changing(self) -> Iterator[Connection]:
        """A connection within one transaction. Raises `DatabaseError`; it is then not known whether it is committed
        if the connection was lost at its end."""
        with self._errors(), self._pool.connection(self._patience_s()) as connection, connection.transaction():
            yield connection

    def migrate(self, migrations: Sequence[Sequence[str]]) -> int:
        """Bring the schema to the latest of `migrations`, each a list of statements; gives the version before.

        Raises `StateError` for a schema that a newer version made, and where the user may not make one.
        """
        try:
            with self.changing() as db:
                db.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATING,))
                db.execute(f"CREATE SCHEMA IF NOT EXISTS {self.schema}")
                db.execute("CREATE TABLE IF NOT EXISTS schema_version (version integer NOT NULL)")
                row = db.execute("SELECT max(version) FROM schema_version").fetchone()
                before = int(row[0] or 0) if row is not None else 0
                if before > len(migrations):
                    raise StateError(
                        f"{self.place}: written by a newer Loopline (schema {self.schema} {before}, this one reads"
                        f" {len(migrations)}); update Loopline",
                        code="state_newer_schema",
                    )
                for number, statements in enumerate(migrations[before:], before + 1):
                    for statement in statements:
                        db.execute(statement.encode())
                    db.execute("INSERT INTO schema_version VALUES (%s)", (number,))
                return before
        except DatabaseError as error:
            if error.away:
                raise
            raise StateError(f"{error.message}", code="state_store") from None

    def tell(self, channel: str, message: str) -> None:
        """To all who listen, this process included; 8,000 bytes at most. Raises `DatabaseError`."""
        with self.asking() as db:
            db.execute("SELECT pg_notify(%s, %s)", (channel, message))

    def listen(
        self, channel: str, ending: threading.Event, on_message: Callable[[str], None], on_gap: Callable[[], None]
    ) -> None:
        """Hear what is told until `ending` is set, on a connection of its own. `on_gap`: it listens from now on, and
        what was told before was not heard. Blocks: for a thread."""
        while not ending.is_set():
            with contextlib.suppress(psycopg.Error, LooplineError), self.connect() as connection:
                connection.execute(f"LISTEN {channel}")
                on_gap()
                while not ending.is_set():
                    for told in connection.notifies(timeout=LOOK_S):
                        on_message(told.payload)
            ending.wait(LOOK_S)

    def close(self) -> None:
        with self._closing:
            self._pool.close(timeout=2.0)

    def _configure(self, connection: Connection) -> None:
        connection.execute(f"SET search_path = {self.schema}")
        # What is committed is durable, or a crash loses what was acknowledged.
        connection.execute(
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
        )

    def _patience_s(self) -> float:
        if self.away and self._quick:
            raise DatabaseError(f"{self.place}: no connection", away=True)
        return AWAY_WAIT_S if self.away else WAIT_S

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (PoolTimeout, TooManyRequests):
            self.away = True
            raise DatabaseError(f"{self.place}: no connection", code="store_failed", away=True) from None
        except psycopg.Error as error:
            state = error.sqlstate or ""
            away = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and (
                not state or state.startswith(("08", "57P"))
            )
            if away:
                self.away = True
                with contextlib.suppress(Exception):
                    self._pool.drain()  # the others are as dead as the one that failed
            code = "store_full" if state in _FULL else "store_busy" if state in _BUSY else "store_failed"
            raise DatabaseError(f"{self.place}: {_line(error)}", code=code, away=away) from None
        self.away = False

    def _refusal(self, error: psycopg.Error) -> LooplineError:
        """Why no connection was made: by whether the server came to ask for a password."""
        peer = error.pgconn
        message = f"{self.place}: {_line(error)}"
        if peer is not None and (peer.used_password or peer.needs_password):
            hint = "the password goes into the address, PGPASSWORD, ~/.pgpass or a service file"
            return AuthError(message, code="database_refused", hint=hint)
        return ServiceUnreachable(message)


def is_postgres(url: str | None) -> bool:
    return url is not None and urlsplit(url).scheme in ("postgresql", "postgres")


def shown(url: str) -> str:
    """The address without its password and options."""
    parts = urlsplit(url)
    at = parts.netloc.rpartition("@")
    user = at[0].partition(":")[0]
    return urlunsplit((parts.scheme, f"{user}@{at[2]}" if user else at[2], parts.path, "", ""))


def plain(text: str) -> str:
    """Text as PostgreSQL can keep it: it has no NUL, and no half of a pair."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def plains(texts: Iterable[str]) -> list[str]:
    return [plain(text) for text in texts]


def _arguments(url: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = {**conninfo.conninfo_to_dict(url)}
    except psycopg.ProgrammingError:
        raise ConfigError("--store", "", "postgresql://user:password@host:port/name", got=shown(url)) from None
    options = f"{found.get('options') or ''} -c statement_timeout={STATEMENT_MS}"
    found["options"] = f"{options} -c idle_in_transaction_session_timeout={IDLE_MS}".strip()
    found.setdefault("connect_timeout", CONNECT_S)
    found.setdefault("application_name", "loopline")
    found.setdefault("tcp_user_timeout", UNACKED_MS)
    found.setdefault("keepalives_idle", 5)
    found.setdefault("keepalives_interval", 2)
    found.setdefault("keepalives_count", 3)
    return found


def _line(error: psycopg.Error) -> str:
    """What the server or the driver says, as one line."""
    told = error.diag.message_primary or str(error)
    return " ".join(told.split())[:300] or type(error).__name__
