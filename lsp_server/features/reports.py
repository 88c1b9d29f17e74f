"""Turn events of the sessions that this editor watches, as it is told them; and what a turn changed so far."""

from __future__ import annotations

from agent_core.hosting.port import SessionHost
from agent_core.turns import events as up
from lsp_server.documents.documents import uri_of
from lsp_server.editor import Editor
from lsp_server.protocol.events import MAX_DIFF, FileDiff, TurnDiff, for_editors
from lsp_server.rpc.routes import Routes


def register(editor: Editor, routes: Routes) -> None:
    diffing: set[str] = set()

    async def diff(host: SessionHost, turn: str) -> None:
        diffing.discard(turn)
        files = tuple(
            FileDiff(
                path=change.path,
                uri=uri_of(str(host.place_of(change.path) or change.path)),
                added=change.added,
                removed=change.removed,
                diff=change.diff[:MAX_DIFF],
                by=change.by,
            )
            for change in (await host.changes(turn)).files
        )
        found = TurnDiff(session_id=host.id, turn_id=turn, files=files)
        editor.process.followed[host.id].recent.put(found)
        editor.events.put(found)

    def updated(session: str, event: up.TurnEvent) -> None:
        known = editor.desk.sessions.get(session)
        told = for_editors(event)
        if told is not None:
            editor.events.put(told)
        match event:
            case up.TurnBegan(title=title):
                editor.label = f"Loopline: {title[:80]}"
            case up.ToolEnded(turn_id=turn) if event.files_changed and turn not in diffing:
                if known is not None and known.view().place == "live":
                    diffing.add(turn)
                    editor.spawn(diff(known, turn), "diff of a turn")

    editor.bus.updated.add(updated)
