"""What a turn changed, file by file with its texts, also of turns that are long over or run elsewhere."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agent_core.agent.archive import Archive
from agent_core.agent.checkpoints.reading import FileChange, changes_of
from agent_core.config.paths import state_dir
from agent_core.tools.workspace import text
from agent_core.tools.workspace.diffs import diff
from lsp_server.documents.documents import uri_of
from lsp_server.editor import Editor
from lsp_server.protocol.methods import TurnChanges, TurnChangesGet, TurnFile
from lsp_server.rpc.routes import Routes

MAX_FILES = 200
MAX_TEXT_BYTES = 1_000_000


def register(editor: Editor, routes: Routes) -> None:
    async def changes(asked: TurnChangesGet) -> TurnChanges:
        states = state_dir(editor.process.env)
        Archive(states / "sessions").path(asked.session_id)  # an unknown session is an error, an unknown turn is empty
        first = str(editor.roots[0]) if editor.roots else ""
        return await asyncio.to_thread(_read, states / "checkpoints", asked, first)

    routes.on_request("loopline/turn.changes", TurnChangesGet, changes)


def _read(folder: Path, asked: TurnChangesGet, first_root: str) -> TurnChanges:
    found = changes_of(folder, asked.session_id, asked.turn_id)
    files = tuple(_file(change, first_root) for change in found[:MAX_FILES])
    return TurnChanges(files=files, more_files=max(0, len(found) - MAX_FILES))


def _file(change: FileChange, first_root: str) -> TurnFile:
    path = change.path if change.root == first_root else f"{change.root}/{change.path}"
    uri = uri_of(f"{change.root}/{change.path}")
    before, after = _text(change.before), _text(change.after)
    known = (before is not None or not change.existed) and (after is not None or not change.exists)
    told = TurnFile(path=path, uri=uri, existed=change.existed, exists=change.exists, before=before, after=after)
    told.by = change.by
    if not known:
        return told
    made = diff(before or "", after or "")
    told.diff = made.with_header(path if change.existed else None, path if change.exists else None)
    told.added, told.removed = made.added, made.removed
    return told


def _text(data: bytes | None) -> str | None:
    decoded = text.decode(data) if data is not None and len(data) <= MAX_TEXT_BYTES else None
    return text.to_newlines(decoded[0]) if decoded is not None else None
