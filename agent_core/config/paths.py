"""Where the user's own files are: configuration, state, sockets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import platformdirs


def config_dir(env: Mapping[str, str]) -> Path:
    """Folder of the user's own configuration (`$XDG_CONFIG_HOME/loopline`, platformdirs elsewhere)."""
    base = env.get("XDG_CONFIG_HOME")
    return Path(base) / "loopline" if base else Path(platformdirs.user_config_dir("loopline"))


def managed_file(env: Mapping[str, str]) -> Path:
    """What commands keep for the user (`trust`, `hub join`); the user's own `config.toml` wins, trust is the union."""
    return config_dir(env) / "managed.toml"


def state_dir(env: Mapping[str, str]) -> Path:
    """Folder of sessions and telemetry (`$XDG_STATE_HOME/loopline`, platformdirs elsewhere)."""
    base = env.get("XDG_STATE_HOME")
    return Path(base) / "loopline" if base else Path(platformdirs.user_state_dir("loopline"))


def runtime_dir(env: Mapping[str, str]) -> Path:
    """Folder of sockets (`$XDG_RUNTIME_DIR/loopline`, else a private folder beside the state)."""
    base = env.get("XDG_RUNTIME_DIR")
    return Path(base) / "loopline" if base else state_dir(env) / "run"
