"""MCP servers that a client brings, as the tables that our own settings have. Pure.

Our rules hold for them: their tools ask, as those of a server do that the user names without a word on approvals.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent_core.errors import UsageError
from agent_core.tools.mcp.names import MAX_SERVER_NAME
from agent_core.tools.mcp.settings import read_servers
from lsp_server.acp.sdk import Model, schema

_ODD = re.compile(r"[^a-z0-9]+")


def tables(servers: Sequence[Model] | None, folder: str) -> dict[str, Mapping[str, Any]]:
    """By the name that its tools get. Programs start in `folder`. Raises UsageError for a transport that we do not
    speak, ConfigError for a server that can't be."""
    found: dict[str, Mapping[str, Any]] = {}
    for server in servers or ():
        if isinstance(server, schema.McpServerStdio):
            env = {each.name: each.value for each in server.env}
            table: Mapping[str, Any] = {"command": [server.command, *server.args], "env": env, "cwd": folder}
        elif isinstance(server, schema.HttpMcpServer):
            table = {"url": server.url, "headers": {each.name: each.value for each in server.headers}}
        else:
            raise UsageError("MCP servers are reached over stdio or HTTP", code="unknown_transport")
        found[_name(server.name, found)] = table
    read_servers(found)
    return found


def _name(given: str, taken: Mapping[str, Any]) -> str:
    plain = _ODD.sub("-", given.lower()).strip("-")[: MAX_SERVER_NAME - 3].strip("-") or "server"
    return plain if plain not in taken else f"{plain}-{len(taken)}"
