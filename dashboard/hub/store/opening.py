"""The stores of a `--store` value: a folder of SQLite files, or a PostgreSQL database."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from agent_core.errors import ConfigError
from dashboard.hub.store.port import People, Store
from dashboard.hub.store.sqlite_people import SqlitePeople
from dashboard.hub.store.sqlite_store import SqliteStore


def open_people(url: str | None, state_dir: Path) -> People:
    """Raises `ConfigError` for an address of neither kind, `StateError` and `StoreError` for a store that can't be
    used; of a database also `AuthError` and `ServiceUnreachable`."""
    if not is_postgres_address(url):
        return SqlitePeople(store_folder(url, state_dir))
    try:
        from dashboard.hub.store.postgres.people import PostgresPeople
    except ImportError as error:
        raise missing_driver(error) from None
    return PostgresPeople(url or "")


def open_store(url: str | None, state_dir: Path) -> Store:
    """Raises as `open_people`."""
    if not is_postgres_address(url):
        return SqliteStore(store_folder(url, state_dir))
    try:
        from dashboard.hub.store.postgres.store import PostgresStore
    except ImportError as error:
        raise missing_driver(error) from None
    return PostgresStore(url or "")


def store_folder(url: str | None, state_dir: Path) -> Path:
    """The folder of a `--store` value: `sqlite:///FOLDER` or a plain path; None = `<state dir>/hub`.

    Raises ConfigError for other kinds of store.
    """
    if url is None:
        return state_dir / "hub"
    parts = urlsplit(url)
    if parts.scheme == "sqlite" and not parts.netloc and parts.path not in ("", "/"):
        return Path(unquote(parts.path))
    if "://" in url or not url.strip():
        expected = "a folder, sqlite:///FOLDER, or postgresql://user:password@host:port/name"
        raise ConfigError("--store", "", expected, got=parts.scheme or "nothing")
    return Path(url)


def is_postgres_address(url: str | None) -> bool:
    return url is not None and url.startswith(("postgresql://", "postgres://"))


def missing_driver(error: ImportError) -> ConfigError:
    hint = "pip install 'loopline[postgres]'"
    return ConfigError("--store", "", "the driver of PostgreSQL", got=f"no module {error.name}", hint=hint)
