"""`AI!` and `AI?` in comments: off by default, in trusted folders only, and only in lines that the user wrote.

A line counts once the user changed it in an open document and saved that. What was on disk, what came from outside and
what the agent wrote itself never starts a turn. A change that makes the document equal to a changed file is either: the
editor loads the file again, or the user has saved already. It was the user's if the very next thing is the save of that
file.
"""

from __future__ import annotations

import re

from lsprotocol import types as lsp

from agent_core.errors import LooplineError
from lsp_server.documents.buffers import Signature
from lsp_server.documents.documents import Document, Splice, bare
from lsp_server.documents.lines import LineNotes
from lsp_server.editor import Editor
from lsp_server.features.turns import start_turn
from lsp_server.protocol.methods import Position, Range, TextDocument, TurnStart
from lsp_server.rpc.routes import Routes

MAX_COMMENTS = 10
_COMMENT = re.compile(r"(?:#|//|--|;|%|/\*|<!--)\s*(?P<words>.*?)\s*(?:\*/|-->)?\s*$")
_MARK = re.compile(r"^AI(?P<first>[!?])(?:\s|$)|(?:^|\s)AI(?P<last>[!?])$", re.IGNORECASE)


def mark_of(line: str) -> str | None:
    """`!` or `?` for a line whose comment begins or ends with the mark; else None."""
    for start in re.finditer(r"#|//|--|;|%|/\*|<!--", line):
        comment = _COMMENT.match(line, start.start())
        found = _MARK.search(comment["words"]) if comment is not None else None
        if found is not None:
            return found["first"] or found["last"]
    return None


def register(editor: Editor, routes: Routes) -> None:
    written: dict[str, LineNotes[bool]] = {}
    unclear: dict[str, Signature] = {}
    """Documents whose lines in `written` were typed or loaded, and the state of the file that they are equal to."""

    def changed(document: Document, splices: list[Splice]) -> None:
        if not editor.settings.ai_comments:
            return
        if unclear.pop(document.uri, None) is not None:
            written.pop(document.uri, None)
        notes = written.setdefault(document.uri, LineNotes())
        for splice in splices:
            notes.move(splice)
            notes.put(range(splice.first, splice.first + splice.count), True)
        if (signature := editor.buffers.reloaded(document)) is not None:
            unclear[document.uri] = signature

    def edited(document: Document, first: int, last: int) -> None:
        if document.uri in written:
            written[document.uri].drop(range(first, last + 1))

    def closed(document: Document) -> None:
        written.pop(document.uri, None)
        unclear.pop(document.uri, None)

    def saved(document: Document) -> None:
        notes, loaded = written.pop(document.uri, None), unclear.pop(document.uri, None)
        if loaded is not None and loaded != editor.buffers.signature(document):
            return
        if notes is None or not editor.settings.ai_comments or not editor.trusts(document.path):
            return
        found = [
            (line, mark)
            for line in notes.lines()
            if line < len(document.lines) and (mark := mark_of(bare(document.lines[line]))) is not None
        ][:MAX_COMMENTS]
        if found:
            editor.spawn(start(document, found), "AI comment")

    async def start(document: Document, found: list[tuple[int, str]]) -> None:
        acts = any(mark == "!" for _, mark in found)
        what = (
            "Do what the comments marked `AI!` below ask for, then take those comments out."
            if acts
            else "Answer the questions in the comments marked `AI?` below. Change nothing."
        )
        comments = "\n".join(f"line {line + 1}: {bare(document.lines[line]).strip()[:500]}" for line, _ in found)
        first, last = found[0][0], found[-1][0]
        asked = TurnStart(
            task=f"{what}\n\n{comments}",
            text_document=TextDocument(uri=document.uri),
            range=Range(start=Position(line=first, character=0), end=Position(line=last, character=0)),
        )
        try:
            await start_turn(editor, asked, None)
        except LooplineError as error:
            editor.client.message(lsp.MessageType.Warning, f"Loopline: {error.message}")

    def negotiated() -> None:
        editor.documents.watch(changed)

    editor.bus.negotiated.add(negotiated)
    editor.bus.edited.add(edited)
    editor.bus.saved.add(saved)
    editor.bus.closed.add(closed)
