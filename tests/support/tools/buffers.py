"""A host with open buffers: what a language server offers the workspace, kept in memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agent_core.tools.workspace.workspace import OpenDocument


class Buffers:
    """Open documents by absolute path. `deaf`: the host takes edits no more. Saving writes to disk."""

    def __init__(self) -> None:
        self._open: dict[str, OpenDocument] = {}
        self.deaf = False

    def open(self, path: Path, content: str, *, unsaved: bool = True) -> None:
        self._open[str(path)] = OpenDocument(content, 1, unsaved)

    def type(self, path: Path, content: str) -> None:
        """The user changes the buffer."""
        self._open[str(path)] = OpenDocument(content, self._open[str(path)].version + 1, True)

    async def look(self, path: str) -> None:
        """All of it is known."""

    def get(self, path: str) -> OpenDocument | None:
        return self._open.get(path)

    def opened(self) -> Mapping[str, OpenDocument]:
        return self._open

    async def replace(self, path: str, base_version: int, content: str) -> bool:
        document = self._open.get(path)
        if self.deaf or document is None or document.version != base_version:
            return False
        self._open[path] = OpenDocument(content, base_version + 1, False)
        Path(path).write_text(content)
        return True
