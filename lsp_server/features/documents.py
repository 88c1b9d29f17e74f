"""What editors tell of documents and settings besides opening, changing and closing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

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
        """Files are looked at when they are needed, so there is nothing to do."""

    server.feature(lsp.TEXT_DOCUMENT_DID_SAVE, lsp.SaveOptions(include_text=False))(saved)
    server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)(configured)
    server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)(watched)
