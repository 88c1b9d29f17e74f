"""The sessions as one editor sees them: which it works with, which it watches, and how they are opened for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from agent_core.agent.archive import Archive
from agent_core.config.load import load
from agent_core.config.paths import state_dir
from agent_core.config.settings import Effort
from agent_core.errors import ConfigError, UsageError
from agent_core.hosting.manager import Move, OpenOptions
from agent_core.hosting.port import FrontEnd, SessionHost
from agent_core.hosting.session import HostOptions
from agent_core.runtime.connect import model_book
from agent_core.runtime.endpoint import Endpoint, choose
from agent_core.turns.views import SessionView, TurnView
from lsp_server.bus import Bus
from lsp_server.followed import Watcher
from lsp_server.process import Process
from lsp_server.protocol import methods
from lsp_server.protocol.events import SessionHosting
from lsp_server.settings import EditorSettings, stricter_approve
from lsp_server.stream import EventStream


class Owner(Protocol):
    """The editor, as far as its sessions know it."""

    process: Process
    settings: EditorSettings
    roots: tuple[Path, ...]
    model_selected: str | None
    events: EventStream
    bus: Bus

    @property
    def front_end(self) -> FrontEnd: ...

    def connection_changed(self, state: str) -> None: ...


class Desk:
    """Belongs to one editor. Sessions themselves belong to the process."""

    def __init__(self, owner: Owner) -> None:
        self._owner, self._process = owner, owner.process
        self._watched: dict[str, Callable[[], None]] = {}
        self.current: str | None = None

    # Finding

    @property
    def sessions(self) -> Mapping[str, SessionHost]:
        return self._process.manager.sessions

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
        return [session for session in self.sessions.values() if session.front_end is self._owner.front_end]

    # Opening

    def new(self, model: str | None = None) -> SessionHost:
        """A new session; it opens when its first turn needs it, or when warmed. Raises UsageError without a folder."""
        self._roots()
        session = self._process.manager.new(self._options(model))
        self._watch(session)
        return session

    async def find(self, session_id: str) -> SessionHost:
        """The session of that id, whoever hosts it. Raises UsageError, StateError or ControlError."""
        known = session_id in self.sessions
        if not known:
            await asyncio.to_thread(self._check_roots, session_id)
        session = await self._process.manager.open(session_id, self._options())
        self._watch(session)
        if not known:
            session.warm()
        return session

    async def for_turn(self, session_id: str | None) -> SessionHost:
        """Where a new turn goes: the named session, else the one of the latest turn, else a new one."""
        wanted = session_id or self.current
        session = await self.find(wanted) if wanted is not None else self.new()
        session.attend(self._owner.front_end)
        return session

    def leave(self) -> None:
        """The editor is gone: watch nothing more; what runs goes on, unless it was cancelled before."""
        for stop in self._watched.values():
            stop()
        self._watched.clear()
        for session in self.owned():
            session.leave(self._owner.front_end)

    def _options(self, model: str | None = None) -> OpenOptions:
        return OpenOptions(settings=self._settings, front_end=self._owner.front_end, model=model, moved=self._moved)

    def _moved(self, session_id: str, move: Move, text: str) -> None:
        self._owner.events.put(SessionHosting(session_id=session_id, state=move, text=text))
        if move == "live":
            self.sessions[session_id].warm()

    def _watch(self, session: SessionHost) -> None:
        self.current = session.id
        if session.id not in self._watched:
            observe = partial(self._owner.bus.updated, session.id)
            watcher = Watcher(observe, self._owner.events.put, self._owner.connection_changed)
            self._watched[session.id] = self._process.follow(session).watch(watcher)

    # Settings

    def _settings(self, model: str | None) -> HostOptions:
        """The settings of now for the core's session."""
        return HostOptions(
            roots=self._roots(), client="lsp", flags=self.flags(model), remote_approvals=True, env=self._process.env
        )

    def flags(self, model: str | None = None) -> dict[str, Any]:
        """The editor's settings for the core; a folder's stricter `approve` holds."""
        roots, env, settings = self._roots(), self._process.env, self._owner.settings
        flags = dict(settings.flags)
        if (chosen := model or self._owner.model_selected) is not None:
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
        roots = set(map(str, self._owner.roots))
        views = [
            view
            for view in await self._process.manager.listed()
            if view.place in ("live", "attached") or not roots or not view.roots or roots & set(view.roots)
        ]
        return methods.SessionList(sessions=tuple(map(described, views)))

    def _roots(self) -> tuple[Path, ...]:
        if not self._owner.roots:
            raise UsageError("no folder is open in the editor", code="no_folder", hint="open a folder, then try again")
        return self._owner.roots

    def _check_roots(self, session_id: str) -> None:
        """A session that nobody hosts is resumed where it worked only. Raises UsageError, StateError."""
        entry = Archive(state_dir(self._process.env) / "sessions").entry(session_id)
        theirs = {root for root in entry.roots if Path(root).is_dir()}
        if entry.host_pid is None and theirs and not theirs & set(map(str, self._roots())):
            where = ", ".join(sorted(theirs))
            raise UsageError(f"session {entry.id} belongs to {where}", code="other_folder", hint="open that folder")


def described(view: SessionView) -> methods.Session:
    """A session with its latest turns, as editors are told it."""
    return methods.Session(
        session_id=view.session_id,
        state=view.place,
        title=view.title,
        created=view.created,
        model=view.model,
        turns=tuple(_turn(turn) for turn in view.turns[-50:]),
        approvals=view.approvals,
        questions=view.questions,
    )


def _turn(turn: TurnView) -> methods.Turn:
    return methods.Turn(turn_id=turn.turn_id, title=turn.title, status=turn.status, started=turn.started)
