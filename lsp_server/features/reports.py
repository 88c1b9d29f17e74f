"""Updates of the sessions that this editor watches, as events; and what a turn's edits come to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agent_core.turns import events as up
from lsp_server.documents.documents import uri_of
from lsp_server.live import LiveSession
from lsp_server.protocol.events import ApprovalOpened, FileDiff, TurnDiff
from lsp_server.sessions import approvals_of
from lsp_server.translate import MAX_DIFF, events_of, title_of

if TYPE_CHECKING:
    from lsp_server.server import LoopServer


def register(server: LoopServer) -> None:
    diffing: set[str] = set()

    def approval_opened(session: str, approval: str) -> None:
        known = server.desk.sessions.get(session)
        for found in approvals_of(known) if known is not None else ():
            if found.approval_id == approval:
                server.events.put(ApprovalOpened(approval=found))

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

    def updated(session: str, update: up.Update) -> None:
        known = server.desk.sessions.get(session)
        for event in events_of(session, update):
            server.events.put(event)
            if known is not None:
                known.recent.put(event)
        match update:
            case up.TurnBegan(task=task):
                server.label = f"Loopline: {title_of(task)[:80]}"
            case up.ApprovalAsked(approval=approval):
                # it is listed as open right after it was announced
                asyncio.get_running_loop().call_soon(approval_opened, session, approval)
            case up.ToolEnded(turn=turn, result=result) if result.files_changed and turn not in diffing:
                live = server.desk.sessions.get(session)
                if isinstance(live, LiveSession):
                    diffing.add(turn)
                    server.spawn(diff(live, turn), "diff of a turn")

    server.when_updated.append(updated)
