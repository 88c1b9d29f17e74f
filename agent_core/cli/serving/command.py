"""`loopline serve`: options as typed, turned into the service's settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from agent_core.cli.serving.keys import ONE_KEY, read_keys
from agent_core.config.load import load
from agent_core.config.paths import state_dir
from agent_core.config.serve import OPTIONS, SERVED
from agent_core.config.settings import Settings
from agent_core.errors import ConfigError, UsageError
from agent_core.responses_server.settings import FEATURES, ApiKey, KeyLimits, ServeSettings
from agent_core.variables import variables

UPSTREAM_KEY: Final = "LOOPLINE_UPSTREAM_KEY"
"""Variable with the key for `upstream` engines that have none of their own in the configuration."""


def serve_command(given: Mapping[str, Any]) -> int:
    """Serve until a signal; returns the exit code. `given`: what was typed, by name of the option. Raises ConfigError
    for options that can't be."""
    from agent_core.responses_server.app import serve

    typed = {option.field: given[option.name] for option in SERVED}
    flags = {field: str(value) if isinstance(value, Path) else value for field, value in typed.items()}
    chosen = load(flags=flags).settings
    specs = tuple(given["engine"] or ())
    engines, engine_options = read_engines(specs, chosen.engines, variables())

    def reread() -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
        return read_engines(specs, load(flags=flags).settings.engines, variables())

    keys, limits = _access(given, chosen)
    return serve(
        ServeSettings(
            **{option.setting: given[option.name] for option in OPTIONS if option.setting is not None},
            api_keys=keys,
            key_limits=limits,
            prices=chosen.prices,
            log_level=chosen.serve_log_level,
            log_format=chosen.serve_log_format,
            allowed_hosts=tuple(given["allowed_host"] or ()),
            state_dir=state_dir(variables()),
            websocket=not given["no_websocket"],
            engines=engines,
            engine_options=engine_options,
            reread=reread,
            without=read_features(given["without"] or ""),
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


def _access(given: Mapping[str, Any], chosen: Settings) -> tuple[tuple[ApiKey, ...], KeyLimits]:
    """Keys and their limits. A service that is part of a session (it watches its parent) has that session's key only,
    and no limits: those are for a service that several people use."""
    if given["parent_pipe"] is not None:
        one = {ONE_KEY: variables().get(ONE_KEY, "")}
        return read_keys(given["api_key"], None, one, KeyLimits()), KeyLimits()
    limits = KeyLimits(
        connections=chosen.serve_connections,
        requests_per_minute=chosen.serve_requests_per_minute,
        tokens_per_minute=chosen.serve_tokens_per_minute,
    )
    file = Path(chosen.serve_keys).expanduser() if chosen.serve_keys is not None else None
    return read_keys(given["api_key"], file, variables(), limits), limits
