"""Hover over a line that a turn changed: which turn, and why."""

from __future__ import annotations

import msgspec
from lsprotocol import types as lsp

from agent_core.hosting.port import SessionHost
from agent_core.turns import events as up
from lsp_server.documents import patches
from lsp_server.documents.documents import Document, Splice, bare
from lsp_server.documents.lines import LineNotes
from lsp_server.editor import Editor
from lsp_server.rpc.routes import Routes

MAX_FILES = 500
MAX_WHY = 600


class _Changed(msgspec.Struct, frozen=True):
    """`text` is what the turn left in the line; a line that reads otherwise is not the turn's any more."""

    title: str
    why: str
    text: str


def register(editor: Editor, routes: Routes) -> None:
    notes: dict[str, LineNotes[_Changed]] = {}
    titles: dict[str, str] = {}
    said: dict[str, str] = {}

    def updated(session: str, event: up.TurnEvent) -> None:
        match event:
            case up.TurnBegan(turn_id=turn, title=title):
                titles[turn] = title
            case up.TextDone(turn_id=turn, text=text):
                said[turn] = text
            case up.ToolEnded(turn_id=turn, diff=diff) if diff:
                host = editor.desk.sessions.get(session)
                if host is not None:
                    note(host, turn, diff)
            case up.TurnEnded(turn_id=turn):
                titles.pop(turn, None)
                said.pop(turn, None)

    def note(host: SessionHost, turn: str, diff: str) -> None:
        for patched in patches.read(diff):
            place = host.place_of(patched.path)
            if place is None:
                continue
            path = str(place)
            if path not in notes and len(notes) >= MAX_FILES:
                notes.pop(next(iter(notes)))
            of_file = notes.setdefault(path, LineNotes())
            if editor.documents.at(path) is None:  # an open document moved them with its own change
                for splice in patched.splices:
                    of_file.move(splice)
            for line, text in patched.added.items():
                of_file.put([line], _Changed(titles.get(turn, ""), said.get(turn, "")[:MAX_WHY], text))

    def changed(document: Document, splices: list[Splice]) -> None:
        of_file = notes.get(document.path or "")
        for splice in splices if of_file is not None else ():
            assert of_file is not None
            of_file.move(splice)

    async def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        document = editor.documents.get(params.text_document.uri)
        line = params.position.line
        if document is None or line >= len(document.lines):
            return None
        of_file = notes.get(document.path or "")
        found = of_file[line] if of_file is not None else None
        if found is None or found.text.rstrip("\r") != bare(document.lines[line]):
            return None
        why = f"\n\n{found.why}" if found.why else ""
        value = f"Changed by Loopline in the turn “{found.title}”{why}"
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, value))

    def negotiated() -> None:
        editor.documents.watch(changed)

    routes.feature(lsp.TEXT_DOCUMENT_HOVER)(hover)
    editor.bus.negotiated.add(negotiated)
    editor.bus.updated.add(updated)
