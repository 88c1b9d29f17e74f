"""How the tools of a server are called here: `mcp__SERVER__TOOL`, in characters that model services take. Pure.

A server can choose any name for its tools; here it can neither take the name of another tool nor of another server's.
"""

from __future__ import annotations

import hashlib
import re

PREFIX = "mcp__"
MAX_NAME = 64
"""Characters of a function's name that model services take."""

SERVER_NAME = re.compile(r"[a-z0-9]+(?:[_-][a-z0-9]+)*\Z")
MAX_SERVER_NAME = 24

_ODD = re.compile(r"[^A-Za-z0-9_-]")


def is_server_name(name: str) -> bool:
    """Lower-case letters, digits, single `-` or `_` between them, so that the parts of a tool's name can be told."""
    return len(name) <= MAX_SERVER_NAME and SERVER_NAME.match(name) is not None


def tool_name(server: str, tool: str) -> str:
    """The name here. A name with other characters, or too long, gets a part of its digest, so it stays its own."""
    plain = _ODD.sub("_", tool)
    room = MAX_NAME - len(PREFIX) - len(server) - 2
    if plain != tool or len(plain) > room or not plain:
        digest = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        plain = f"{plain[: room - 9]}_{digest}"
    return f"{PREFIX}{server}__{plain}"


def server_of(name: str) -> str | None:
    """The server that a tool belongs to; None for tools of our own."""
    if not name.startswith(PREFIX):
        return None
    server, parted, tool = name.removeprefix(PREFIX).partition("__")
    return server if parted and tool else None
