"""A real PostgreSQL of the system's binaries: one server for each process of tests, a database for each test."""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psycopg

from tests.support.suite.parts import lacking

PLACES = ("/usr/lib/postgresql", "/usr/local/lib/postgresql", "/opt/homebrew/opt")
START_S = 60.0
ROLE = "loopline"
OPTIONS = (
    *("fsync=off", "full_page_writes=off", "autovacuum=off", "shared_buffers=32MB"),
    *("listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=100", "lc_messages=C"),
)
_numbers = itertools.count()


@cache
def binaries() -> Path | None:
    """The folder of the newest PostgreSQL here, None if there is none."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    named = [path for place in PLACES for path in Path(place).glob("*/bin/initdb")]
    return max(named, key=lambda path: path.parts[-3].zfill(8)).parent if named else None


def require_postgres() -> Path:
    """Skips the test, with words, where there is no PostgreSQL."""
    return binaries() or lacking("postgresql")


@dataclass
class PostgresServer:
    """`start` and `stop` it at will; it keeps its port and its data."""

    folder: Path
    port: int
    password: str
    process: subprocess.Popen[bytes] | None = None

    def url(self, name: str = "postgres", *, password: str | None = None) -> str:
        return f"postgresql://{ROLE}:{password or self.password}@127.0.0.1:{self.port}/{name}"

    def database(self) -> str:
        """The address of a new, empty database."""
        name = f"test{next(_numbers)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} STRATEGY FILE_COPY".encode())
        return self.url(name)

    def start(self) -> None:
        """Returns once it answers."""
        options = [part for option in (*OPTIONS, f"port={self.port}") for part in ("-c", option)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [str(require_postgres() / "postgres"), "-D", str(self.folder / "data"), *options],
                stdout=log, stderr=subprocess.STDOUT, cwd="/", user=_plain_user(), group=_plain_group(),
            )  # fmt: skip
        give_up = time.monotonic() + START_S
        while True:
            try:
                psycopg.connect(self.url(), connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                if self.process.poll() is not None or time.monotonic() > give_up:
                    raise AssertionError((self.folder / "log").read_text()[-2000:]) from None
                time.sleep(0.05)

    def stop(self, number: int = signal.SIGQUIT) -> None:
        """At once, as if the machine went away; what was committed is found again by the next start."""
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(START_S)
            self.process = None


@contextlib.contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """A server of its own, for who stops it."""
    place = require_postgres()
    folder = Path(tempfile.mkdtemp(prefix="loopline-pg-", dir="/tmp"))
    server = PostgresServer(folder, _free_port(), secrets.token_hex(8))
    (folder / "password").write_text(server.password)
    if os.getuid() == 0:
        for path in (folder, folder / "password"):
            os.chown(path, _plain_user() or 0, _plain_group() or 0)
    try:
        subprocess.run(
            [
                *(str(place / "initdb"), "-D", str(folder / "data"), "-U", ROLE, "--auth=scram-sha-256", "-N"),
                *("--pwfile", str(folder / "password"), "--locale=C.UTF-8", "-E", "UTF8"),
            ],
            check=True, capture_output=True, timeout=START_S, cwd="/", user=_plain_user(), group=_plain_group(),
        )  # fmt: skip
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _plain_user() -> int | None:
    """PostgreSQL refuses to run as root; None: as who runs the tests."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name: entry.pw_uid for entry in pwd.getpwall()}
    return names.get("postgres", names["nobody"])


def _plain_group() -> int | None:
    user = _plain_user()
    return None if user is None else pwd.getpwuid(user).pw_gid


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
