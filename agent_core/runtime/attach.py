"""A session that another live process hosts, used from here over its control socket.

It can be watched, told, answered and cancelled. What is typed here is said to the turn that runs there, or starts one.
Its approvals are asked here as well; whoever answers first counts. The turn goes on if this process ends.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from agent_core.agent.approvals.policy import Approver, nobody
from agent_core.control.client import Attachment, ControlClient
from agent_core.control.lock import SessionHeld
from agent_core.control.messages import ControlError, Said, SessionInfo, UpdateMessage
from agent_core.telemetry.events import Status
from agent_core.turns.approval import Approval
from agent_core.turns.events import (
    ApprovalAsked,
    ApprovalEnded,
    Notice,
    Observer,
    SessionOpened,
    TurnBegan,
    TurnEnded,
    read_event,
)
from agent_core.turns.options import PLAIN, TurnOptions

CANCEL_LIMIT_S = 10.0
"""How long the host may take to end a turn that was cancelled from here."""


class Attached:
    """A hosted session, seen from another process. Build with `attach`."""

    def __init__(self, session: str, client: ControlClient, observer: Observer, approver: Approver) -> None:
        self.id = session
        self._client, self._observer, self._approver = client, observer, approver
        self._info: SessionInfo | None = None
        self._ends: dict[str, TurnEnded] = {}
        self._changed = asyncio.Event()
        self._gone = False
        self._asking: dict[str, asyncio.Task[None]] = {}

    async def say(self, text: str, options: TurnOptions = PLAIN) -> Said:
        """Say something to the turn that runs, or start one with it. Raises ControlError (`control_ending`: the host
        starts none, and ends)."""
        return await self._client.say(self.id, text, options=options)

    async def end_of(self, turn: str) -> TurnEnded | None:
        """Wait for the turn's end; None if its host is gone. Cancelling the wait cancels the turn there."""
        try:
            return await self._wait(turn)
        except asyncio.CancelledError:
            with contextlib.suppress(ControlError, TimeoutError):
                await self._client.cancel(turn)
                async with asyncio.timeout(CANCEL_LIMIT_S):
                    await self._wait(turn)
            raise

    async def _wait(self, turn: str) -> TurnEnded | None:
        while turn not in self._ends and not self._gone:
            self._changed.clear()
            await self._changed.wait()
        return self._ends.get(turn)

    async def follow(self, updates: Attachment) -> None:
        """Hand the session's updates on until it, or its host, is gone."""
        info = await self._look()
        opened = SessionOpened(session_id=self.id, model=info.model or "", endpoint=f"process {self._client.pid}")
        self._observer(opened)
        if info.turns and info.turns[-1].status == "running":
            latest = info.turns[-1]
            self._observer(TurnBegan(session_id=self.id, turn_id=latest.turn, title=latest.title, task=latest.title))
        for approval in info.approvals:
            self._ask(approval)
        try:
            async for item in updates:
                event = read_event(item.update) if isinstance(item, UpdateMessage) else None
                if event is None:
                    continue
                self._observer(event)
                if isinstance(event, TurnEnded):
                    self._ends[event.turn_id] = event
                    self._changed.set()
                elif isinstance(event, ApprovalAsked):
                    self._ask(event.approval)
                elif isinstance(event, ApprovalEnded) and (asking := self._asking.pop(event.approval_id, None)):
                    asking.cancel()
        finally:
            self._gone = True
            self._changed.set()
            for asking in self._asking.values():
                asking.cancel()
            if self._asking:
                await asyncio.wait(self._asking.values())

    async def _look(self) -> SessionInfo:
        for info in await self._client.list_sessions():
            if info.session == self.id:
                return info
        raise ControlError(f"session {self.id} is not hosted there any more", code="control_not_found")

    def _ask(self, approval: Approval) -> None:
        key = approval.approval_id
        if self._approver is not nobody and key not in self._asking:
            self._asking[key] = asyncio.create_task(self._answer(approval), name=key)

    async def _answer(self, approval: Approval) -> None:
        """Ask here; an answer that came too late concerns nobody."""
        decision = await self._approver(approval)
        if decision is not None:
            with contextlib.suppress(ControlError):
                await self._client.answer(approval.approval_id, decision, by="cli")


@asynccontextmanager
async def attach(held: SessionHeld, session: str, *, observer: Observer, approver: Approver) -> AsyncIterator[Attached]:
    """Attach to the process that holds the session. Raises `held` itself where that offers no control socket, and
    ControlError where it does not answer."""
    if held.holder is None or held.holder.socket is None:
        raise held
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(ControlClient(Path(held.holder.socket)))
        updates = await client.attach(session)
        attached = Attached(session, client, observer, approver)
        following = asyncio.create_task(attached.follow(updates), name=f"attached {session}")
        try:
            text = f"attached to process {client.pid}, which hosts this session"
            observer(Notice(severity="info", text=text))
            yield attached
        finally:
            following.cancel()
            await asyncio.wait({following})


def outcome_of(end: TurnEnded | None) -> tuple[Status, str]:
    """How a turn of a hosted session ended, and in which words; None: its host is gone."""
    if end is None:
        return "interrupted", "the process that hosted the session is gone; run the same again to take it over"
    return end.status, end.text
