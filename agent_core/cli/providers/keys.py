"""`loopline auth`: keys in and out of safe-keeping; they are read from standard input and never shown."""

from __future__ import annotations

import getpass
import sys

from agent_core.cli.console import make_console
from agent_core.config.load import load
from agent_core.config.settings import Settings
from agent_core.errors import UsageError
from agent_core.keys import Keys
from agent_core.providers import PROVIDERS, provider_of
from agent_core.telemetry.display import clean
from agent_core.variables import variables


def read_secret(what: str) -> str:
    """One line from standard input; on a terminal it is asked for without echo."""
    if sys.stdin.isatty():
        return getpass.getpass(clean(f"{what}: "))
    return sys.stdin.readline()


def set_key(provider: str, base_url: str | None) -> None:
    """`base_url` None: the address that the user's own settings name, else the provider's."""
    env = variables()
    keys = Keys(env)
    if base_url is None:
        base_url = _address(provider, load(env=env).settings)
    keys.set(provider, read_secret(f"key of {provider}"), base_url)
    text = f"The key of {provider} is kept in {keys.where}{_bound(keys, provider)}."
    make_console().print(text, soft_wrap=True)


def _address(provider: str, settings: Settings) -> str | None:
    """Where the key goes: for `openai` the user's own `base_url`, for others what their profile or table says."""
    if provider == "openai" and settings.base_url:
        return settings.base_url
    if provider in PROVIDERS or provider in settings.providers:
        return provider_of(provider, settings.providers).base_url or None
    return None


def show_key(provider: str) -> int:
    keys = Keys(variables())
    source = keys.source(provider)
    console = make_console()
    if source is None:
        console.print(f"No key of {provider} is set: `loopline auth set {provider}`")
        return 1
    bound = "" if source.startswith("variable ") else _bound(keys, provider)
    console.print(f"The key of {provider} comes from {source}{bound}.", soft_wrap=True)
    return 0


def _bound(keys: Keys, provider: str) -> str:
    origin = keys.origin(provider)
    return f" and goes to {origin} alone" if origin else ""


def remove_key(provider: str) -> None:
    if not Keys(variables()).remove(provider):
        raise UsageError(f"no key of {provider} is kept")
