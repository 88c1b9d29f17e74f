"""The final answer of a turn as a Markdown document that the editor opens, without taking the focus."""

from __future__ import annotations

from lsprotocol import types as lsp

from agent_core.turns import events as up
from agent_core.turns.views import TurnView
from lsp_server.documents.documents import uri_of
from lsp_server.editor import Editor
from lsp_server.rpc.routes import Routes

MAX_MESSAGE = 300


def register(editor: Editor, routes: Routes) -> None:
    titles: dict[str, str] = {}

    async def show(turn: str, title: str, status: str, text: str) -> None:
        path = editor.process.folder / f"{turn}.md"
        path.write_text(f"# {title}\n\n{text.strip()}\n\n---\n\n{status}\n", encoding="utf-8", errors="replace")
        if not await editor.client.show(uri_of(str(path))):
            tell(status, text)

    def tell(status: str, text: str) -> None:
        kind = lsp.MessageType.Info if status == "completed" else lsp.MessageType.Warning
        editor.client.message(kind, f"Loopline: {text.strip()[:MAX_MESSAGE]}")

    def asked(session: str, turn: TurnView, token: int | str | None) -> None:
        titles[turn.turn_id] = turn.title

    def updated(session: str, event: up.TurnEvent) -> None:
        if not isinstance(event, up.TurnEnded):
            return
        title = titles.pop(event.turn_id, None)
        wanted = title is not None and not editor.client.has("answers") and event.status in ("completed", "failed")
        if wanted and event.text.strip():
            editor.spawn(show(event.turn_id, title or "", event.status, event.text), "show an answer")

    editor.bus.asked.add(asked)
    editor.bus.updated.add(updated)
