"""A session that another process hosts, seen over its control socket: watched, answered, cancelled and steered here."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from agent_core.agent import updates as up
from agent_core.agent.approvals import Decision
from agent_core.agent.updates import Front, Notice, TurnBegan, TurnEnded, Update, read_update
from agent_core.control.client import Attachment, ControlClient
from agent_core.control.messages import ApprovalInfo, ControlError, EventMessage, SessionInfo, UpdateMessage
from agent_core.errors import UsageError
from lsp_server.live import Asked
from lsp_server.protocol import Steered
from lsp_server.protocol_events import AnyEvent, TurnStatus

_STATUS: Mapping[str, TurnStatus] = {
    "running": "running",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "cancelled",
}


class RemoteSession:
    """`attach` first. `lost` is called once the host or the session is gone."""

    def __init__(self, session: str, socket: Path, lost: Callable[[RemoteSession], Awaitable[None]]) -> None:
        self.id, self.title, self.created, self.model = session, "", "", ""
        self.turns: list[Asked] = []
        self.approvals: dict[str, ApprovalInfo] = {}
        self._watchers: list[Front] = []
        self._socket, self._lost = socket, lost
        self._stack = AsyncExitStack()
        self._client: ControlClient | None = None
        self._following: asyncio.Task[None] | None = None

    async def attach(self) -> None:
        """Raises ControlError."""
        client = await self._stack.enter_async_context(ControlClient(self._socket))
        try:
            attachment = await client.attach(self.id)
            found = [info for info in await client.list_sessions() if info.session == self.id]
            if not found:
                raise ControlError(f"session {self.id} is not hosted there", code="control_not_found")
        except ControlError:
            await self._stack.aclose()
            raise
        self._client = client
        self._take(found[0])
        self._following = asyncio.create_task(self._follow(attachment), name=f"attached {self.id}")

    def watch(self, front: Front, put: Callable[[AnyEvent], None]) -> Callable[[], None]:
        """Every update from now on; call what is returned to stop. Figures do not come over the socket."""
        self._watchers.append(front)

        def stop() -> None:
            self._watchers = [other for other in self._watchers if other is not front]

        return stop

    def turn(self, turn: str) -> Asked | None:
        return next((asked for asked in self.turns if asked.turn == turn), None)

    async def cancel(self, turn: str) -> None:
        """Raises UsageError or ControlError."""
        if self._known(turn).status == "running":
            await self._speak().cancel(turn)

    async def steer(self, turn: str, text: str) -> Steered:
        """Raises UsageError or ControlError."""
        self._known(turn)
        given = await self._speak().steer(turn, text)
        return Steered(input_id=given.input_id, fate=given.fate)

    async def answer(self, approval: str, decision: Decision) -> None:
        """Raises ControlError."""
        await self._speak().answer(approval, decision)

    async def close(self) -> None:
        """Watch no more; the session goes on where it is hosted."""
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait({self._following})
        with contextlib.suppress(ControlError):
            await self._stack.aclose()

    def _take(self, info: SessionInfo) -> None:
        self.title, self.model = info.title, info.model or ""
        self.approvals = {approval.approval: approval for approval in info.approvals}
        self.turns = [
            Asked(
                turn=turn.turn,
                title=turn.title,
                task=turn.title,
                started=turn.started,
                status=_STATUS.get(turn.status, "interrupted"),
            )
            for turn in info.turns
        ]

    async def _follow(self, attachment: Attachment) -> None:
        async for item in attachment:
            if isinstance(item, EventMessage):
                continue
            if not isinstance(item, UpdateMessage):
                self._publish(Notice(severity="warning", text=f"{item.lost} updates of the session were left out"))
                continue
            update = read_update(item.update)
            if update is None:  # of a newer version
                continue
            await self._note(update)
            self._publish(update)
        for asked in self.turns:
            if asked.status == "running":
                text = "the process that ran it is gone"
                self._publish(TurnEnded(turn=asked.turn, status="interrupted", text=text, duration_ms=0.0))
        with contextlib.suppress(ControlError):
            await self._stack.aclose()
        await self._lost(self)

    async def _note(self, update: Update) -> None:
        """Keep turns and approvals as they are at the host."""
        match update:
            case TurnBegan(turn=turn, task=task):
                title = task.strip().split("\n", 1)[0][:200]
                self.title = self.title or title
                self.turns.append(Asked(turn=turn, title=title, task=task, started="", status="running"))
            case up.ApprovalAsked():
                with contextlib.suppress(ControlError):
                    found = [info for info in await self._speak().list_sessions() if info.session == self.id]
                    self.approvals = {approval.approval: approval for info in found for approval in info.approvals}
            case up.ApprovalEnded(approval=approval):
                self.approvals.pop(approval, None)

    def _publish(self, update: Update) -> None:
        if isinstance(update, TurnEnded) and (asked := self.turn(update.turn)) is not None:
            asked.status, asked.text = update.status, update.text
        for watcher in tuple(self._watchers):
            watcher(update)

    def _speak(self) -> ControlClient:
        if self._client is None:
            raise ControlError(f"session {self.id}: not attached", code="control_gone")
        return self._client

    def _known(self, turn: str) -> Asked:
        asked = self.turn(turn)
        if asked is None:
            raise UsageError(f"there is no turn {turn[:80]!r}", code="unknown_turn")
        return asked
