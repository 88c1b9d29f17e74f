"""The tool port: what the agent's loop knows of a tool.

A tool gets decoded arguments and a context, and returns a `ToolResult`. It never raises anything but
`asyncio.CancelledError`: a refusal is a `ToolError` inside the family, turned into a result by `Toolbox.run`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, Protocol

import msgspec

Kind = Literal["read", "edit", "command", "note", "mcp", "mcp_read"]
"""What a tool may do, for approvals: read files, edit files, run commands, or only keep a note (the plan); `mcp`:
whatever a tool of an MCP server does, `mcp_read`: one that is declared to only read, and to stay in the house."""

ResultStatus = Literal["ok", "error", "denied", "timeout", "cancelled"]


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A function tool as the model sees it. `parameters` is a flat JSON Schema object.

    `foreign`: it is another program's, which checks the arguments; its schema is any JSON Schema of an object.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    kind: Kind
    foreign: bool = False


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool did.

    `output` is the text for the model. `summary` is one line for a person ("3 failed, 21 passed"). `files_changed` are
    paths relative to the first root. `diff` is a unified diff of what was edited, "" if nothing was. `data` holds the
    same facts in structured form for hosts (`checks`: counts and failures); each family documents its keys.
    """

    output: str
    status: ResultStatus = "ok"
    summary: str = ""
    files_changed: tuple[str, ...] = ()
    diff: str = ""
    data: Mapping[str, Any] = msgspec.field(default_factory=dict)


class ToolContext(msgspec.Struct, kw_only=True):
    """What one tool run may use. `progress` takes a line for a person while the tool runs; it never blocks. `ask` puts
    a question with options to the user and waits; its answer None: nobody gave one. None: nobody can be asked."""

    tool_call: str
    progress: Callable[[str], None] = lambda line: None
    ask: Callable[[str, tuple[str, ...]], Awaitable[str | None]] | None = None


class Tool(Protocol):
    @property
    def spec(self) -> ToolSpec: ...

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Do it. Raises ToolError for a refusal and CancelledError when cancelled, nothing else."""
