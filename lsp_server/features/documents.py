"""What editors tell of documents and settings besides opening, changing and closing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from lsp_server.documents.documents import path_of
from lsp_server.settings import WATCHED, is_settings_file

if TYPE_CHECKING:
    from lsp_server.server import LoopServer


def register(server: LoopServer) -> None:
    async def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        server.did_save(params)

    async def configured(params: lsp.DidChangeConfigurationParams) -> None:
        if server.client.configures:
            await server.pull_settings()
        else:
            server.configure(params.settings)

    async def watched(params: lsp.DidChangeWatchedFilesParams) -> None:
        """Settings hold at once; other files are looked at when they are needed. Our own watch (`watching.py`) sees the
        same, but only where the system has watches left."""
        paths = [path_of(change.uri) for change in params.changes]
        if any(path is not None and is_settings_file(path, server.roots) for path in paths):
            server.settings_changed()
            await server.pull_settings()

    def started() -> None:
        server.spawn(server.client.watch_files(WATCHED), "register watched files")

    server.feature(lsp.TEXT_DOCUMENT_DID_SAVE, lsp.SaveOptions(include_text=False))(saved)
    server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)(configured)
    server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)(watched)
    server.when_started.append(started)
