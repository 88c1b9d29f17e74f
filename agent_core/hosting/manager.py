"""The sessions of this process: made, opened wherever they are, listed, and closed with it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from agent_core.agent.archive import Archive, Entry, first_words
from agent_core.clock import Clock, new_id, rfc3339
from agent_core.config.paths import runtime_dir, state_dir
from agent_core.control.client import ControlClient, Host, find_hosts
from agent_core.control.lock import SessionHeld, read_holder
from agent_core.control.messages import ControlError, SessionInfo
from agent_core.errors import LooplineError
from agent_core.hosting.attached import AttachedHost, turns_of
from agent_core.hosting.audience import Audience
from agent_core.hosting.local import LocalHost, Settings
from agent_core.hosting.managed import ManagedSession
from agent_core.hosting.port import FrontEnd, SessionHost
from agent_core.hosting.stored import stored_turns
from agent_core.runtime.embedded import SharedService
from agent_core.telemetry.emitter import Sink
from agent_core.turns.approval import Decision
from agent_core.turns.events import Observer
from agent_core.turns.views import SessionView

LOOKS, LOOK_AGAIN_S = 10, 0.2
"""How often a session is looked at again whose host does not answer and still holds it."""
LOOK_S = 0.5
"""How long a list waits for what other processes say of their sessions."""
GONE = "the process that hosted the session is gone, and it could not be taken over"

Move = Literal["attached", "lost", "live"]
"""What became of a session: attached to its host in another process, that host lost, hosted here from now on."""


def _nothing(session_id: str, move: Move, text: str) -> None:
    """Nobody asked to be told."""


class OpenOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a session is opened for a front end.

    `settings` says how it is hosted here, each time it is opened; `model`: the one chosen for it, None: what the
    settings say. `front_end` attends where none does. `observer` and `sink` are told everything from the very opening
    on, `moved` when the session is attached, lost or taken over. `wait`: opening is waited for, and what keeps it from
    that raised; else the first turn opens the session.
    """

    settings: Settings
    front_end: FrontEnd | None = None
    model: str | None = None
    observer: Observer | None = None
    sink: Sink | None = None
    moved: Callable[[str, Move, str], None] = _nothing
    wait: bool = False


