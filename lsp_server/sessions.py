"""The sessions as one editor sees them: which it works with, which it watches, and how they are opened for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agent_core.agent.archive import Archive, Entry, first_words
from agent_core.agent.history import History
from agent_core.clock import new_id
from agent_core.config import Effort, load, runtime_dir, state_dir
from agent_core.control.client import ControlClient, Host, find_hosts
from agent_core.control.lock import read_holder
from agent_core.control.messages import ControlError, SessionInfo
from agent_core.errors import ConfigError, LooplineError, UsageError
from agent_core.hosting.attached import AttachedHost, turns_of
from agent_core.hosting.local import LocalHost
from agent_core.hosting.port import SessionHost
from agent_core.hosting.session import Hosted, HostOptions, host_session
from agent_core.runtime.connect import model_book
from agent_core.runtime.endpoint import Endpoint, choose
from agent_core.turns.approval import Decision
from agent_core.turns.events import TurnEvent, TurnStatus
from agent_core.turns.views import TurnView
from lsp_server.followed import Watcher
from lsp_server.protocol import methods
from lsp_server.protocol.events import SessionHosting
from lsp_server.settings import stricter_approve

if TYPE_CHECKING:
    from lsp_server.server import LoopServer

TAKE_OVER_TRIES = 5
LOOK_S = 0.5
"""How long a list waits for what other processes say of their sessions."""


class Desk:
    """Belongs to one server object, so to one client. Sessions themselves belong to the process."""

    def __init__(self, server: LoopServer) -> None:
        self._server, self._process = server, server.process
        self._watched: dict[str, tuple[SessionHost, Callable[[], None]]] = {}
        self.current: str | None = None

    # Finding

    @property
    def sessions(self) -> Mapping[str, SessionHost]:
        return self._process.sessions

    def follows(self, session: str) -> bool:
        """Whether this editor is told what happens in a session."""
        return session in self._watched

    def session_of_turn(self, turn: str) -> SessionHost:
        """Raises UsageError (`unknown_turn`)."""
        for session in self.sessions.values():
            if session.turn(turn) is not None:
                return session
        raise UsageError(f"there is no turn {turn[:80]!r}", code="unknown_turn")

    def owned(self) -> list[SessionHost]:
        """Sessions that work for this editor."""
        return [session for session in self.sessions.values() if session.front_end is self._server.front_end]

    # Opening

    def new(self, model: str | None = None) -> SessionHost:
        """A new session; it opens when its first turn needs it, or when warmed. Raises UsageError without a folder."""
        self._roots()
        live = LocalHost(new_id("sess"), self._open, self._process.clock, model=model)
        self._adopt(live)
        return live

    async def find(self, session_id: str) -> SessionHost:
        """The session of that id, whoever hosts it. Raises UsageError, StateError or ControlError."""
        known = self.sessions.get(session_id)
        if known is not None:
            if known.front_end is None:
                known.attend(self._server.front_end)
            self._watch(known)
            self.current = session_id
            return known
        path = self._archive.path(session_id)
        holder = read_holder(path.with_suffix(".lock"))
        if holder is not None:
            return await self._attach(session_id, holder.socket)
        entry = next((found for found in self._archive.entries() if found.id == session_id), Entry(id=session_id))
        self._check_roots(entry)
        turns = _stored_turns(self._archive.load(session_id))
        live = LocalHost(
            session_id, self._open, self._process.clock, title=entry.title, created=entry.created, turns=turns
        )
        self._adopt(live)
        live.warm()
        return live

    async def for_turn(self, session_id: str | None) -> SessionHost:
        """Where a new turn goes: the named session, else the one of the latest turn, else a new one."""
        wanted = session_id or self.current
        session = await self.find(wanted) if wanted is not None else self.new()
        session.attend(self._server.front_end)
        return session

    def leave(self) -> None:
        """The editor is gone: watch nothing more; what runs goes on, unless it was cancelled before."""
        for _, stop in self._watched.values():
            stop()
        self._watched.clear()
        for session in self.owned():
            session.leave(self._server.front_end)

    async def _attach(self, session_id: str, socket: str | None) -> AttachedHost:
        if socket is None:
            raise ControlError(f"session {session_id} is hosted by a process that offers no control socket")
        attached = AttachedHost(session_id, Path(socket), self._taken_over, self._process.clock)
        await attached.attach()
        self._process.add(attached)
        self._watch(attached)
        self.current = session_id
        self._server.events.put(SessionHosting(session_id=session_id, state="attached"))
        attached.attend(self._server.front_end)
        return attached

    async def _taken_over(self, attached: AttachedHost) -> None:
        """The host is gone: host the session here, or attach to whoever was quicker."""
        self._server.events.put(SessionHosting(session_id=attached.id, state="lost", text="its host is gone"))
        self._process.remove(attached)
        for attempt in range(TAKE_OVER_TRIES):
            try:
                session = await self.find(attached.id)
            except LooplineError:
                await self._process.clock.sleep(0.1 * (attempt + 1))
                continue
            session.take_over(attached.view().turns)
            if session.view().place == "live":
                self._server.events.put(SessionHosting(session_id=attached.id, state="live", text="taken over"))
            return
        attached.give_up()

    def _adopt(self, live: LocalHost) -> None:
        self._process.add(live)
        live.attend(self._server.front_end)
        self._watch(live)
        self.current = live.id

    def _watch(self, session: SessionHost) -> None:
        if session.id in self._watched:
            watched, stop = self._watched[session.id]
            if watched is session:
                return
            stop()

        def observe(event: TurnEvent) -> None:
            self._server.updated(session.id, event)

        watcher = Watcher(observe, self._server.events.put, self._server.connection_changed)
        self._watched[session.id] = (session, self._process.followed[session.id].watch(watcher))

    @asynccontextmanager
    async def _open(self, live: LocalHost) -> AsyncIterator[Hosted]:
        """The core's session behind `live`, with the settings of now."""
        roots, env = self._roots(), self._process.env
        flags = self.flags(live.model_wanted)
        endpoint = choose(load(workspace=roots[0], flags=flags, env=env).settings, env)
        stored = (state_dir(env) / "sessions" / f"{live.id}.jsonl").exists()
        options = HostOptions(
            roots=roots,
            client="lsp",
            flags=flags,
            resume=live.id if stored else None,
            session_id=live.id,
            remote_approvals=True,
            env=env,
        )
        async with host_session(
            options,
            observer=live.tell,
            approver=live.ask,
            sinks=(live.sinks,),
            clock=self._process.clock,
            documents=live.documents,
            diagnostics=live,
            rules=live.rules,
            service=await self._process.service() if endpoint.base_url is None else None,
        ) as hosted:
            yield hosted

    def flags(self, model: str | None = None) -> dict[str, Any]:
        """The editor's settings for the core; a folder's stricter `approve` holds."""
        roots, env, settings = self._roots(), self._process.env, self._server.settings
        flags = dict(settings.flags)
        if (chosen := model or self._server.model_selected) is not None:
            flags["model"] = chosen
        loaded = load(workspace=roots[0], env=env)
        if loaded.origins["approve"].layer == "workspace":
            stricter = stricter_approve(flags.get("approve"), loaded.settings.approve)
            flags["approve"] = stricter or flags.get("approve")
        trusted = {*loaded.settings.trusted, *settings.trusted}
        flags["trusted"] = tuple({*trusted, *map(str, roots)} if settings.trust_all else trusted)
        return flags

    def endpoint(self) -> Endpoint | None:
        """Which service and model new turns would use; None while the settings can't say."""
        try:
            roots = self._roots()
            return choose(
                load(workspace=roots[0], flags=self.flags(), env=self._process.env).settings, self._process.env
            )
        except (ConfigError, UsageError):
            return None

    def check_effort(self, effort: Effort) -> None:
        """Raises UsageError (`effort_unsupported`) where the model of new turns is known not to take it."""
        endpoint = self.endpoint()
        if endpoint is not None and endpoint.model:
            settings = load(workspace=self._roots()[0], flags=self.flags(), env=self._process.env).settings
            model_book(endpoint, settings).of(endpoint.model).check_effort(effort)

    # Listing

    async def listed(self) -> methods.SessionList:
        """Sessions of this process and on disk, newest first; those of other folders are left out."""
        entries = await asyncio.to_thread(self._archive.entries)
        roots = set(map(str, self._server.roots))
        found = {entry.id: entry for entry in entries if not roots or not entry.roots or roots & set(entry.roots)}
        shown = [self.described(session, found.get(session.id)) for session in self.sessions.values()]
        known = {session.session_id for session in shown}
        others = [entry for entry in found.values() if entry.id not in known]
        hosted = await self._hosted_elsewhere() if any(entry.host_pid is not None for entry in others) else {}
        shown += [
            methods.Session(
                session_id=entry.id,
                state="elsewhere" if entry.host_pid is not None else "stored",
                title=entry.title,
                created=entry.created,
                model=entry.model,
                turns=tuple(map(_turn, turns_of(hosted[entry.id]))) if entry.id in hosted else (),
                approvals=hosted[entry.id].approvals if entry.id in hosted else (),
            )
            for entry in others
        ]
        return methods.SessionList(sessions=tuple(sorted(shown, key=lambda session: session.created, reverse=True)))

    async def _hosted_elsewhere(self) -> Mapping[str, SessionInfo]:
        """What other processes say of the sessions that they host."""
        return {info.session: info for host in await self._hosts() for info in host.sessions}

    async def _hosts(self) -> list[Host]:
        """Other processes with sessions; those that do not answer in time are left out."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                return await find_hosts(runtime_dir(self._process.env))
        return []

    async def answer_elsewhere(self, approval: str, decision: Decision) -> bool:
        """Answer an approval of a session that is hosted elsewhere and not followed here; False if it is not open.
        Raises ControlError."""
        for host in await self._hosts():
            if any(info.approval_id == approval for session in host.sessions for info in session.approvals):
                async with ControlClient(host.path) as client:
                    await client.answer(approval, decision, by="lsp")
                return True
        return False

    def described(self, session: SessionHost, entry: Entry | None = None) -> methods.Session:
        view = session.view()
        return methods.Session(
            session_id=view.session_id,
            state=view.place,
            title=view.title or (entry.title if entry is not None else ""),
            created=view.created or (entry.created if entry is not None else ""),
            model=view.model or (entry.model if entry is not None else ""),
            turns=tuple(_turn(turn) for turn in view.turns[-50:]),
            approvals=view.approvals,
        )

    @property
    def _archive(self) -> Archive:
        return Archive(state_dir(self._process.env) / "sessions")

    def _roots(self) -> tuple[Path, ...]:
        if not self._server.roots:
            raise UsageError("no folder is open in the editor", code="no_folder", hint="open a folder, then try again")
        return self._server.roots

    def _check_roots(self, entry: Entry) -> None:
        theirs = {root for root in entry.roots if Path(root).is_dir()}
        if theirs and not theirs & set(map(str, self._roots())):
            where = ", ".join(sorted(theirs))
            raise UsageError(f"session {entry.id} belongs to {where}", code="other_folder", hint="open that folder")


def _stored_turns(history: History) -> list[TurnView]:
    """Turns of earlier processes; one that never ended was interrupted."""
    found: dict[str, TurnView] = {}
    titles = first_words(history)
    for record in history.turns:
        if record.turn not in found:
            title = titles.get(record.turn, "")
            found[record.turn] = TurnView(turn_id=record.turn, title=title, task=title, started="")
        turn = found[record.turn]
        ended = record.status in ("completed", "failed", "cancelled")
        turn.status, turn.text = msgspec.convert(record.status if ended else "interrupted", TurnStatus), record.text
    return list(found.values())


def _turn(turn: TurnView) -> methods.Turn:
    return methods.Turn(turn_id=turn.turn_id, title=turn.title, status=turn.status, started=turn.started)
