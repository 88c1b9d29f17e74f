"""What a user can say with a slash, and is no task of its own. Pure.

A word behind a slash that is none of these is part of what was said: it may be a path, or a client's own command.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from lsp_server.acp.lines import Json

Name = Literal["plan", "undo", "redo", "compact"]
_COMMANDS: dict[Name, tuple[str, str]] = {
    "plan": ("Plan only: nothing is changed, the answer is a plan.", "what to plan"),
    "undo": ("Take back what the latest turn did to files.", ""),
    "redo": ("Take the latest undoing back.", ""),
    "compact": ("Make the conversation shorter.", ""),
}
"""What it does, and what it takes; "": nothing."""


class Told(msgspec.Struct, frozen=True):
    """A command with what stands behind it."""

    name: Name
    about: str


def command_of(task: str) -> Told | None:
    """None: it is a task. A command without what it takes is a task too, and so is one that takes nothing with words
    behind it."""
    said, _, rest = task.strip().partition(" ")
    for name, (_, takes) in _COMMANDS.items():
        if said == f"/{name}" and bool(takes) == bool(rest.strip()):
            return Told(name, rest.strip())
    return None


def available() -> Json:
    """The commands as an update."""
    listed: list[Json] = []
    for name, (what, takes) in _COMMANDS.items():
        listed.append({"name": name, "description": what, **({"input": {"hint": takes}} if takes else {})})
    return {"sessionUpdate": "available_commands_update", "availableCommands": listed}
