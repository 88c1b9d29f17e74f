"""An approval: what is asked of a person before a tool call may run, and what they may answer. Records, no I/O."""

from __future__ import annotations

from typing import Literal

import msgspec

Decision = Literal["allow", "always", "deny"]


class Approval(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An open approval, as every front end and the control socket carry it."""

    approval_id: str
    session_id: str
    turn_id: str
    kind: str
    """Kind of the tool (`agent_core.tools.port.Kind`): `command`, `edit`, `mcp`, …"""
    name: str
    """The tool's name."""
    subject: str
    """What is asked for, e.g. the whole command line: content, which stays on the machine."""
    rule: str = ""
    """Why it is asked, in words."""
    always: bool = True
    """False: an answer "always" would count for this time only, so it is not offered."""
    tool_call_id: str = ""
    """The call that waits for it; empty where an older process asks."""
    opened: str = ""
    """Since when, RFC 3339."""
