"""Store URLs to stores: `memory:`, `sqlite:///PATH` (an absolute path has four slashes), `postgresql://…`, or the
settings' default."""

from __future__ import annotations

from pathlib import Path

from agent_core.clock import Clock
from agent_core.errors import ConfigError
from agent_core.responses_server.settings import ServeSettings
from agent_core.responses_server.store.port import MemoryStore, ResponseStore
from agent_core.responses_server.store.sqlite import SqliteStore

DEFAULT_FILE, SECRET_FILE = "responses.db", "responses.secret"


def make_store(settings: ServeSettings, clock: Clock) -> ResponseStore:
    """Raises ConfigError for a URL of a kind that is not known."""
    now_s = clock.wall_ns() // 1_000_000_000
    url = settings.store
    if url is None:
        return MemoryStore() if settings.state_dir is None else SqliteStore(settings.state_dir / DEFAULT_FILE, now_s)
    if url == "memory:":
        return MemoryStore(secret_file=settings.state_dir / SECRET_FILE if settings.state_dir is not None else None)
    if url.startswith("sqlite:///") and len(url) > len("sqlite:///"):
        return SqliteStore(Path(url.removeprefix("sqlite:///")), now_s)
    if url.startswith(("postgresql://", "postgres://")):
        try:
            from agent_core.responses_server.store.postgres import PostgresStore
        except ImportError as error:
            hint = "pip install 'loopline[postgres]'"
            raise ConfigError("serve", "store", "the driver of PostgreSQL", got=str(error.name), hint=hint) from None
        return PostgresStore(url, now_s)
    expected = "memory:, sqlite:///PATH or postgresql://user:password@host:port/name"
    raise ConfigError("serve", "store", expected, got=url.partition(":")[0] + ":…")
