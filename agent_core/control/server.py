"""The hosting side of the control socket. It decides nothing: what a request does is handed in as `Handlers`.

Every connection is one reader, which handles requests one after the other, and one writer with a bounded mailbox. A
client that does not read loses updates and is told so; one that does not read for long is disconnected.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from agent_core.control.mailbox import Mailbox
from agent_core.control.messages import (
    MAX_LINE,
    PROTOCOL,
    AnswerRequest,
    AnyRequest,
    AttachRequest,
    CancelRequest,
    CompactRequest,
    ControlError,
    DetachRequest,
    Hello,
    ListRequest,
    Reply,
    ReplyRequest,
    Said,
    SayRequest,
    SessionInfo,
    Started,
    StartRequest,
    Steered,
    SteerRequest,
    Undone,
    UndoRequest,
    encode,
    read_request,
    refusal,
    request_head,
)
from agent_core.control.sockets import clean_stale, key_file, listen, peer_pid, peer_uid, remove
from agent_core.errors import LooplineError
from agent_core.text import to_json
from agent_core.turns.approval import Decision

log = logging.getLogger(__name__)

MAX_CLIENTS = 16
HANDLER_S = 10.0
"""Longest time a request may take."""
KEY_S = 5.0
"""Who has not said the key by then is sent away."""
WRITE_S = 10.0
"""A client that takes nothing for so long is disconnected."""

Push = Callable[[bytes], None]
"""Takes one JSON object for the client; never blocks, never raises. Call it on the event loop."""
Detach = Callable[[], None]


@dataclass(frozen=True, kw_only=True)
class Handlers:
    """What the host does on request. Each may raise any `LooplineError`; its code and message go to the client.

    `attach` starts pushing a session's updates, and its telemetry where a second `Push` is given, and gives back how to
    stop it. Only what `start`, `say`, `undo` and `compact` decide is awaited; a turn's end is an update.
    """

    list_sessions: Callable[[], Awaitable[Sequence[SessionInfo]]]
    attach: Callable[[str, Push, Push | None], Awaitable[Detach]]
    answer: Callable[[str, Decision, str], Awaitable[None]]
    reply: Callable[[str, str, str], Awaitable[None]]
    cancel: Callable[[str], Awaitable[None]]
    steer: Callable[[str, str], Awaitable[Steered]]
    start: Callable[[StartRequest], Awaitable[Started]]
    say: Callable[[SayRequest], Awaitable[Said]]
    undo: Callable[[UndoRequest], Awaitable[Undone]]
    compact: Callable[[str], Awaitable[None]]


class ControlServer:
    """An async context manager: listens while it is open, and leaves no socket behind.

    Raises `ControlError` on entering if no socket can be made; a host should go on without one then.
    """

    def __init__(self, folder: Path, handlers: Handlers, refuses: Callable[[int], bool] = lambda pid: False) -> None:
        """`refuses` says of a process id whether nobody there may come in: commands of our own sessions."""
        self._folder, self._handlers, self._refuses = folder, handlers, refuses
        self._key = b""
        self._clients: set[asyncio.Task[None]] = set()
        self._mailboxes: dict[str, set[Mailbox]] = {}
        self._server: asyncio.Server | None = None
        self._closing = False
        self._path: Path | None = None

    @property
    def path(self) -> Path:
        """Of the socket; only while open."""
        assert self._path is not None
        return self._path

    async def __aenter__(self) -> ControlServer:
        clean_stale(self._folder)
        listener, self._path = listen(self._folder)
        self._key = key_file(self._path).read_bytes()
        self._server = await asyncio.start_unix_server(self._serve, sock=listener, limit=MAX_LINE, start_serving=False)
        try:
            await self._server.start_serving()
        except BaseException:  # cancelled while the loop listens already: closing the socket alone would leave it there
            self._server.close()
            remove(self._path)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._closing = True
        remove(self.path)
        self._server.close()
        for task in self._clients:
            task.cancel()
        if self._clients:
            await asyncio.wait(self._clients)

    def end_session(self, session: str) -> None:
        """The session was closed: whoever is attached is told, after the updates that wait."""
        for mailbox in self._mailboxes.pop(session, set()):
            mailbox.detached(session)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        try:
            if not self._closing:
                await self._talk(reader, writer)
        except (OSError, asyncio.CancelledError, ControlError) as error:
            log.debug("a control client went: %s", type(error).__name__)
        finally:
            self._clients.discard(task)
            writer.transport.abort()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if peer_uid(writer.get_extra_info("socket")) != os.geteuid():
            raise ControlError("another user")
        pid = peer_pid(writer.get_extra_info("socket"))
        if not await self._has_key(reader) or (pid is not None and self._refuses(pid)):
            writer.write(encode(refusal(None, ControlError("not let in", code="control_refused"))))
            await asyncio.wait_for(writer.drain(), WRITE_S)
            writer.close()
            raise ControlError("without the key, or a command of ours")
        mailbox = Mailbox()
        mailbox.put(encode(Hello(protocol=PROTOCOL, pid=os.getpid())))
        if len(self._clients) > MAX_CLIENTS:
            mailbox.put(encode(refusal(None, ControlError(f"more than {MAX_CLIENTS} clients"))))
            mailbox.close()
        attached: dict[str, Detach] = {}
        writing = asyncio.create_task(self._write(mailbox, writer), name="control-writer")
        reading = asyncio.create_task(self._read(reader, mailbox, attached), name="control-reader")
        try:
            await asyncio.wait([writing, reading], return_when=asyncio.FIRST_COMPLETED)
            mailbox.close()
            if not writing.done():
                await asyncio.wait([writing], timeout=WRITE_S)
        finally:
            for session, detach in attached.items():
                self._mailboxes.get(session, set()).discard(mailbox)
                detach()
            for task in (writing, reading):
                task.cancel()
            await asyncio.wait([writing, reading])
            for task in (writing, reading):
                if not task.cancelled() and (error := task.exception()) is not None:
                    log.debug("a control client went: %s", type(error).__name__)

    async def _has_key(self, reader: asyncio.StreamReader) -> bool:
        """Whether the first line is the key."""
        try:
            async with asyncio.timeout(KEY_S):
                line = await reader.readuntil()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return False
        return hmac.compare_digest(line.rstrip(b"\n"), self._key)

    async def _read(self, reader: asyncio.StreamReader, mailbox: Mailbox, attached: dict[str, Detach]) -> None:
        while True:
            try:
                line = await reader.readuntil()
            except asyncio.IncompleteReadError:
                return
            except asyncio.LimitOverrunError:
                too_long = ControlError(f"a message above {MAX_LINE} bytes", code="control_bad_message")
                mailbox.put(encode(refusal(None, too_long)))
                return
            mailbox.put(await self._reply(line, mailbox, attached))

    async def _reply(self, line: bytes, mailbox: Mailbox, attached: dict[str, Detach]) -> bytes:
        head = request_head(line)
        request_id = head[0] if head is not None else None
        try:
            request = read_request(line)
            async with asyncio.timeout(HANDLER_S):
                result = await self._handle(request, mailbox, attached)
        except TimeoutError:
            return encode(refusal(request_id, ControlError("no answer in time", code="control_busy")))
        except LooplineError as error:
            return encode(refusal(request_id, error))
        except Exception:
            log.exception("a control request failed")
            return encode(refusal(request_id, ControlError("the host failed; its log says why", code="control_failed")))
        return encode(Reply(id=request.id, result=msgspec.Raw(to_json(result))))

    async def _handle(self, request: AnyRequest, mailbox: Mailbox, attached: dict[str, Detach]) -> Any:
        handlers = self._handlers
        match request:
            case ListRequest():
                return await handlers.list_sessions()
            case AttachRequest(session=session, events=events):
                if session not in attached:
                    mailbox.attach(session)
                    push_event = partial(mailbox.event, session) if events else None
                    attached[session] = await handlers.attach(session, partial(mailbox.update, session), push_event)
                    self._mailboxes.setdefault(session, set()).add(mailbox)
            case DetachRequest(session=session):
                if session in attached:
                    attached.pop(session)()
                    self._mailboxes.get(session, set()).discard(mailbox)
                    mailbox.detached(session)
            case AnswerRequest():
                await handlers.answer(request.approval, request.decision, request.by)
            case CancelRequest():
                await handlers.cancel(request.turn)
            case SteerRequest():
                return await handlers.steer(request.turn, request.text)
            case ReplyRequest():
                await handlers.reply(request.question, request.text, request.by)
            case StartRequest():
                return await handlers.start(request)
            case SayRequest():
                return await handlers.say(request)
            case UndoRequest():
                return await handlers.undo(request)
            case CompactRequest(session=session):
                await handlers.compact(session)
        return None

    async def _write(self, mailbox: Mailbox, writer: asyncio.StreamWriter) -> None:
        async for batch in mailbox:
            writer.write(batch)
            async with asyncio.timeout(WRITE_S):
                await writer.drain()
