"""`--set KEY=VALUE`: any setting for one run, in the words of the settings file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_core.config.settings import SETTINGS
from agent_core.errors import FileRefused, UsageError
from agent_core.untrusted_files import parse_toml


def read_overrides(pairs: Sequence[str]) -> dict[str, Any]:
    """Values by field name, for the `flags` of `config.load`, which checks them. A later pair wins.

    VALUE is read as TOML and, where it is none, as text, so `effort=high` needs no quotes. Of a setting that is a table
    KEY may name an entry: `providers.mine.base_url`. Raises UsageError for a pair without `=` and an unknown key.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        key = key.strip()
        if not equals or not key:
            raise UsageError(f"--set takes KEY=VALUE, not {pair[:80]!r}", hint="loopline config lists the keys")
        setting = next((one for one in SETTINGS if key == one.key or key.startswith(f"{one.key}.")), None)
        if setting is None:
            raise UsageError(f"--set: there is no setting {key[:80]!r}", hint="loopline config lists the keys")
        inside = key.removeprefix(setting.key).split(".")[1:]
        found[setting.field] = _put(found.get(setting.field), inside, _value(text.strip()))
    return found


def _value(text: str) -> Any:
    try:
        table = parse_toml(f"value = {text}\n".encode("utf-8", "surrogateescape"))
    except FileRefused:
        return text
    return table["value"] if list(table) == ["value"] else text


def _put(before: Any, inside: Sequence[str], value: Any) -> Any:
    if not inside:
        return value
    table = dict(before) if isinstance(before, dict) else {}
    table[inside[0]] = _put(table.get(inside[0]), inside[1:], value)
    return table
