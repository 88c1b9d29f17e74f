"""An editor for tests: documents with versions, typing, and `workspace/applyEdit` as real editors do it.

Positions are counted here once more, from the bytes of each encoding, apart from the server's own code.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from tests.support.lsp.client import Json, LspClient

Manner = Literal["strict", "false_true", "slip", "refuse", "ignore"]
"""What becomes of a versioned edit for an older text: refused (VS Code), skipped but called applied (Neovim), or
applied all the same (a race in VS Code's client). `refuse` and `ignore` do so whatever the version."""

_UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
_LINES = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")


class Buffer:
    """One open document."""

    def __init__(self, uri: str, text: str, version: int = 1, language: str = "python") -> None:
        self.uri, self.text, self.version, self.language = uri, text, version, language


class Editor:
    """Open documents of one client. Install it with `attach`; `delays_changes` holds `didChange` back until `flush`."""

    def __init__(self, client: LspClient, encoding: str = "utf-16", manner: Manner = "strict") -> None:
        self.client, self.encoding, self.manner = client, encoding, manner
        self.buffers: dict[str, Buffer] = {}
        self.edits: list[Json] = []
        """Every `applyEdit` as it came."""
        self.before_edit: Any = None
        """Called with the buffer when an edit came in, before it is looked at."""
        self.after_edit: Any = None
        self.delays_changes = False
        self._held: list[Json] = []
        self._base: dict[str, str] = {}

    def attach(self) -> Editor:
        self.client.handlers["workspace/applyEdit"] = self._apply
        return self

    # What the user does

    async def open(self, target: Path | str, text: str | None = None, language: str = "python") -> Buffer:
        """Open a file, or a document with a URI of its own; `text` None: what the file holds."""
        uri = target if isinstance(target, str) else target.as_uri()
        if text is None:
            assert isinstance(target, Path)
            text = target.read_bytes().decode("utf-8")
        buffer = self.buffers[uri] = Buffer(uri, text, language=language)
        item = {"uri": uri, "languageId": language, "version": 1, "text": text}
        await self.client.notify("textDocument/didOpen", {"textDocument": item})
        return buffer

    async def type(self, buffer: Buffer, offset: int, text: str, remove: int = 0) -> None:
        """The user inserts `text` at `offset`, in place of `remove` characters."""
        change = {
            "range": {"start": self.position(buffer, offset), "end": self.position(buffer, offset + remove)},
            "text": text,
        }
        buffer.text = buffer.text[:offset] + text + buffer.text[offset + remove :]
        await self._changed(buffer, [change])

    async def save(self, buffer: Buffer) -> None:
        if buffer.uri.startswith("file:"):
            Path(buffer.uri.removeprefix("file://")).write_bytes(buffer.text.encode("utf-8"))
        await self.client.notify("textDocument/didSave", {"textDocument": {"uri": buffer.uri}})

    async def close(self, buffer: Buffer) -> None:
        del self.buffers[buffer.uri]
        await self.client.notify("textDocument/didClose", {"textDocument": {"uri": buffer.uri}})

    async def flush(self) -> None:
        """Send the changes that were held back, as Neovim does after its debounce: one change for all of them."""
        held, self._held = self._held, []
        for message in held:
            await self.client.notify("textDocument/didChange", message)

    # Positions

    def position(self, buffer: Buffer, offset: int) -> Json:
        lines = _LINES.split(buffer.text[:offset])
        codec, size = _UNITS[self.encoding]
        # a \\r\\n cut in two by `offset` is still one line end
        if buffer.text[offset - 1 : offset + 1] == "\r\n":
            lines = lines[:-1]
        return {"line": len(lines) - 1, "character": len(lines[-1].encode(codec, "surrogatepass")) // size}

    def offset(self, text: str, position: Json) -> int:
        lines = _LINES.split(text)
        codec, size = _UNITS[self.encoding]
        line = position["line"]
        if line >= len(lines):
            return len(text)
        bare = lines[line].rstrip("\r\n")
        data = bare.encode(codec, "surrogatepass")[: position["character"] * size]
        # inside of a character: before it
        return sum(map(len, lines[:line])) + len(data.decode(codec, "ignore"))

    # What the server asks for

    async def _apply(self, params: Json) -> Json:
        self.edits.append(params)
        changes = params["edit"].get("documentChanges")
        if changes is None:
            (uri, edits), *rest = params["edit"]["changes"].items()
            version = None
        else:
            (change,) = changes
            uri, edits, version = change["textDocument"]["uri"], change["edits"], change["textDocument"]["version"]
        buffer = self.buffers[uri]
        if self.before_edit is not None:
            await self.before_edit(buffer)
        stale = version is not None and version != buffer.version
        if self.manner == "refuse":
            return {"applied": False, "failureReason": "read-only"}
        if self.manner == "ignore" or (stale and self.manner == "false_true"):
            return {"applied": True}
        if stale and self.manner == "strict":
            return {"applied": False}
        await self._edit(buffer, edits)
        if self.after_edit is not None:
            await self.after_edit(buffer)
        return {"applied": True}

    async def _edit(self, buffer: Buffer, edits: list[Json]) -> None:
        """All at once: positions are those before the edit."""
        text = buffer.text
        spans = [
            (self.offset(text, edit["range"]["start"]), self.offset(text, edit["range"]["end"]), edit) for edit in edits
        ]
        for start, end, edit in sorted(spans, key=lambda span: span[0], reverse=True):
            buffer.text = buffer.text[:start] + edit["newText"] + buffer.text[end:]
        changes = [{"range": edit["range"], "text": edit["newText"]} for _, _, edit in sorted(spans, key=_start)[::-1]]
        await self._changed(buffer, changes)

    async def _changed(self, buffer: Buffer, changes: list[Json]) -> None:
        buffer.version += 1
        identifier = {"uri": buffer.uri, "version": buffer.version}
        message = {"textDocument": identifier, "contentChanges": changes}
        if not self.delays_changes:
            await self.client.notify("textDocument/didChange", message)
        elif self._held and self._held[-1]["textDocument"]["uri"] == buffer.uri:
            self._held[-1] = {"textDocument": identifier, "contentChanges": [{"text": buffer.text}]}
        else:
            self._held.append({"textDocument": identifier, "contentChanges": [{"text": buffer.text}]})

    async def settle(self) -> None:
        """Until the server has everything: it answers a request behind it."""
        await self.client.command("loopline.session.list", {})


def _start(span: tuple[int, int, Any]) -> int:
    return span[0]
