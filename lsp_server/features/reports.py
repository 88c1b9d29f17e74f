"""Turn events of the sessions that this editor watches, as it is told them; and what a turn's edits come to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core.turns import events as up
from lsp_server.documents.documents import uri_of
from lsp_server.live import LiveSession
from lsp_server.protocol.events import MAX_DIFF, FileDiff, TurnDiff, for_editors

if TYPE_CHECKING:
    from lsp_server.server import LoopServer


def register(server: LoopServer) -> None:
    diffing: set[str] = set()

    async def diff(live: LiveSession, turn: str) -> None:
        diffing.discard(turn)
        if live.hosted is None:
            return
        workspace = live.hosted.workspace
        changes = await workspace.net_changes()
        files = tuple(
            FileDiff(
                path=change.path,
                uri=uri_of(str(workspace.resolve(change.path).path)),
                added=change.added,
                removed=change.removed,
                diff=change.diff[:MAX_DIFF],
            )
            for change in changes
        )
        found = TurnDiff(session_id=live.id, turn_id=turn, files=files)
        live.recent.put(found)
        server.events.put(found)

    def updated(session: str, event: up.TurnEvent) -> None:
        known = server.desk.sessions.get(session)
        told = for_editors(event)
        if told is not None:
            server.events.put(told)
        match event:
            case up.TurnBegan(title=title):
                server.label = f"Loopline: {title[:80]}"
            case up.ToolEnded(turn_id=turn) if event.files_changed and turn not in diffing:
                if isinstance(known, LiveSession):
                    diffing.add(turn)
                    server.spawn(diff(known, turn), "diff of a turn")

    server.when_updated.append(updated)
