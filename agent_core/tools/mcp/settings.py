"""What the user says of an MCP server: one table `[mcp.NAME]` of their own settings file. Never from a workspace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from agent_core.config.settings import Approve
from agent_core.errors import ConfigError
from agent_core.tools.mcp.names import MAX_SERVER_NAME, is_server_name

MAX_SERVERS = 16
WHERE = "settings"


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of `command` and `url` is set.

    `approve` is the policy of this server: `ask`: its tools ask, but for those that it declares read-only and closed to
    the outside; `auto`: nothing asks; `never`: nothing runs. `tools` names the tools that are offered, None: all.
    """

    command: tuple[str, ...] = ()
    """The program and its arguments; it speaks MCP over its standard input and output."""
    cwd: str | None = None
    """Where it runs; None: the user's home."""
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Variables for it. Of the user's own it gets what commands get."""
    pass_env: tuple[str, ...] = ()
    """Names of the user's variables that it gets beside these, keys too."""
    url: str | None = None
    """Address of its streamable HTTP endpoint."""
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    bearer_env: str | None = None
    """Name of the variable that holds its access token."""
    approve: Approve = "ask"
    tools: tuple[str, ...] | None = None
    enabled: bool = True
    start_s: float = 20.0
    """Longest time from the start until its tools are known."""
    call_s: float = 120.0
    """Longest time of one call."""

    @property
    def transport(self) -> Literal["stdio", "http"]:
        return "stdio" if self.command else "http"

    def described(self) -> str:
        """For people; without arguments' values that could be secrets: the program, or the address without a query."""
        if self.command:
            return f"stdio, {self.command[0]}"
        address = urlsplit(self.url or "")
        return f"http, {address.scheme}://{address.hostname or ''}{f':{address.port}' if address.port else ''}"


def read_servers(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, ServerSettings]:
    """The servers that are switched on, by name. Raises ConfigError that names the key."""
    if len(tables) > MAX_SERVERS:
        raise ConfigError(WHERE, "mcp", f"at most {MAX_SERVERS} servers", got=str(len(tables)))
    found = {name: _read(name, table) for name, table in tables.items()}
    return {name: server for name, server in found.items() if server.enabled}


def _read(name: str, table: Mapping[str, Any]) -> ServerSettings:
    key = f"mcp.{name[:40]}"
    if not is_server_name(name):
        expected = f"a name of lower-case letters, digits, `-` and single `_`, at most {MAX_SERVER_NAME} characters"
        raise ConfigError(WHERE, key, expected)
    try:
        server = msgspec.convert(table, ServerSettings)
    except msgspec.ValidationError as error:
        raise ConfigError(WHERE, key, "a table that describes an MCP server", got=str(error)) from None
    if bool(server.command) == bool(server.url):
        raise ConfigError(WHERE, key, "either `command` (a list) or `url`")
    if server.url is not None:
        _check_url(key, server)
    for limit, value, most in (("start_s", server.start_s, 300.0), ("call_s", server.call_s, 3600.0)):
        if not 0 < value <= most:
            raise ConfigError(WHERE, f"{key}.{limit}", f"a number of seconds up to {most:g}", got=str(value))
    return server


def _check_url(key: str, server: ServerSettings) -> None:
    try:
        address = urlsplit(server.url or "")
        host = address.hostname
    except ValueError:
        host = None
    if host is None or address.scheme not in ("http", "https"):
        raise ConfigError(WHERE, f"{key}.url", "a URL that starts with http:// or https://")
    secret = bool(server.bearer_env or server.headers or address.username)
    if secret and address.scheme == "http" and host not in ("localhost", "127.0.0.1", "::1"):
        raise ConfigError(WHERE, f"{key}.url", "https:// where a token or headers are sent")
