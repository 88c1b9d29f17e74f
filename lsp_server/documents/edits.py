"""Changing a document that is open in the editor, without losing a key stroke and without believing what we are told.

An edit names the version it was made for. What came of it is read from the `didChange` that follows, never from the
answer: Neovim says `applied: true` to an edit that it skipped (neovim#12970), and an editor may apply a versioned edit
to a newer text (vscode-languageserver-node#1756). Where the user typed meanwhile, the edit is carried over to the new
text and tried again; where both touched the same place it is given up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec
from lsprotocol import types as lsp

from agent_core.errors import ToolError
from agent_core.tools.workspace.workspace import UNCONFIRMED
from lsp_server.client import Client
from lsp_server.documents import merge
from lsp_server.documents.documents import Document, Documents, Position, Splice
from lsp_server.documents.merge import Hunk
from lsp_server.rpc.errors import ClientError

TRIES = 6
CONFIRM_S = 2.0
"""How long the `didChange` of an edit that was answered may take."""
LATE_S = 10.0
"""How long it may take where the editor says that it applied it and nothing else happened: some tell changes when they
are idle, and a window may be busy."""
SETTLE_S = 0.3
"""After the answer and another change, how much longer ours may take: editors may send changes late."""
PAUSE_S = 0.05
ANNOTATION = "loopline"

Span = tuple[Position, Position]


class Editing:
    """Edits the open documents of one client."""

    def __init__(self, client: Client, documents: Documents, edited: Callable[[Document, int, int], None]) -> None:
        self._client, self._documents, self._edited = client, documents, edited

    async def replace(self, document: Document, base: str, target: str, label: str) -> bool:
        """Make of `base`, a text that the document had lately, `target`. False if the user changed the same place.

        Raises ToolError where the editor can't or won't edit.
        """
        if not self._client.applies_edits:
            raise ToolError("the editor can't apply edits of open documents; close the file first", code="editor")
        kept, last = True, None
        for attempt in range(TRIES):
            carried = merge.carried_over(merge.hunks(base, target), merge.hunks(base, document.text))
            if carried is None:
                return last is not None and _made(last, document)
            if not carried:
                return kept
            watch = _Watch(self._documents, document, carried, self._edited)
            try:
                applied, reason = await self._send(document, carried, label)
                await watch.outcome(applied)
                last = watch if applied else None
            finally:
                watch.stop()
            if watch.done:
                return kept
            if watch.slipped is not None:
                base, wanted = watch.slipped
                kept, target = wanted.kept, wanted.text
            elif not watch.others and applied:
                raise ToolError(
                    f"the editor says that it applied the edit, but has not shown it within {LATE_S:g} s: it may be in "
                    "the text or may yet come; read the file before you edit it again",
                    code=UNCONFIRMED,
                )
            elif not watch.others:
                why = f": {reason}" if reason else ""
                raise ToolError(f"the editor did not apply the edit{why}; nothing was written", code="editor")
            await asyncio.sleep(PAUSE_S * attempt)
        return False

    async def _send(self, document: Document, hunks: Sequence[Hunk], label: str) -> tuple[bool, str]:
        edit = self._workspace_edit(document, hunks, label)
        try:
            result = await self._client.apply(edit, label)
        except ClientError as error:
            return False, error.message
        return result.applied, (result.failure_reason or "")[:300]

    def _workspace_edit(self, document: Document, hunks: Sequence[Hunk], label: str) -> lsp.WorkspaceEdit:
        ranges = [_range(start, end) for start, end in _ranges(document, hunks)]
        pairs = list(zip(ranges, (hunk.text for hunk in hunks), strict=True))
        if not self._client.versions_edits:
            return lsp.WorkspaceEdit(changes={document.uri: [lsp.TextEdit(span, text) for span, text in pairs]})
        identifier = lsp.OptionalVersionedTextDocumentIdentifier(uri=document.uri, version=document.version)
        if not self._client.annotates_edits:
            edits = [lsp.TextEdit(span, text) for span, text in pairs]
            return lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(identifier, edits)])
        annotated = [lsp.AnnotatedTextEdit(ANNOTATION, span, text) for span, text in pairs]
        annotation = lsp.ChangeAnnotation(label=label, needs_confirmation=False)
        return lsp.WorkspaceEdit(
            document_changes=[lsp.TextDocumentEdit(identifier, annotated)], change_annotations={ANNOTATION: annotation}
        )


def _made(watch: _Watch, document: Document) -> bool:
    """Whether an edit that the editor calls applied is in the text, where the user typed in the same place as well.

    Raises ToolError where that can't be told.
    """
    made = merge.was_made(watch.hunks, watch.base, watch.expected, document.text)
    if made is None:
        raise ToolError(
            "the user typed in the same place while it was edited; read it to see what is there", code="changed"
        )
    return made


class _Wanted(msgspec.Struct, frozen=True):
    """The text that a misplaced edit should have led to. `kept` False: there is no place for the edit in it."""

    text: str
    kept: bool


class _Watch:
    """What becomes of one edit, by the changes of its document.

    `done`: it is in the text. `others`: the document changed otherwise. `slipped`: the editor applied it to a newer
    text than it was made for; the text that came of it, and what should have.
    """

    def __init__(
        self,
        documents: Documents,
        document: Document,
        hunks: Sequence[Hunk],
        edited: Callable[[Document, int, int], None],
    ) -> None:
        self._edited = edited
        self.done = self.others = False
        self.slipped: tuple[str, _Wanted] | None = None
        self._document, self.hunks = document, hunks
        self.base = self._before = document.text
        self.expected = merge.apply(self.base, hunks)
        self._ranges = _ranges(document, hunks)
        self._changed = asyncio.Event()
        self.stop = documents.watch(self._look)

    def _look(self, document: Document, splices: list[Splice]) -> None:
        if document is not self._document or self.done:
            return
        before, self._before = self._before, document.text
        if before != self.base and document.text == _applied_by_place(document, before, self._ranges, self.hunks):
            self._misplaced(document, before)
        elif merge.survives(self.hunks, self.base, self.expected, document.text):
            self.done = True
            if document.text == self.expected:
                self._tell_lines(document)
        else:
            self.others = True
        self._changed.set()

    def _misplaced(self, document: Document, before: str) -> None:
        """It was applied to `before`, by line and column; that may be the right place by chance."""
        wanted = merge.carried_over(self.hunks, merge.hunks(self.base, before))
        right = _Wanted(before, False) if wanted is None else _Wanted(merge.apply(before, wanted), True)
        if right.kept and right.text == document.text:
            self.done = True
        else:
            self.slipped = (document.text, right)

    def _tell_lines(self, document: Document) -> None:
        for start, end in merge.placed(self.hunks):
            first, last = (position.line for position in document.positions_at([start, end]))
            self._edited(document, first, last)

    async def outcome(self, applied: bool) -> None:
        """Wait until it is known what came of the edit; `applied` is what the editor answered."""
        loop = asyncio.get_running_loop()
        give_up_s = loop.time() + (LATE_S if applied else CONFIRM_S)
        while not self.done and self.slipped is None and (left_s := give_up_s - loop.time()) > 0:
            if self.others:
                left_s = min(left_s, SETTLE_S if applied else 0.0)
                if not applied:
                    return
            self._changed.clear()
            try:
                async with asyncio.timeout(left_s):
                    await self._changed.wait()
            except TimeoutError:
                return


def _ranges(document: Document, hunks: Sequence[Hunk]) -> list[Span]:
    """Where the hunks of the document's present text are, as the client counts."""
    positions = document.positions_at([offset for hunk in hunks for offset in (hunk.start, hunk.end)])
    return [(positions[at], positions[at + 1]) for at in range(0, len(positions), 2)]


def _range(start: Position, end: Position) -> lsp.Range:
    return lsp.Range(lsp.Position(start.line, start.character), lsp.Position(end.line, end.character))


def _applied_by_place(document: Document, text: str, ranges: Sequence[Span], hunks: Sequence[Hunk]) -> str:
    """What an editor makes of `text` that applies the hunks where their ranges happen to be in it."""
    moved, other = [], document.holding(text)
    for (start, end), hunk in zip(ranges, hunks, strict=True):
        first, last = (other.offset(other.place(position)) for position in (start, end))
        moved.append(Hunk(first, max(first, last), hunk.text))
    return merge.apply(text, moved)
