"""Sessions by command, and their transcript page by page."""

from __future__ import annotations

import asyncio

from agent_core.agent.archive import Archive
from agent_core.config.paths import state_dir
from lsp_server.editor import Editor
from lsp_server.protocol.methods import (
    Nothing,
    Session,
    SessionId,
    SessionList,
    SessionNew,
    SessionStarted,
    Transcript,
    TranscriptGet,
)
from lsp_server.rpc.routes import Routes
from lsp_server.sessions import described
from lsp_server.transcript import page


def register(editor: Editor, routes: Routes) -> None:
    async def new(asked: SessionNew, token: int | str | None) -> SessionStarted:
        live = editor.desk.new(asked.model)
        live.warm()
        return SessionStarted(session_id=live.id)

    async def listed(asked: Nothing, token: int | str | None) -> SessionList:
        return await editor.desk.listed()

    async def resume(asked: SessionId, token: int | str | None) -> Session:
        """With how things stand in its latest turn as events, for a view that just opened."""
        follows = editor.desk.follows(asked.session_id)
        session = await editor.desk.find(asked.session_id)
        for event in editor.process.followed[session.id].recent.events(text_too=not follows):
            editor.events.put(event)
        return described(session.view())

    async def compact(asked: SessionId, token: int | str | None) -> None:
        """What comes of it is told as events."""
        session = await editor.desk.find(asked.session_id)
        session.attend(editor.front_end)
        await session.compact()

    async def transcript(asked: TranscriptGet) -> Transcript:
        archive = Archive(state_dir(editor.process.env) / "sessions")
        history = await asyncio.to_thread(archive.load, asked.session_id)
        return page(history.items.raw(0), history.turn_of, asked.before, max(1, min(asked.limit, 1_000)))

    routes.on_command("loopline.session.new", SessionNew, new)
    routes.on_command("loopline.session.list", Nothing, listed)
    routes.on_command("loopline.session.resume", SessionId, resume)
    routes.on_command("loopline.session.compact", SessionId, compact)
    routes.on_request("loopline/transcript", TranscriptGet, transcript)
