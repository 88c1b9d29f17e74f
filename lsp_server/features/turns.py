"""Turns by command, each answered at once; what comes of them is told by progress and events."""

from __future__ import annotations

from lsprotocol import types as lsp

from agent_core.errors import UsageError
from agent_core.turns import events as up
from agent_core.turns.events import title_of
from agent_core.turns.options import TurnOptions
from lsp_server.context import compose
from lsp_server.editor import Editor
from lsp_server.protocol.methods import Steered, TurnId, TurnStart, TurnStarted, TurnSteer
from lsp_server.rpc.routes import Routes


def register(editor: Editor, routes: Routes) -> None:
    async def start(asked: TurnStart, token: int | str | None) -> TurnStarted:
        return await start_turn(editor, asked, token)

    async def cancel(asked: TurnId, token: int | str | None) -> None:
        await cancel_turn(editor, asked.turn_id)

    async def steer(asked: TurnSteer, token: int | str | None) -> Steered:
        given = await editor.desk.session_of_turn(asked.turn_id).steer(asked.turn_id, asked.text)
        return Steered(input_id=given.input_id, fate=given.fate)

    async def undo(asked: TurnId, token: int | str | None) -> None:
        for session in editor.desk.sessions.values():
            if session.knows(asked.turn_id):
                session.attend(editor.front_end)
                await session.undo(asked.turn_id)
                return
        editor.desk.session_of_turn(asked.turn_id)

    def updated(session: str, event: up.TurnEvent) -> None:
        if isinstance(event, up.TurnUndone):
            kind = lsp.MessageType.Warning if event.conflicts else lsp.MessageType.Info
            editor.client.message(kind, _undone(event))

    def progress_cancelled(token: int | str) -> None:
        turn = editor.turn_of_token.get(token)
        if turn is not None:
            editor.spawn(cancel_turn(editor, turn), "cancel by progress")

    routes.on_command("loopline.turn.start", TurnStart, start)
    routes.on_command("loopline.turn.cancel", TurnId, cancel)
    routes.on_command("loopline.turn.steer", TurnSteer, steer)
    routes.on_command("loopline.turn.undo", TurnId, undo)
    editor.bus.progress_cancelled.add(progress_cancelled)
    editor.bus.updated.add(updated)


def _undone(event: up.TurnUndone) -> str:
    if not event.restored and not event.conflicts:
        return "Loopline: the turn changed no file that had to be taken back."
    parts = [f"took back {', '.join(event.restored)}"] if event.restored else []
    if event.conflicts:
        parts.append(f"left what changed since in {', '.join(event.conflicts)}")
    return f"Loopline {'; '.join(parts)}."


async def start_turn(editor: Editor, asked: TurnStart, token: int | str | None) -> TurnStarted:
    """Put a turn into its session's queue. Raises UsageError for what can't be started."""
    if not asked.task.strip():
        raise UsageError("the task is empty", hint="say what to do")
    if asked.effort is not None:
        editor.desk.check_effort(asked.effort)
    document = editor.documents.get(asked.text_document.uri) if asked.text_document is not None else None
    pseudo = editor.buffers.path_for(document) if document is not None else None
    session = await editor.desk.for_turn(asked.session_id)
    if session.view().place == "attached" and editor.buffers.unsaved():
        text = (
            "Loopline: the session runs in another process, which sees what is saved; this editor has unsaved changes."
        )
        editor.client.message(lsp.MessageType.Info, text)
    task = compose(asked, editor.documents, pseudo, editor.roots)
    options = TurnOptions(mode=asked.mode, effort=asked.effort)
    turn = session.submit(task, title=title_of(asked.task), options=options)
    editor.bus.asked(session.id, turn, token)
    return TurnStarted(session_id=session.id, turn_id=turn.turn_id)


async def cancel_turn(editor: Editor, turn: str) -> None:
    """Cancel it wherever it runs. Raises UsageError for a turn that nobody knows."""
    session = editor.desk.session_of_turn(turn)
    editor.bus.cancelled(turn)
    await session.cancel(turn)
