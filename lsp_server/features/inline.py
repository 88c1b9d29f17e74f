"""Ghost text at the cursor, where the editor shows such text, its user wants it, and the model writes text at all.

Off by default: it asks the model while somebody types. What an editor withdraws, because its user typed on, is
cancelled. Files that may hold secrets are left out. These calls belong to no session, and its figures leave them out.
"""

from __future__ import annotations

import asyncio

from lsprotocol import types as lsp

from agent_core.errors import LooplineError
from agent_core.runtime.completion import Completer
from agent_core.tools.workspace.secret_names import SecretRules
from lsp_server.context import shown_path
from lsp_server.documents.documents import Document, Place, Position
from lsp_server.editor import Editor
from lsp_server.rpc.routes import Routes

BEFORE, AFTER = 4_000, 1_000
"""Characters of the document that the model is shown, at most."""
LINES = 200
PAUSE_S = 0.15
"""Without a key stroke, before the model is asked."""
LIMIT_S = 5.0


def register(editor: Editor, routes: Routes) -> None:
    known: list[tuple[object, Completer]] = []
    told: list[bool] = []

    async def complete(params: lsp.InlineCompletionParams) -> list[lsp.InlineCompletionItem]:
        document = editor.documents.get(params.text_document.uri)
        if not editor.settings.inline_completion or document is None:
            return []
        name = shown_path(editor.buffers.path_for(document) or "", editor.roots)
        if name is None or SecretRules().match(name):
            return []
        if not await editor.models.can("chat"):
            say_once()
            return []
        version = document.version
        if params.context.trigger_kind == lsp.InlineCompletionTriggerKind.Automatic:
            await asyncio.sleep(PAUSE_S)
        before, after = around(document, document.place(Position(params.position.line, params.position.character)))
        try:
            text = await (await completer()).complete(before, after, name, LIMIT_S)
        except LooplineError:
            return []  # the next key stroke asks again
        if not text.strip() or document.version != version:
            return []
        return [lsp.InlineCompletionItem(text, range=lsp.Range(params.position, params.position))]

    async def completer() -> Completer:
        """For the service and model of now."""
        endpoint = editor.desk.endpoint()
        if not known or known[0][0] != endpoint:
            if known:
                editor.spawn(known.pop()[1].close(), "close a completer")
            base_url, key = (endpoint.base_url, endpoint.api_key) if endpoint is not None else (None, None)
            if base_url is None:
                service = await editor.process.manager.service()
                base_url, key = service.base_url, service.api_key
            known.append((endpoint, Completer(base_url, key, endpoint.model if endpoint is not None else "")))
        return known[0][1]

    def say_once() -> None:
        if not told:
            told.append(True)
            words = "the configured model writes no text, so there are no inline completions; choose another model"
            editor.client.message(lsp.MessageType.Info, f"Loopline: {words} (`loopline.model.select`).")

    routes.feature(lsp.TEXT_DOCUMENT_INLINE_COMPLETION, lsp.InlineCompletionOptions())(complete)


def around(document: Document, place: Place) -> tuple[str, str]:
    """The text before and after a place, each as much as is shown."""
    first = max(0, place.line - LINES)
    lines = document.lines.between(first, place.line + LINES)
    before, after = "".join(lines[: place.line - first]), "".join(lines[place.line - first :])
    before, after = before + after[: place.column], after[place.column :]
    return before[-BEFORE:], after[:AFTER]
