"""`loopline serve`: options as typed, turned into the service's settings."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from agent_core.config import load, state_dir
from agent_core.errors import ConfigError, UsageError
from agent_core.responses_server.settings import ApiKey, ServeSettings

UPSTREAM_KEY: Final = "LOOPLINE_UPSTREAM_KEY"
"""Variable with the key for `upstream` engines that have none of their own in the configuration."""


class ServeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of `serve`. `without` is a comma-separated list; None everywhere means not given.

    `engines`: `NAME=KIND:SPEC` each.
    """

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
    engines: tuple[str, ...]
    without: str | None
    parent_pipe: int | None


def serve_command(options: ServeOptions) -> int:
    """Serve until a signal; returns the exit code. Raises ConfigError for options that can't be."""
    from agent_core.responses_server.app import serve

    engines, engine_options = read_engines(options.engines, load().settings.engines, os.environ)
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
            engines=engines,
            engine_options=engine_options,
            without=frozenset(name.strip() for name in (options.without or "").split(",") if name.strip()),
        )
    )


def read_engines(
    given: tuple[str, ...], configured: Mapping[str, Mapping[str, Any]], env: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """Specs and options of the engines by name: those of the configuration that have a `spec`, then `--engine`.

    Raises UsageError for an option that is no `NAME=KIND:SPEC`, ConfigError for a `spec` that is no text.
    """
    specs: dict[str, str] = {}
    options = {name: dict(table) for name, table in configured.items()}
    for name, table in options.items():
        spec = table.pop("spec", None)
        if spec is not None and not isinstance(spec, str):
            raise ConfigError("config.toml", f"engines.{name}.spec", "text like llama:PATH.gguf")
        if spec:
            specs[name] = spec
    for option in given:
        name, _, spec = option.partition("=")
        if not name or not spec:
            raise UsageError(
                f"--engine {option}: expected NAME=KIND:SPEC",
                hint="--engine local=llama:model.gguf, or --engine far=upstream:http://127.0.0.1:11434/v1#qwen3",
            )
        specs[name] = spec
    key = env.get(UPSTREAM_KEY, "").strip()
    if key:
        for name, spec in specs.items():
            if spec.startswith("upstream:"):
                options.setdefault(name, {}).setdefault("key", key)
    return specs, options


def _key(given: str | None) -> str:
    """The key that clients must send: the option, else the environment's, else a fresh one, shown once on stderr."""
    key = given or os.environ.get("LOOPLINE_API_KEY", "").strip()
    if not key:
        key = secrets.token_urlsafe(32)
        print(f"loopline: clients send this key: {key}", file=sys.stderr)  # noqa: T201
    return key
