"""The keys that `loopline serve` lets in, from the command line, the environment and a file."""

from __future__ import annotations

import secrets
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from agent_core.errors import ConfigError
from agent_core.responses_server.settings import ApiKey, KeyLimits
from agent_core.telemetry.screen import say

ONE_KEY: Final = "LOOPLINE_API_KEY"
"""Variable with a key; it goes by the name `default`."""
MANY_KEYS: Final = "LOOPLINE_API_KEYS"
"""Variable with named keys: `NAME=KEY`, separated by commas or spaces."""
DEFAULT_NAME: Final = "default"


class _Entry(KeyLimits, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the keys' file. Limits that are not there are those of the command line."""

    key: str = ""
    sha256: str = ""


def read_keys(given: str | None, file: Path | None, env: Mapping[str, str], limits: KeyLimits) -> tuple[ApiKey, ...]:
    """All keys there are; without any a fresh one, shown once on stderr. Raises ConfigError.

    `given`: the option's; it takes the place of the variable's `default`. `limits`: of keys that have none of their
    own.
    """
    keys: list[ApiKey] = []
    one = given or env.get(ONE_KEY, "").strip()
    if one:
        keys.append(ApiKey(DEFAULT_NAME, one))
    keys += _named(env.get(MANY_KEYS, ""))
    if file is not None:
        keys += _of_file(file, limits)
    if not keys:
        fresh = secrets.token_urlsafe(32)
        say(f"loopline: clients send this key: {fresh}")
        keys.append(ApiKey(DEFAULT_NAME, fresh))
    return tuple(keys)


def _named(text: str) -> list[ApiKey]:
    keys = []
    for number, pair in enumerate(text.replace(",", " ").split(), 1):
        name, _, key = pair.partition("=")
        if not name or not key:
            raise ConfigError(MANY_KEYS, f"entry {number}", "NAME=KEY")
        keys.append(ApiKey(name, key))
    return keys


def _of_file(path: Path, limits: KeyLimits) -> list[ApiKey]:
    """Tables by name. A file that others may read is pointed out, unless it only holds digests."""
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
        mode = path.stat().st_mode
    except OSError as error:
        raise ConfigError(str(path), "", "a readable file", got=error.strerror) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        # The parser's message may quote a key.
        raise ConfigError(str(path), "", "valid TOML in UTF-8: a table [NAME] with key or sha256") from None
    keys = [_of_table(str(path), name, table, limits) for name, table in tables.items()]
    if mode & (stat.S_IRGRP | stat.S_IROTH) and any(key.key for key in keys):
        say(f"loopline: {path}: others can read these keys; chmod 600, or give sha256")
    return keys


def _of_table(where: str, name: str, table: object, limits: KeyLimits) -> ApiKey:
    base = {field: getattr(limits, field) for field in KeyLimits.__struct_fields__}
    try:
        entry = msgspec.convert({**base, **table} if isinstance(table, dict) else table, _Entry)
    except (msgspec.ValidationError, ValueError) as error:
        expected = "key or sha256, and numbers: connections, requests_per_minute, tokens_per_minute"
        raise ConfigError(where, name, expected, got=_field_of(error)) from None
    is_digest = len(entry.sha256) == 64 and all(sign in "0123456789abcdefABCDEF" for sign in entry.sha256)
    if bool(entry.key) == bool(entry.sha256) or (entry.sha256 and not is_digest):
        raise ConfigError(where, name, "either key, or sha256 with 64 hex digits")
    own = KeyLimits(**{field: getattr(entry, field) for field in KeyLimits.__struct_fields__})
    return ApiKey(name, entry.key, entry.sha256, own)


def _field_of(error: Exception) -> str:
    """The place of a misfit (`$.connections`), without the value."""
    _, _, place = str(error).partition(" - at `")
    return f"a misfit at {place.rstrip('`')}" if place else "a misfit"
