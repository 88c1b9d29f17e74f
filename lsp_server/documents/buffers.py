"""The open documents of one editor as the tools' `Documents` port: what they hold, and how they are changed.

An open document is what tools read and edit, saved or not. A clean one that somebody rewrote on disk is stale until
the editor loads it again, so then the disk counts. After an edit the file is saved by our plugin; without one, and if
the document held nothing unsaved, the same change is written to disk by us, so that tests run on what the user sees. An
edit that the editor shows late is finished in the same way once it does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from lsprotocol import types as lsp

from agent_core.errors import FileRefused, ToolError
from agent_core.tools.workspace import disk, text
from agent_core.tools.workspace.workspace import MAX_TEXT_BYTES, UNCONFIRMED, OpenDocument
from agent_core.untrusted_files import read
from lsp_server.client import Client
from lsp_server.documents import merge
from lsp_server.documents.documents import Document, Documents
from lsp_server.documents.edits import Editing
from lsp_server.documents.late import LateEdits

Signature = tuple[int, int, int]
LOOKS = 3
"""How often a file is compared that is being written at the same time."""


class _Disk(msgspec.Struct):
    """What is known of a document's file: its state when both were last equal, and the last comparison."""

    equal_at: Signature | None = None
    compared: tuple[Signature | None, int] | None = None
    equal: bool = False
    told: bool = False


