"""The MCP servers of a session: their tools as the toolbox takes them, and their end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from agent_core.tools.mcp.server import McpTool, Place, Server
from agent_core.tools.mcp.settings import ServerSettings
from agent_core.tools.port import Tool


class Servers:
    """Nothing is started before `tools` is called."""

    def __init__(self, servers: Mapping[str, ServerSettings], around: Place) -> None:
        self.servers = tuple(Server(name, settings, around) for name, settings in servers.items())

    async def tools(self) -> Sequence[Tool]:
        """The tools of all servers that can be had, those of a server that may not be used left out."""
        used = [server for server in self.servers if server.settings.approve != "never"]
        offered = await asyncio.gather(*(server.tools() for server in used))
        return [McpTool(server, tool) for server, tools in zip(used, offered, strict=True) for tool in tools]

    async def close(self) -> None:
        await asyncio.gather(*(server.close() for server in self.servers))
