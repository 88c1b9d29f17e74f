"""Keys of providers: set and asked for by requests whose bodies are never logged. A key is never a setting."""

from __future__ import annotations

import asyncio
from typing import Literal

from agent_core.config.load import load
from agent_core.errors import ConfigError
from agent_core.keys import DEFAULT_URLS, VARIABLES, Keys
from lsp_server.editor import Editor
from lsp_server.protocol.methods import AuthProvider, AuthSet, AuthStatus, Nothing
from lsp_server.rpc.routes import Routes

Where = Literal["environment", "keyring", "file", "none"]


def register(editor: Editor, routes: Routes) -> None:
    async def set_key(asked: AuthSet) -> AuthStatus:
        found = await asyncio.to_thread(_set, editor, asked)
        editor.settings_changed()
        return found

    async def status(asked: Nothing) -> AuthStatus:
        return await asyncio.to_thread(_status, Keys(editor.process.env), "openai")

    routes.on_request("loopline/auth.set", AuthSet, set_key)
    routes.on_request("loopline/auth.status", Nothing, status)


def _set(editor: Editor, asked: AuthSet) -> AuthStatus:
    keys = Keys(editor.process.env)
    if asked.key:
        keys.set(asked.provider, asked.key, _address(editor) if asked.provider in DEFAULT_URLS else None)
    else:
        keys.remove(asked.provider)
    return _status(keys, asked.provider)


def _address(editor: Editor) -> str | None:
    """The service that the user's own settings name; None for none. The key goes to it alone."""
    try:
        given = editor.settings.flags.get("base_url") or load(env=editor.process.env).settings.base_url
    except ConfigError:
        return None
    return given if isinstance(given, str) and given else None


def _status(keys: Keys, asked: str) -> AuthStatus:
    """Of the providers that have a variable, and of the one that was asked for."""
    names = dict.fromkeys(["openai", *(name for name in VARIABLES if name != "hub"), asked])
    return AuthStatus(providers=tuple(_provider(keys, name) for name in names))


def _provider(keys: Keys, name: str) -> AuthProvider:
    source = keys.source(name)
    where: Where = "none"
    if source is not None:
        where = "environment" if source.startswith("variable ") else "file" if source.startswith("/") else "keyring"
    return AuthProvider(provider=name, present=source is not None, where=where)
