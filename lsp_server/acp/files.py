"""The client's file system as the tools' open documents: its unsaved text wins, and what it wrote is read again.

A client is asked for a file when a tool reads it. Its answer counts if it differs from the file on disk (the user has
changes that are not saved), or is the same to the letter (then the client writes, so that its editor follows). A file
that is no plain UTF-8, or whose line ends the client shows as others, is read and written by our own tools, so that
nothing of it is lost on the way. A client that does not answer is asked no more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from agent_core.errors import FileRefused, ToolError
from agent_core.tools.workspace.text import to_newlines
from agent_core.tools.workspace.workspace import MAX_TEXT_BYTES, UNCONFIRMED, OpenDocument
from agent_core.untrusted_files import read
from lsp_server.acp.greeting import Abilities
from lsp_server.acp.sdk import ClientLost, Peer, RequestError, schema

ANSWER_S = 10.0
"""How long a client may take for one file."""
MAX_SILENCES = 2
_BOM = b"\xef\xbb\xbf"


class ClientFiles:
    """Implements `agent_core.tools.workspace.workspace.Documents` for one session. Owns what the client last said of
    each file."""

    def __init__(self, peer: Peer, can: Abilities) -> None:
        self._peer, self._can = peer, can
        self.session_id = ""
        """Known once the session is."""
        self._known: dict[str, OpenDocument] = {}
        self._versions: dict[str, int] = {}
        self._silences = 0

    def get(self, path: str) -> OpenDocument | None:
        return self._known.get(path)

    def opened(self) -> Mapping[str, OpenDocument]:
        """Of those that were asked for: the protocol has no list of open files."""
        return {path: document for path, document in self._known.items() if document.unsaved}

    async def look(self, path: str) -> None:
        """Ask the client what the file holds now."""
        if self._silences >= MAX_SILENCES:
            self._known.clear()
            return
        content = await self._read(path)
        saved = None if content is None else await asyncio.to_thread(_saved, path)
        self._keep(path, content, saved)

    async def replace(self, path: str, base_version: int, content: str) -> bool:
        if not self._can.writes or self._versions.get(path) != base_version:
            return False
        base = self._known.get(path)
        if base is None or await self._read(path) != base.content:
            return False
        asked = {"sessionId": self.session_id, "path": path, "content": content}
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._peer.ask("fs/write_text_file", asked, schema.WriteTextFileResponse)
        except RequestError:
            return False
        except (ClientLost, TimeoutError):
            raise _unconfirmed(path) from None
        if await self._read(path) != content:
            raise _unconfirmed(path)
        self._versions[path] = base_version + 1
        self._known[path] = OpenDocument(content, base_version + 1, False)
        return True

    def _keep(self, path: str, content: str | None, saved: bytes | None) -> None:
        before = self._known.pop(path, None)
        if content is None:
            return
        if saved is not None:
            text = _plain(saved)
            if text is None or (text != content and to_newlines(text) == to_newlines(content)):
                return
            unsaved = text != content
        else:
            unsaved = True
        if not unsaved and not self._can.writes:
            return
        version = self._versions.get(path, 0)
        if before is None or before.content != content:
            version += 1
        self._versions[path] = version
        self._known[path] = OpenDocument(content, version, unsaved)

    async def _read(self, path: str) -> str | None:
        """None: the client has no such file, refuses it, or is silent."""
        asked = {"sessionId": self.session_id, "path": path}
        try:
            async with asyncio.timeout(ANSWER_S):
                answer = await self._peer.ask("fs/read_text_file", asked, schema.ReadTextFileResponse)
        except (RequestError, ClientLost):
            return None
        except TimeoutError:
            self._silences += 1
            return None
        self._silences = 0
        return answer.content if len(answer.content) <= MAX_TEXT_BYTES else None


def _saved(path: str) -> bytes | None:
    """What is on disk; None if there is no such file, or no tool would read it."""
    place = Path(path)
    try:
        return read(place.parent, place.name, MAX_TEXT_BYTES)
    except FileRefused as refused:
        return None if refused.code == "not_found" else b"\xff"


def _plain(data: bytes) -> str | None:
    if data.startswith(_BOM):
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _unconfirmed(path: str) -> ToolError:
    name = Path(path).name
    return ToolError(f"the editor did not show the edit of {name}; read it before going on", code=UNCONFIRMED)