class Buffers:
    """Implements `agent_core.tools.workspace.workspace.Documents` for one client. `roots` gives the present
    folders, `label` what an edit is called in the editor, and `edited` is told which lines one came to; what is left
    to do for a late edit is done by `spawn`."""

    def __init__(
        self,
        client: Client,
        documents: Documents,
        roots: Callable[[], Iterable[Path]],
        label: Callable[[], str],
        edited: Callable[[Document, int, int], None],
        spawn: Callable[[Coroutine[Any, Any, None], str], object],
    ) -> None:
        self._client, self._documents, self._roots, self._label = client, documents, roots, label
        self._editing = Editing(client, documents, edited)
        self._late, self._spawn = LateEdits(documents), spawn
        self._disks: dict[str, _Disk] = {}
        self._given: dict[str, tuple[int, str]] = {}

    def opened_now(self, document: Document) -> None:
        """It was opened: remember whether it is what the file holds."""
        self._disks[document.uri] = _Disk()
        self._in_sync(document)

    def saved_now(self, document: Document) -> None:
        document.edited = False
        self._disks[document.uri] = _Disk()
        self._in_sync(document)

    def closed_now(self, document: Document) -> None:
        self._late.forget(document)
        self._disks.pop(document.uri, None)

    def reloaded(self, document: Document) -> Signature | None:
        """The state of its file, if the document's last change made it equal to a file that somebody changed: the
        editor loaded it again, or the user saved that change before we came to hear of it. None: neither."""
        known = self._disks.setdefault(document.uri, _Disk())
        was_equal = known.equal_at
        return known.equal_at if self._in_sync(document) and known.equal_at != was_equal else None

    def compare(self, document: Document) -> None:
        """Its file may have changed: say so if both did."""
        self._state(document)

    async def look(self, path: str) -> None:
        """The editor tells of every change by itself."""

    def get(self, path: str) -> OpenDocument | None:
        document = self._find(path)
        if document is None:
            return None
        found = self._state(document)
        if found is not None:
            self._given[document.uri] = (found.version, found.content)
        return found

    def opened(self) -> Mapping[str, OpenDocument]:
        found = {}
        for document in self._documents.all():
            path = self._pseudo_path(document) if document.path is None else document.path
            if path is not None and (state := self._state(document)) is not None:
                found[path] = state
        return found

    def unsaved(self) -> bool:
        """Whether a document of the workspace holds what its file does not."""
        return any(document.edited and self.path_for(document) is not None for document in self._documents.all())

    async def replace(self, path: str, base_version: int, content: str) -> bool:
        document = self._find(path)
        if document is None:
            return False
        version, base = self._given.get(document.uri, (document.version, document.text))
        if version != base_version:
            return False
        clean = document.path is not None and self._in_sync(document)
        self._late.forget(document)
        try:
            if not await self._editing.replace(document, base, content, self._label()):
                return False
        except ToolError as error:
            if error.code == UNCONFIRMED:
                rest = partial(self._finish, document, base, content, clean)
                self._late.expect(document, base, content, lambda: self._spawn(rest(), "finish a late edit"))
            raise
        await self._finish(document, base, content, clean)
        return True

    async def _finish(self, document: Document, base: str, content: str, clean: bool) -> None:
        """Bring an edit that is in the text to its file. `clean`: the file was as the document before."""
        if document.path is not None and not await self._client.save([document.uri]):
            self._write(document, base, content, clean)

    def path_for(self, document: Document) -> str | None:
        """The path that tools know a document by; None if it lies in no folder of the workspace."""
        path = document.path or self._pseudo_path(document)
        inside = path is not None and any(path.startswith(f"{root}/") for root in self._roots())
        return path if inside else None

    def _find(self, path: str) -> Document | None:
        found = self._documents.at(path)
        if found is not None:
            return found
        name = os.path.basename(path)  # noqa: PTH119 - plain strings are the keys here
        if not name.startswith("untitled:"):
            return None
        return next((each for each in self._documents.all() if self._pseudo_path(each) == path), None)

    def _pseudo_path(self, document: Document) -> str | None:
        """Where a document that was never saved seems to lie, so that tools can name it."""
        first = next(iter(self._roots()), None)
        if first is None or not document.uri.startswith("untitled:"):
            return None
        return f"{first}/{document.uri.replace('/', '_')[:200]}"

    def _state(self, document: Document) -> OpenDocument | None:
        """As tools see it; None if the file is newer than a document without changes of its own."""
        if document.path is None:
            return OpenDocument(document.text, document.version, True)
        in_sync = self._in_sync(document)
        known = self._disks.setdefault(document.uri, _Disk())
        if not in_sync and known.equal_at is not None and self.signature(document) != known.equal_at:
            if not document.edited:
                return None
            self._tell_conflict(document, known)
        return OpenDocument(document.text, document.version, not in_sync)

    def _in_sync(self, document: Document) -> bool:
        """Whether the file holds what the document does; line ends and encoding do not count."""
        known = self._disks.setdefault(document.uri, _Disk())
        for _ in range(LOOKS):
            signature = self.signature(document)
            if known.compared == (signature, document.version):
                break
            known.equal = signature is not None and self._equal(document)
            known.compared = (signature, document.version)
            if known.equal:
                known.equal_at, document.edited, known.told = signature, False, False
        return known.equal

    def _equal(self, document: Document) -> bool:
        here = document.text.encode("utf-8", "surrogatepass")
        path = Path(os.path.realpath(document.path or ""))  # the editor has it open, so a link is the user's choice
        try:
            data = read(path.parent, path.name, max(len(here), MAX_TEXT_BYTES * 2))
        except FileRefused:
            return False
        if here == data:
            return True
        decoded = text.decode(data) if len(data) <= MAX_TEXT_BYTES * 2 else None
        return decoded is not None and text.to_newlines(decoded[0]) == text.to_newlines(document.text)

    def signature(self, document: Document) -> Signature | None:
        """The present state of its file; None if there is none."""
        try:
            found = os.stat(document.path or "")  # noqa: PTH116
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _tell_conflict(self, document: Document, known: _Disk) -> None:
        if not known.told:
            known.told = True
            name = os.path.basename(document.path or document.uri)  # noqa: PTH119
            words = f"{name} has unsaved changes and was changed on disk as well."
            self._client.message(lsp.MessageType.Warning, f"{words} Loopline works on what the editor shows.")

    def _write(self, document: Document, base: str, content: str, clean: bool) -> None:
        """Bring an edit of a document to its file, if nothing else in it was unsaved."""
        name = os.path.basename(document.path or "")  # noqa: PTH119
        if not clean:
            self._client.message(
                lsp.MessageType.Info, f"{name} has unsaved changes. Save it, so that Loopline's tests see its edit."
            )
            return
        root = next((str(root) for root in self._roots() if (document.path or "").startswith(f"{root}/")), None)
        if root is None:
            return
        relative = (document.path or "")[len(root) + 1 :]
        try:
            snapshot = disk.read_file(root, relative, name, MAX_TEXT_BYTES)
            decoded = text.decode(snapshot.data)
            if decoded is None:
                return
            view = text.View(decoded[0])
            if view.flat != text.to_newlines(base):
                raise ToolError(f"{name} was changed on disk in the meantime", code="changed")
            changes = merge.hunks(text.to_newlines(base), text.to_newlines(content))
            raw = view.replace_all((hunk.start, hunk.end, hunk.text) for hunk in changes)
            disk.replace_file(root, relative, name, decoded[1].encode(raw), snapshot.digest)
        except (ToolError, UnicodeEncodeError):
            self._client.message(lsp.MessageType.Warning, f"{name} could not be written; save it in the editor.")
            return
        known = self._disks.setdefault(document.uri, _Disk())
        known.equal_at = self.signature(document)
        if document.text == content:
            known.compared, known.equal, document.edited = (known.equal_at, document.version), True, False
