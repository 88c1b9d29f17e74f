"""Keys and tokens of the user: the system's keyring where there is one, else a file that only the user can read.

A name is a provider (`openai`, `upstream`, …) or `hub`. A kept key belongs to one origin (scheme, host and port), that
of the address it was set for, and is handed out for no other; a variable is its user's word for whatever address they
name beside it. Values are never logged, printed or put into settings. The keyring is the optional package `keyring`;
the file is `keys.json` in the configuration folder, mode 0600.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from agent_core.config.paths import config_dir
from agent_core.errors import StateError, UsageError
from agent_core.providers import PROVIDERS

SERVICE = "loopline"
VARIABLES: Mapping[str, str] = {
    **{name: provider.key_env for name, provider in PROVIDERS.items() if provider.key_env},
    "upstream": "LOOPLINE_UPSTREAM_KEY",
    "hub": "LOOPLINE_HUB_TOKEN",
}
"""Environment variables that win over what is kept."""

DEFAULT_URLS: Mapping[str, str] = {name: provider.base_url for name, provider in PROVIDERS.items() if provider.base_url}
"""Where a provider's key goes if no address is named."""

_PORTS: Mapping[str, int] = {"http": 80, "https": 443}
_SCHEMES: Mapping[str, str] = {"ws": "http", "wss": "https"}
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}\Z")


class _Kept(msgspec.Struct, frozen=True):
    """`origin` "": it was kept before origins were, or for whatever address its one user sets."""

    key: str
    origin: str


def origin_of(url: str) -> str:
    """Scheme, host and port of an address, in one form; "" for what is none."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    scheme = _SCHEMES.get(parts.scheme, parts.scheme)
    if scheme not in _PORTS or not parts.hostname:
        return ""
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{scheme}://{host}" + ("" if port in (None, _PORTS[scheme]) else f":{port}")


class Keys:
    """What is kept for one user. `where` says in words where that is."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._file = config_dir(env) / "keys.json"
        self._ring = _keyring(env)
        self.where = "the system's keyring" if self._ring is not None else str(self._file)

    def get(self, name: str, url: str, *, variable: str | None = None) -> str | None:
        """The key that goes to `url`: the variable's value, else the kept one if it was set for that origin.
        `variable` None: the one that is known by that name."""
        value = self._env.get(VARIABLES.get(name, "") if variable is None else variable, "").strip()
        if value:
            return value
        kept = self._kept(name)
        if kept is None:
            return None
        bound = kept.origin or origin_of(DEFAULT_URLS.get(name, url))
        return kept.key if bound == origin_of(url) else None

    def origin(self, name: str) -> str | None:
        """The origin that a kept key was set for, "" where none was named; None if none is kept."""
        kept = self._kept(name)
        return None if kept is None else kept.origin or origin_of(DEFAULT_URLS.get(name, ""))

    def set(self, name: str, value: str, url: str | None = None) -> None:
        """Keep `value` for the origin of `url`; None: that of the provider.

        Raises UsageError for a name, value or address that can't be, StateError if it can't be written.
        """
        if not _NAME.match(name):
            raise UsageError(f"{name!r} is no provider's name", hint="lower-case letters, digits and - _ . are")
        if not value.strip() or any(ord(character) < 33 or ord(character) == 127 for character in value.strip()):
            raise UsageError("the key is empty or has spaces or control characters in it")
        origin = origin_of(url or DEFAULT_URLS.get(name, ""))
        if url and not origin:
            raise UsageError(f"{url[:100]!r} is no address", hint="https://host/v1 is one")
        kept = _Kept(value.strip(), origin)
        if self._ring is not None:
            self._ring.set_password(SERVICE, name, msgspec.json.encode(kept).decode())
        else:
            self._write({**self._read(), name: kept})

    def remove(self, name: str) -> bool:
        """Forget it; False if nothing was kept."""
        if self._ring is not None:
            if self._ring.get_password(SERVICE, name) is None:
                return False
            self._ring.delete_password(SERVICE, name)
            return True
        kept = self._read()
        if name not in kept:
            return False
        del kept[name]
        self._write(kept)
        return True

    def source(self, name: str) -> str | None:
        """Where `get` finds it, in words; None if it is not set."""
        variable = VARIABLES.get(name, "")
        if self._env.get(variable, "").strip():
            return f"variable {variable}"
        return self.where if self._kept(name) is not None else None

    def _kept(self, name: str) -> _Kept | None:
        if self._ring is None:
            found = self._read().get(name)
        else:
            found = self._ring.get_password(SERVICE, name)
            if isinstance(found, str) and found.startswith("{"):
                found = _kept_of(found)
        return _Kept(found, "") if isinstance(found, str) else found

    def _read(self) -> dict[str, str | _Kept]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, str | _Kept])
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise StateError(f"cannot read {self._file}: {error.strerror}") from error
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise StateError(
                f"{self._file} is damaged", hint="move it away and set the keys again: loopline auth set NAME"
            ) from error

    def _write(self, kept: Mapping[str, str | _Kept]) -> None:
        temporary = self._file.with_name(f"{self._file.name}.{os.getpid()}")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.json.encode(kept))
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(self._file)
        except OSError as error:
            raise StateError(f"cannot write {self._file}: {error.strerror}") from error


def _kept_of(text: str) -> _Kept:
    try:
        return msgspec.json.decode(text, type=_Kept)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise StateError(
            "a key in the system's keyring is damaged", hint="set it again: loopline auth set NAME"
        ) from error


def _keyring(env: Mapping[str, str]) -> Any:
    """The keyring module with a backend that works, else None. `LOOPLINE_KEYRING=off` leaves it out."""
    if env.get("LOOPLINE_KEYRING") == "off":
        return None
    try:
        import keyring
        from keyring.backends import fail
    except ImportError:
        return None
    return None if isinstance(keyring.get_keyring(), fail.Keyring) else keyring
