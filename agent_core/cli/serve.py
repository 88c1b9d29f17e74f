"""`loopline serve`: options as typed, turned into the service's settings."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

import msgspec

from agent_core.config import state_dir
from agent_core.responses_server.settings import ApiKey, ServeSettings


class ServeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of `serve`. `without` is a comma-separated list; None everywhere means not given."""

    host: str
    port: int
    api_key: str | None
    ready_file: Path | None
    allowed_hosts: tuple[str, ...]
    store: str | None
    connection_minutes: float
    keepalive_s: float
    websocket: bool
    rollout: Path | None
    without: str | None
    parent_pipe: int | None


def serve_command(options: ServeOptions) -> int:
    """Serve until a signal; returns the exit code. Raises ConfigError for options that can't be."""
    from agent_core.responses_server.app import serve

    return serve(
        ServeSettings(
            api_keys=(ApiKey("default", _key(options.api_key)),),
            host=options.host,
            port=options.port,
            ready_file=options.ready_file,
            parent_pipe_fd=options.parent_pipe,
            allowed_hosts=options.allowed_hosts,
            store=options.store,
            state_dir=state_dir(os.environ),
            connection_minutes=options.connection_minutes,
            keepalive_s=options.keepalive_s,
            websocket=options.websocket,
            rollout_file=options.rollout,
            without=frozenset(name.strip() for name in (options.without or "").split(",") if name.strip()),
        )
    )


def _key(given: str | None) -> str:
    """The key that clients must send: the option, else the environment's, else a fresh one, shown once on stderr."""
    key = given or os.environ.get("LOOPLINE_API_KEY", "").strip()
    if not key:
        key = secrets.token_urlsafe(32)
        print(f"loopline: clients send this key: {key}", file=sys.stderr)  # noqa: T201
    return key
