"""A stored session, told again: what was said and done, as updates. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from lsp_server.acp import tool_calls as calls
from lsp_server.acp.lines import Json
from lsp_server.acp.tool_calls import Placed
from lsp_server.acp.updates import message
from lsp_server.protocol.methods import Entry

ROLES = {"user": "user", "assistant": "agent"}


def replayed(entries: Iterable[Entry], placed: Placed) -> list[Json]:
    """Oldest first."""
    return [_update(entry, placed) for entry in entries if entry.kind == "tool" or entry.text]


def _update(entry: Entry, placed: Placed) -> Json:
    if entry.kind in ROLES:
        return message(entry.text, ROLES[entry.kind])
    arguments = calls.arguments_of(entry.arguments)
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": entry.tool_call_id,
        "title": calls.title_of(entry.name, arguments),
        "kind": calls.kind_of(entry.name),
        "status": "completed",
        "rawInput": arguments,
        "locations": calls.places_of(arguments, placed),
        "content": [calls.text_content(entry.text)] if entry.text else [],
    }
