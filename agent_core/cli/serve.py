"""`loopline serve`: options as typed, turned into the service's settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from agent_core.cli.serve_keys import ONE_KEY, read_keys
from agent_core.config import Settings, load, state_dir
from agent_core.errors import ConfigError, UsageError
from agent_core.responses_server.settings import FEATURES, ApiKey, KeyLimits, ServeSettings
from agent_core.variables import variables

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
    enable_rollout: bool
    state_mb: int
    state_minutes: float
    engines: tuple[str, ...]
    without: str | None
    keys: Path | None
    connections: int | None
    requests_per_minute: int | None
    tokens_per_minute: int | None
    log_level: str | None
    log_format: str | None
    shutdown_grace_s: float
    parent_pipe: int | None


def serve_command(options: ServeOptions) -> int:
    """Serve until a signal; returns the exit code. Raises ConfigError for options that can't be."""
    from agent_core.responses_server.app import serve

    flags = {
        "serve_keys": str(options.keys) if options.keys is not None else None,
        "serve_connections": options.connections,
        "serve_requests_per_minute": options.requests_per_minute,
        "serve_tokens_per_minute": options.tokens_per_minute,
        "serve_log_level": options.log_level,
        "serve_log_format": options.log_format,
    }
    chosen = load(flags=flags).settings
    engines, engine_options = read_engines(options.engines, chosen.engines, variables())

    def reread() -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
        return read_engines(options.engines, load(flags=flags).settings.engines, variables())

    keys, limits = _access(options, chosen)
    return serve(
        ServeSettings(
            api_keys=keys,
            key_limits=limits,
            prices=chosen.prices,
            log_level=chosen.serve_log_level,
            log_format=chosen.serve_log_format,
            shutdown_grace_s=options.shutdown_grace_s,
            host=options.host,
            port=options.port,
            ready_file=options.ready_file,
            parent_pipe_fd=options.parent_pipe,
            allowed_hosts=options.allowed_hosts,
            store=options.store,
            state_dir=state_dir(variables()),
            connection_minutes=options.connection_minutes,
            keepalive_s=options.keepalive_s,
            websocket=options.websocket,
            rollout_file=options.rollout,
            enable_rollout=options.enable_rollout,
            state_mb=options.state_mb,
            state_minutes=options.state_minutes,
            engines=engines,
            engine_options=engine_options,
            reread=reread,
            without=read_features(options.without or ""),
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


def read_features(given: str) -> frozenset[str]:
    """Names out of a comma-separated list; `all` is each feature."""
    names = frozenset(name.strip() for name in given.split(",") if name.strip())
    return (names - {"all"}) | frozenset(FEATURES) if "all" in names else names


def _access(options: ServeOptions, chosen: Settings) -> tuple[tuple[ApiKey, ...], KeyLimits]:
    """Keys and their limits. A service that is part of a session (it watches its parent) has that session's key only,
    and no limits: those are for a service that several people use."""
    if options.parent_pipe is not None:
        one = {ONE_KEY: variables().get(ONE_KEY, "")}
        return read_keys(options.api_key, None, one, KeyLimits()), KeyLimits()
    limits = KeyLimits(
        connections=chosen.serve_connections,
        requests_per_minute=chosen.serve_requests_per_minute,
        tokens_per_minute=chosen.serve_tokens_per_minute,
    )
    file = Path(chosen.serve_keys).expanduser() if chosen.serve_keys is not None else None
    return read_keys(options.api_key, file, variables(), limits), limits
