"""Typed settings and where each came from: defaults < user file < workspace file < environment < flags.

A workspace may only say what can't hurt its user: `model`, `project`, deny rules and a stricter `approve`; anything
else in its file is ignored and listed in `Loaded.ignored`. `settings.SETTINGS` is the one table of all keys.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from agent_core.config.paths import config_dir, managed_file
from agent_core.config.settings import BY_FIELD, BY_KEY, SETTINGS, STRICTNESS, Setting, Settings
from agent_core.errors import ConfigError, FileRefused, UsageError
from agent_core.untrusted_files import read_toml
from agent_core.variables import variables

log = logging.getLogger(__name__)

_LAYERS = ("default", "user", "workspace", "env", "flag")


class Origin(msgspec.Struct, frozen=True):
    """Where a value came from: `layer` is default, user, workspace, env or flag; `where` the file, variable or flag."""

    layer: str
    where: str


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """Settings with the origin of each field, what the workspace's file set, and what it tried to set but may not
    (`key`, file)."""

    settings: Settings
    origins: Mapping[str, Origin]
    ignored: tuple[tuple[str, str], ...] = ()
    workspace: Mapping[str, Any] = msgspec.field(default_factory=dict)


def settings_files(env: Mapping[str, str], workspace: Path | None) -> tuple[Path, ...]:
    """The files that `load` reads, whether or not they exist."""
    files = (managed_file(env), config_dir(env) / "config.toml")
    return files if workspace is None else (*files, workspace / ".loopline" / "config.toml")


def keep_setting(env: Mapping[str, str], key: str, value: str | tuple[str, ...] | None) -> None:
    """Write one key of `managed_file`; None forgets it. Raises ConfigError if the file can't be written."""
    kept = {**dict(_read(managed_file(env))), key: value}
    lines = [f"{name} = {_toml(entry)}\n" for name, entry in kept.items() if entry is not None]
    path = managed_file(env)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with temporary.open("w", encoding="utf-8") as file:
            file.write("# Kept by `loopline trust` and `loopline hub`.\n" + "".join(lines))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise ConfigError(str(path), "", "a file that can be written", got=error.strerror or "an error") from None


def _toml(value: Any) -> str:
    """A string or a list of strings as TOML; JSON's strings are TOML's basic strings but for DEL."""
    return msgspec.json.encode(value).decode("utf-8").replace("\x7f", "\\u007f")


def load(
    *,
    workspace: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
) -> Loaded:
    """Read all layers. `flags` maps field names to values; None values are not set. Raises ConfigError, and UsageError
    for two flags that contradict each other."""
    env = variables() if env is None else env
    values: dict[str, Any] = {}
    origins = {setting.field: Origin("default", "") for setting in SETTINGS}
    ignored: list[tuple[str, str]] = []
    said: dict[str, Any] = {}

    def apply(setting: Setting, value: Any, layer: str, where: str) -> Any:
        try:
            parsed = setting.row.parse(value)
        except (ValueError, TypeError, OverflowError):
            key = "" if layer == "flag" else setting.key
            raise ConfigError(where, key, setting.row.expected, got=_shown(value)) from None
        before = values.get(setting.field, ())
        values[setting.field] = parsed
        if setting.row.adds:  # no layer takes away what one below says
            values[setting.field] = tuple(dict.fromkeys((*before, *parsed)))
        origins[setting.field] = Origin(layer, where)
        return parsed

    for key, value in _read(managed_file(env)):
        apply(_known(key, managed_file(env)), value, "user", str(managed_file(env)))
    kept_trust = values.get("trusted", ())
    user_file = config_dir(env) / "config.toml"
    for key, value in _read(user_file):
        apply(_known(key, user_file), value, "user", str(user_file))

    if kept_trust:
        values["trusted"] = tuple(dict.fromkeys((*kept_trust, *values["trusted"])))
    if workspace is not None:
        workspace_file = workspace / ".loopline" / "config.toml"
        for key, value in _read(workspace_file, workspace):
            setting = _known(key, workspace_file)
            if setting.row.workspace and not _loosens(setting, value, values):
                said[setting.field] = apply(setting, value, "workspace", str(workspace_file))
            else:
                ignored.append((key, str(workspace_file)))

    for setting in SETTINGS:
        if setting.row.env and (text := env.get(setting.row.env, "").strip()):
            apply(setting, text, "env", setting.row.env)
    for field, value in (flags or {}).items():
        if value is not None:
            apply(BY_FIELD[field], value, "flag", BY_FIELD[field].flag)
    if origins["base_url"].layer == origins["provider"].layer == "flag":
        raise UsageError("--provider and --base-url name two services; give one of them")
    if _LAYERS.index(origins["base_url"].layer) > _LAYERS.index(origins["provider"].layer):
        values.pop("provider", None)  # an address that is said closer to the user names another service
    return Loaded(settings=Settings(**values), origins=origins, ignored=tuple(ignored), workspace=said)


def _read(path: Path, root: Path | None = None) -> list[tuple[str, Any]]:
    """Dotted keys of one TOML file in file order; nothing where there is no file. `root`: the workspace that it is of,
    None: it is the user's own."""
    try:
        table = read_toml(path, root)
        if table == {} and root is None and not path.stat().st_size:
            log.warning("%s is blank: if settings were in it, they are lost; remove the file if not", path)
        return [] if table is None else list(_dotted(table, ""))
    except FileRefused as refused:
        expected = "valid TOML in UTF-8" if refused.code == "malformed" else "a readable file of a few kilobytes"
        raise ConfigError(str(path), "", expected, got=refused.reason) from None
    except RecursionError:
        raise ConfigError(str(path), "", "tables a few levels deep") from None


def _dotted(table: Mapping[str, Any], prefix: str) -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key not in BY_KEY:
            pairs += _dotted(value, f"{key}.")
        else:
            pairs.append((key, value))
    return pairs


def _known(key: str, path: Path) -> Setting:
    setting = BY_KEY.get(key)
    if setting is None:
        raise ConfigError(str(path), key, "one of " + ", ".join(sorted(BY_KEY)), got="an unknown key")
    return setting


def _loosens(setting: Setting, value: Any, values: Mapping[str, Any]) -> bool:
    """Whether a workspace's `approve` or `approvals.*` would ask less than the user's own."""
    if not setting.field.startswith("approve"):
        return False
    present = values.get(setting.field, getattr(Settings(), setting.field))
    return STRICTNESS.get(str(value), 99) < STRICTNESS[present]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
