"""What editors tell of documents and settings besides opening, changing and closing."""

from __future__ import annotations

from lsprotocol import types as lsp

from lsp_server.documents.documents import path_of
from lsp_server.editor import Editor
from lsp_server.rpc.routes import Routes
from lsp_server.settings import WATCHED, is_settings_file


def register(editor: Editor, routes: Routes) -> None:
    async def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        editor.did_save(params)

    async def configured(params: lsp.DidChangeConfigurationParams) -> None:
        if editor.client.configures:
            await editor.pull_settings()
        else:
            editor.configure(params.settings)

    async def watched(params: lsp.DidChangeWatchedFilesParams) -> None:
        """Settings hold at once; other files are looked at when they are needed. Our own watch (`watching.py`) sees the
        same, but only where the system has watches left."""
        paths = [path_of(change.uri) for change in params.changes]
        if any(path is not None and is_settings_file(path, editor.roots) for path in paths):
            editor.settings_changed()
            await editor.pull_settings()

    def started() -> None:
        editor.spawn(editor.client.watch_files(WATCHED), "register watched files")

    routes.feature(lsp.TEXT_DOCUMENT_DID_SAVE, lsp.SaveOptions(include_text=False))(saved)
    routes.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)(configured)
    routes.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)(watched)
    editor.bus.started.add(started)
