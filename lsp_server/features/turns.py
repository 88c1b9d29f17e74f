"""Turns by command, each answered at once; what comes of them is told by progress and events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core.errors import UsageError
from lsp_server.context import compose
from lsp_server.live import LiveSession
from lsp_server.protocol import Steered, TurnId, TurnStart, TurnStarted, TurnSteer, Undone
from lsp_server.translate import title_of

if TYPE_CHECKING:
    from lsp_server.server import LoopServer


def register(server: LoopServer) -> None:
    async def start(asked: TurnStart, token: int | str | None) -> TurnStarted:
        return await start_turn(server, asked, token)

    async def cancel(asked: TurnId, token: int | str | None) -> None:
        await cancel_turn(server, asked.turn_id)

    async def steer(asked: TurnSteer, token: int | str | None) -> Steered:
        session = server.desk.session_of_turn(asked.turn_id)
        if isinstance(session, LiveSession):
            return session.steer(asked.turn_id, asked.text)
        return await session.steer(asked.turn_id, asked.text)

    async def undo(asked: TurnId, token: int | str | None) -> Undone:
        server.desk.session_of_turn(asked.turn_id)
        raise UsageError("undoing a turn is not available yet", code="undo_unavailable", hint="use the editor's undo")

    def progress_cancelled(token: int | str) -> None:
        turn = server.turn_of_token.get(token)
        if turn is not None:
            server.spawn(cancel_turn(server, turn), "cancel by progress")

    server.on_command("loopline.turn.start", TurnStart, start)
    server.on_command("loopline.turn.cancel", TurnId, cancel)
    server.on_command("loopline.turn.steer", TurnSteer, steer)
    server.on_command("loopline.turn.undo", TurnId, undo)
    server.when_progress_cancelled.append(progress_cancelled)


async def start_turn(server: LoopServer, asked: TurnStart, token: int | str | None) -> TurnStarted:
    """Put a turn into its session's queue. Raises UsageError for what can't be started."""
    if not asked.task.strip():
        raise UsageError("the task is empty", hint="say what to do")
    document = server.documents.get(asked.text_document.uri) if asked.text_document is not None else None
    pseudo = server.buffers.path_for(document) if document is not None else None
    live = await server.desk.for_turn(asked.session_id)
    turn = live.start(compose(asked, server.documents, pseudo, server.roots), title_of(asked.task))
    for hook in server.when_asked:
        hook(live.id, turn, token)
    return TurnStarted(session_id=live.id, turn_id=turn.turn)


async def cancel_turn(server: LoopServer, turn: str) -> None:
    """Cancel it wherever it runs. Raises UsageError for a turn that nobody knows."""
    session = server.desk.session_of_turn(turn)
    for hook in server.when_cancelled:
        hook(turn)
    if isinstance(session, LiveSession):
        session.cancel(turn)
    else:
        await session.cancel(turn)
