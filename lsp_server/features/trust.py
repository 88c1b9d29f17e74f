"""Trusting a folder: it may then configure and start things by itself. Kept for the user, as `loopline trust` does."""

from __future__ import annotations

from pathlib import Path

from agent_core.config.load import keep_setting, load
from agent_core.errors import UsageError
from lsp_server.documents.documents import path_of
from lsp_server.editor import Editor
from lsp_server.protocol.methods import Trust, Trusted
from lsp_server.rpc.routes import Routes


def register(editor: Editor, routes: Routes) -> None:
    async def trust(asked: Trust, token: int | str | None) -> Trusted:
        path = path_of(asked.uri)
        folder = Path(path).resolve() if path is not None else None
        if folder is None or not folder.is_dir():
            raise UsageError(f"no such folder: {asked.uri[:200]}", code="no_folder")
        env = editor.process.env
        keep_setting(env, "trusted", tuple(dict.fromkeys((*load(env=env).settings.trusted, str(folder)))))
        editor.settings_changed()
        return Trusted(uri=asked.uri, trusted=True)

    routes.on_command("loopline.trust", Trust, trust)
