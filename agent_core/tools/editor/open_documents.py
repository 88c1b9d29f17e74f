"""The tool `open_documents`: which files the user has open in the editor. Offered where there is an editor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_core.errors import ToolError
from agent_core.tools import schema
from agent_core.tools.port import ToolContext, ToolResult, ToolSpec
from agent_core.tools.workspace.roots import Location
from agent_core.tools.workspace.text import split_lines
from agent_core.tools.workspace.workspace import Documents, Workspace

MAX_SHOWN = 100


class OpenDocumentsTool:
    """`open_documents`: `<path> lines=<n> version=<v>` each, with `unsaved` where the buffer differs from disk; then
    the count. What lies outside of the workspace or is closed to tools is not told."""

    spec = ToolSpec(
        name="open_documents",
        description="The user's open files; which have unsaved text.",
        parameters=schema.parameters({}),
        kind="read",
    )

    def __init__(self, workspace: Workspace, documents: Documents) -> None:
        self._workspace, self._documents = workspace, documents

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        found = []
        for path, document in self._documents.opened().items():
            if (at := self._place(path)) is not None:
                found.append((at.shown, document))
        found.sort(key=lambda entry: entry[0])
        lines = [
            f"{shown} lines={len(split_lines(document.content))} version={document.version}"
            + (" unsaved" if document.unsaved else "")
            for shown, document in found[:MAX_SHOWN]
        ]
        unsaved = sum(document.unsaved for _, document in found)
        more = f" (the first {MAX_SHOWN} are shown)" if len(found) > MAX_SHOWN else ""
        lines.append(f"{len(found)} open, {unsaved} unsaved{more}")
        return ToolResult(output="\n".join(lines), summary=lines[-1], data={"open": len(found), "unsaved": unsaved})

    def _place(self, path: str) -> Location | None:
        """Where a buffer lies, if tools may know."""
        try:
            at = self._workspace.resolve(path)
            self._workspace.check_open(at)
        except ToolError:
            return None
        return at