class SessionManager:
    """Owns the sessions that this process hosts or is attached to, and the embedded service they share."""

    def __init__(self, env: Mapping[str, str], clock: Clock) -> None:
        self.service = SharedService(env, clock)
        self._env, self._clock, self._states = env, clock, state_dir(env)
        self._archive = Archive(self._states / "sessions")
        self._sessions: dict[str, ManagedSession] = {}
        self._opening: dict[str, asyncio.Lock] = {}

    @property
    def sessions(self) -> Mapping[str, SessionHost]:
        """Those of this process, by id."""
        return self._sessions

    # Opening

    def new(self, options: OpenOptions) -> SessionHost:
        """A new session. `wait` counts for nothing here: see `SessionHost.ready`."""
        audience = self._audience(new_id("sess"), options)
        audience.created = rfc3339(self._clock.wall_ns())
        return self._keep(audience, self._local(audience, options))

    async def open(self, session_id: str, options: OpenOptions) -> SessionHost:
        """The session of that id: the one here, else attached to its host, else hosted here from now on. Raises
        UsageError for what is no id, StateError where there is none, ControlError where its host can't be reached, and
        what keeps it from opening."""
        async with self._opening.setdefault(session_id, asyncio.Lock()):
            known = self._sessions.get(session_id)
            if known is None:
                self._archive.path(session_id)
                audience = self._audience(session_id, options)
                return self._keep(audience, await self._found(audience, options, wait=options.wait))
        if known.front_end is None and options.front_end is not None:
            known.attend(options.front_end)
        if options.observer is not None:
            known.subscribe(options.observer, sink=options.sink, catch_up=True)
        if options.wait:
            await known.ready()
        return known

    def _audience(self, session_id: str, options: OpenOptions) -> Audience:
        audience = Audience(session_id, self._clock)
        if options.front_end is not None:
            audience.attend(options.front_end)
        if options.observer is not None:
            audience.subscribe(options.observer, options.sink, None)
        return audience

    def _keep(self, audience: Audience, at: LocalHost | AttachedHost) -> ManagedSession:
        session = self._sessions[audience.id] = ManagedSession(audience, at)
        return session

    async def _found(self, audience: Audience, options: OpenOptions, *, wait: bool) -> LocalHost | AttachedHost:
        """Where the session is hosted: attached to whoever holds it, else here. Raises LooplineError."""
        for looks_left in range(LOOKS, -1, -1):
            try:
                return await self._attached(audience, options) or await self._taken(audience, options, wait=wait)
            except ControlError as error:  # its host just ends, or begins
                if error.code not in ("control_gone", "control_not_found", SessionHeld.code) or not looks_left:
                    raise
            await self._clock.sleep(LOOK_AGAIN_S)
        raise AssertionError("the last look returns or raises")

    async def _attached(self, audience: Audience, options: OpenOptions) -> AttachedHost | None:
        """None: no other process hosts the session."""
        lock = self._archive.path(audience.id).with_suffix(".lock")
        holder = read_holder(lock)
        if holder is None:
            return None
        if holder.socket is None:
            raise SessionHeld(lock, holder)

        async def lost() -> None:
            session = self._sessions.get(audience.id)
            if session is not None:
                await self._lost(session, audience, options)

        attached = AttachedHost(audience, Path(holder.socket), self._states, lost)
        await attached.attach()
        options.moved(audience.id, "attached", f"attached to process {attached.pid}, which hosts this session")
        attached.follow()
        return attached

    async def _taken(self, audience: Audience, options: OpenOptions, *, wait: bool) -> LocalHost:
        history = await asyncio.to_thread(self._archive.load, audience.id)
        audience.created = history.header.created
        audience.turns.title = history.title or next(iter(first_words(history).values()), "") or audience.turns.title
        audience.turns.prepend(stored_turns(history))
        host = self._local(audience, options)
        try:
            if wait:
                await host.ready()
        except BaseException:
            await host.close()
            raise
        return host

    def _local(self, audience: Audience, options: OpenOptions) -> LocalHost:
        return LocalHost(audience, options.settings, self.service, self._clock, model=options.model)

    async def _lost(self, session: ManagedSession, audience: Audience, options: OpenOptions) -> None:
        """The host is gone: host the session here, or attach to whoever was quicker. Closed meanwhile, it is let go."""
        options.moved(session.id, "lost", "its host is gone")
        try:
            at = await self._found(audience, options, wait=bool(audience.turns.queued))
        except LooplineError as error:
            self._sessions.pop(session.id, None)
            for turn in audience.turns.queued:
                audience.end(turn, "failed", f"{GONE}: {error.message}")
            return
        if self._sessions.get(session.id) is not session:
            await at.close()
            return
        session.move_to(at)
        if at.place == "live":
            options.moved(session.id, "live", "taken over")

    # Looking

    async def listed(self) -> list[SessionView]:
        """Sessions of this process, of others and on disk, newest first."""
        entries = {entry.id: entry for entry in await asyncio.to_thread(self._archive.entries)}
        shown = [_with_entry(session.view(), entries.get(session.id)) for session in self._sessions.values()]
        others = [entry for entry in entries.values() if entry.id not in self._sessions]
        there = await self._hosted_elsewhere() if any(entry.host_pid is not None for entry in others) else {}
        shown += [_stored(entry, there.get(entry.id)) for entry in others]
        return sorted(shown, key=lambda view: view.created, reverse=True)

    async def _hosted_elsewhere(self) -> Mapping[str, SessionInfo]:
        """What other processes say of the sessions that they host."""
        return {info.session: info for host in await self._hosts() for info in host.sessions}

    async def _hosts(self) -> list[Host]:
        """Other processes with sessions; those that do not answer in time are left out."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                return await find_hosts(runtime_dir(self._env))
        return []

    async def answer(self, approval_id: str, decision: Decision, *, by: str) -> bool:
        """Answer an approval wherever it is open; False if nobody knows it. True as well where somebody else was
        quicker just now. Raises ControlError."""
        for session in tuple(self._sessions.values()):
            if await session.answer(approval_id, decision, by=by):
                return True
        for host in await self._hosts():
            if any(info.approval_id == approval_id for session in host.sessions for info in session.approvals):
                return await _answered(host, approval_id, decision, by)
        return False

    async def reply(self, question_id: str, text: str, *, by: str) -> bool:
        """Answer what the model asks, in a session of this process; False if nobody knows it. Raises ControlError."""
        for session in tuple(self._sessions.values()):
            if await session.reply(question_id, text, by=by):
                return True
        return False

    @property
    def busy(self) -> bool:
        """Whether a turn runs or waits here."""
        return any(session.busy for session in self._sessions.values())

    @property
    def attended(self) -> bool:
        """Whether another process follows one of the sessions."""
        return any(session.attended for session in self._sessions.values())

    # Ending

    async def cancel_turns(self, limit_s: float) -> None:
        """Cancel whatever runs or waits here, and wait `limit_s` seconds at most for its end."""
        stopping = [asyncio.ensure_future(session.cancel_all()) for session in self._sessions.values()]
        if stopping:
            await asyncio.wait(stopping, timeout=limit_s)

    async def close_session(self, session_id: str, limit_s: float) -> None:
        """Let go of one: what runs here is cancelled, `limit_s` seconds at most are waited for its end."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limit_s):
                    await session.cancel_all()
            await session.close()

    async def close(self) -> None:
        """End the sessions, then the service."""
        await asyncio.gather(*(session.close() for session in self._sessions.values()), return_exceptions=True)
        self._sessions.clear()
        await self.service.close()


async def _answered(host: Host, approval_id: str, decision: Decision, by: str) -> bool:
    async with ControlClient(host.path) as client:
        try:
            await client.answer(approval_id, decision, by=by)
        except ControlError as error:
            if error.code != "control_not_found":
                raise
    return True


def _with_entry(view: SessionView, entry: Entry | None) -> SessionView:
    """What only the file knows, of a session that is open."""
    if entry is None:
        return view
    return msgspec.structs.replace(
        view,
        title=view.title or entry.title,
        created=view.created or entry.created,
        model=view.model or entry.model,
        roots=entry.roots,
    )


def _stored(entry: Entry, info: SessionInfo | None) -> SessionView:
    """`info` is what its host says, where it has one that answers."""
    return SessionView(
        session_id=entry.id,
        place="elsewhere" if entry.host_pid is not None else "stored",
        title=entry.title,
        created=entry.created,
        model=entry.model,
        turns=tuple(turns_of(info)) if info is not None else (),
        approvals=info.approvals if info is not None else (),
        questions=info.questions if info is not None else (),
        roots=entry.roots,
    )
