"""The first message of a client, answered before the agent is loaded.

A client shows nothing until `initialize` is answered, and loading the agent and the protocol's SDK takes far longer
than starting the program. So this module stands on neither. A first message that is anything else waits for both.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Annotated, Any

import msgspec

from agent_core.errors import UsageError
from lsp_server.acp.lines import Json, read_line

PROTOCOL_VERSION = 1
KEY = "key"
"""The one way to sign in."""
MAX_FIRST_BYTES = 1 << 20
"""A longer first line is left to the agent."""


class Abilities(msgspec.Struct, frozen=True):
    """What a client offers: to read and to write files as its editor has them, to run commands in its terminals, and to
    put a form to its user."""

    reads: bool = False
    writes: bool = False
    terminals: bool = False
    forms: bool = False


class _Files(msgspec.Struct, rename="camel"):
    read_text_file: bool | None = None
    write_text_file: bool | None = None


class _Elicitation(msgspec.Struct):
    form: dict[str, Any] | None = None


class _Offered(msgspec.Struct):
    fs: _Files | None = None
    terminal: bool | None = None
    elicitation: _Elicitation | None = None


class _Initialize(msgspec.Struct, rename="camel"):
    protocol_version: Annotated[int, msgspec.Meta(ge=0, le=65_535)]
    client_capabilities: _Offered | None = None


def abilities_of(params: Any) -> Abilities:
    """Of the parameters of `initialize`. Raises UsageError where they are none."""
    try:
        offered = msgspec.convert(params, _Initialize).client_capabilities or _Offered()
    except msgspec.ValidationError:
        raise UsageError("these are no parameters of initialize") from None
    files = offered.fs or _Files()
    return Abilities(
        reads=bool(files.read_text_file),
        writes=bool(files.write_text_file),
        terminals=bool(offered.terminal),
        forms=offered.elicitation is not None and offered.elicitation.form is not None,
    )


def welcome() -> Json:
    """The answer to `initialize`: what there is, and no more."""
    mcp = importlib.util.find_spec("mcp") is not None
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentInfo": {"name": "loopline", "title": "Loopline", "version": version("loopline")},
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": False, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": mcp, "sse": False},
            "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "fork": {}, "additionalDirectories": {}},
        },
        "authMethods": [
            {
                "id": KEY,
                "name": "A key of your service",
                "description": "Kept by `loopline auth set openai`. The model `repair` needs none.",
            }
        ],
    }


class Opening:
    """Owns what a client sent first, until the agent reads on by `read`."""

    def __init__(self, source: Callable[[], Awaitable[bytes]]) -> None:
        self._source = source
        self._held = b""
        self.can: Abilities | None = None
        """None: `initialize` was not answered here."""

    async def answer(self) -> bytes:
        """The line that answers the first message; b"" where that is left to the agent."""
        while b"\n" not in self._held and len(self._held) <= MAX_FIRST_BYTES:
            data = await self._source()
            self._held += data
            if not data:
                return b""
        line, _, rest = self._held.partition(b"\n")
        message = read_line(line) if line.strip() and len(line) <= MAX_FIRST_BYTES else None
        if not isinstance(message, dict) or message.get("method") != "initialize" or message.get("id") is None:
            return b""
        try:
            self.can = abilities_of(message.get("params"))
        except UsageError:
            return b""
        self._held = rest
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": welcome()}
        return json.dumps(answer, separators=(",", ":")).encode() + b"\n"

    async def read(self) -> bytes:
        """What the agent is to read next; b"" at the end."""
        if self._held:
            held, self._held = self._held, b""
            return held
        return await self._source()
