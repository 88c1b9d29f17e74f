"""The asking side of the control socket: find hosts, list, attach, start turns, steer, answer, cancel, undo."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import msgspec

from agent_core.control.messages import (
    MAX_LINE,
    PROTOCOL,
    AnswerRequest,
    AttachRequest,
    CancelRequest,
    CompactRequest,
    ControlError,
    Detached,
    EventMessage,
    Gap,
    Hello,
    ListRequest,
    Refused,
    Reply,
    ReplyRequest,
    Request,
    Said,
    SayRequest,
    SessionInfo,
    Started,
    StartRequest,
    Steered,
    SteerRequest,
    Undone,
    UndoRequest,
    UpdateMessage,
    encode,
    read_message,
)
from agent_core.control.sockets import dial, list_sockets
from agent_core.turns.approval import Decision
from agent_core.turns.options import PLAIN, TurnOptions

ANSWER_S = 15.0
"""Longest wait for a reply; the host gives up earlier."""
LOOK_S = 2.0
"""Longest wait for a host while looking around; one that hangs must not hide the others."""
MAX_WAITING = 2_000
"""Updates kept for an attachment that is not read; the oldest become a gap."""

Result = TypeVar("Result")


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """A process that offers a control socket, and the sessions it hosts."""

    path: Path
    pid: int
    sessions: tuple[SessionInfo, ...]


class Attachment:
    """Updates of one session as they come, and its telemetry if that was asked for; ends when the session or its host
    does."""

    def __init__(self) -> None:
        self._waiting: deque[UpdateMessage | EventMessage] = deque()
        self._lost = 0
        self._ended = False
        self._filled = asyncio.Event()

    def put(self, message: UpdateMessage | EventMessage | Gap) -> None:
        if isinstance(message, Gap):
            self._lost += message.lost
        else:
            self._waiting.append(message)
            if len(self._waiting) > MAX_WAITING:
                self._waiting.popleft()
                self._lost += 1
        self._filled.set()

    def end(self) -> None:
        self._ended = True
        self._filled.set()

    async def __aiter__(self) -> AsyncIterator[UpdateMessage | EventMessage | Gap]:
        session = ""
        while True:
            await self._filled.wait()
            self._filled.clear()
            while self._waiting or self._lost:
                if self._lost:
                    lost, self._lost = self._lost, 0
                    yield Gap(session=session, lost=lost)
                else:
                    message = self._waiting.popleft()
                    session = message.session
                    yield message
            if self._ended:
                return


class ControlClient:
    """An async context manager around one connection. Methods may be called concurrently.

    Methods raise `ControlError` with the host's code, or `control_gone` once the connection is lost.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.pid = 0
        self._next = 0
        self._pending: dict[int, asyncio.Future[Reply]] = {}
        self._attachments: dict[str, Attachment] = {}
        self._reading: asyncio.Task[None] | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> ControlClient:
        dialled = await asyncio.to_thread(dial, self._path)
        reader, self._writer = await asyncio.open_unix_connection(sock=dialled, limit=MAX_LINE)
        try:
            self.pid = await self._greeted(reader)
        except BaseException:
            self._writer.transport.abort()
            raise
        self._reading = asyncio.create_task(self._read(reader), name="control-client")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._writer is not None and self._reading is not None
        self._writer.transport.abort()
        self._reading.cancel()
        await asyncio.wait([self._reading])

    async def list_sessions(self) -> Sequence[SessionInfo]:
        return await self._ask(ListRequest(id=self._new_id()), list[SessionInfo])

    async def answer(self, approval: str, decision: Decision, *, by: str) -> None:
        """Answer an open approval as the front end `by`; `control_not_found` (or the host's own code) if it is not open
        any more."""
        await self._ask(AnswerRequest(id=self._new_id(), approval=approval, decision=decision, by=by), type(None))

    async def reply(self, question: str, text: str, *, by: str = "") -> None:
        """Answer an open question as the front end `by`; `control_not_found` if it is not open any more."""
        await self._ask(ReplyRequest(id=self._new_id(), question=question, text=text, by=by), type(None))

    async def cancel(self, turn: str) -> None:
        await self._ask(CancelRequest(id=self._new_id(), turn=turn), type(None))

    async def steer(self, turn: str, text: str) -> Steered:
        return await self._ask(SteerRequest(id=self._new_id(), turn=turn, text=text), Steered)

    async def start(self, session: str, task: str, *, turn: str | None = None, options: TurnOptions = PLAIN) -> Started:
        """Start a turn; `turn_running` while one runs. It goes on if this client leaves."""
        request = StartRequest(id=self._new_id(), session=session, task=task, turn=turn, options=options)
        return await self._ask(request, Started)

    async def say(self, session: str, text: str, *, options: TurnOptions = PLAIN) -> Said:
        """Say something to the turn that runs, or start one with it, and with `options`."""
        return await self._ask(SayRequest(id=self._new_id(), session=session, text=text, options=options), Said)

    async def undo(self, session: str, turn: str, *, files: bool = True, conversation: bool = False) -> Undone:
        """Take back what a turn did; what is refused has the session's own code (`undo_off`, `unknown_turn`, …)."""
        request = UndoRequest(id=self._new_id(), session=session, turn=turn, files=files, conversation=conversation)
        return await self._ask(request, Undone)

    async def compact(self, session: str) -> None:
        """Make the conversation shorter; `turn_running` while one runs. It goes on if this client leaves."""
        await self._ask(CompactRequest(id=self._new_id(), session=session), type(None))

    async def attach(self, session: str, *, events: bool = False) -> Attachment:
        """Updates of a session from now on; `events`: telemetry as well, as `EventMessage`."""
        attachment = self._attachments.setdefault(session, Attachment())
        try:
            await self._ask(AttachRequest(id=self._new_id(), session=session, events=events), type(None))
        except ControlError:
            self._attachments.pop(session, None)
            raise
        return attachment

    async def _greeted(self, reader: asyncio.StreamReader) -> int:
        """The host's process id, from its hello."""
        try:
            async with asyncio.timeout(ANSWER_S):
                hello = read_message(await reader.readuntil())
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ControlError) as error:
            raise ControlError(f"{self._path}: no control socket of Loopline", code="control_gone") from error
        if isinstance(hello, Refused):
            raise ControlError(f"{self._path}: {hello.message}", code=hello.code)
        if not isinstance(hello, Hello) or hello.protocol != PROTOCOL:
            raise ControlError(
                f"{self._path}: speaks another version",
                code="control_unsupported",
                hint="update Loopline on both sides",
            )
        return hello.pid

    def _new_id(self) -> int:
        self._next += 1
        return self._next

    async def _ask(self, request: Request, result: type[Result]) -> Result:
        assert self._writer is not None and self._reading is not None
        if self._reading.done():
            raise self._gone()
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._pending[request.id] = future
        try:
            async with asyncio.timeout(ANSWER_S):
                self._writer.write(encode(request))
                await self._writer.drain()
                reply = await future
            return msgspec.json.decode(reply.result, type=result)
        except TimeoutError as error:
            raise ControlError(f"{self._path}: no answer in time", code="control_busy") from error
        except OSError as error:
            raise self._gone() from error
        except msgspec.DecodeError as error:
            raise ControlError(f"{self._path}: an answer of another form", code="control_bad_message") from error
        finally:
            self._pending.pop(request.id, None)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                self._take(await reader.readuntil())
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ControlError):
            return
        finally:
            for future in self._pending.values():
                if not future.done():
                    future.set_exception(self._gone())
            for attachment in self._attachments.values():
                attachment.end()

    def _take(self, line: bytes) -> None:
        match read_message(line):
            case Reply() as reply:
                future = self._pending.get(reply.id)
                if future is not None and not future.done():
                    future.set_result(reply)
            case Refused(id=int(request)) as refused:
                future = self._pending.get(request)
                if future is not None and not future.done():
                    future.set_exception(ControlError(refused.message, code=refused.code, hint=refused.hint))
            case Refused() as refused:
                raise ControlError(refused.message, code=refused.code, hint=refused.hint)
            case UpdateMessage() | EventMessage() | Gap() as message:
                attachment = self._attachments.get(message.session)
                if attachment is not None:
                    attachment.put(message)
            case Detached(session=session):
                attachment = self._attachments.pop(session, None)
                if attachment is not None:
                    attachment.end()

    def _gone(self) -> ControlError:
        return ControlError(f"{self._path}: the host is gone", code="control_gone")


async def find_hosts(folder: Path) -> list[Host]:
    """The hosts of this user that answer, with their sessions. Those that do not are left out."""
    found = await asyncio.gather(*(_look(path) for path in list_sockets(folder)))
    return [host for host in found if host is not None]


async def _look(path: Path) -> Host | None:
    with contextlib.suppress(ControlError, TimeoutError):
        async with asyncio.timeout(LOOK_S), ControlClient(path) as client:
            return Host(path=path, pid=client.pid, sessions=tuple(await client.list_sessions()))
    return None
