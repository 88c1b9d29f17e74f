"""What others changed in files that the model has seen, to tell before its next turn: it never works on old text."""

from __future__ import annotations

import msgspec

from agent_core.errors import ToolError
from agent_core.tools.files.edit import changes_since
from agent_core.tools.workspace.workspace import Workspace


class OutsideChange(msgspec.Struct, frozen=True):
    """`note` is for the model: the difference, the new text, or that the file is gone."""

    path: str
    note: str


async def outside_changes(workspace: Workspace) -> list[OutsideChange]:
    """Changes since the model last saw each file, by path; they count as seen afterwards."""
    found: list[OutsideChange] = []
    for at in workspace.seen_places():
        try:
            file = await workspace.read(at)
        except ToolError as error:
            workspace.forget(at)
            found.append(OutsideChange(at.shown, f"{error.message}."))
            continue
        before = workspace.seen(file)
        if before is not None:
            workspace.note_seen(file)
            found.append(OutsideChange(at.shown, changes_since(before, file)))
    return sorted(found, key=lambda change: change.path)
