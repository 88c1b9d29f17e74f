"""The sessions of one client: which it works with, and how they are opened for it."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import msgspec

from agent_core.agent.archive import Archive
from agent_core.agent.history import History
from agent_core.clock import rfc3339
from agent_core.config.load import load
from agent_core.config.paths import state_dir
from agent_core.config.settings import EFFORTS, Effort, Settings
from agent_core.errors import LooplineError, UsageError
from agent_core.hosting.manager import OpenOptions
from agent_core.hosting.port import SessionHost
from agent_core.hosting.session import HostOptions
from agent_core.runtime.connect import model_book
from agent_core.runtime.endpoint import Endpoint, choose
from agent_core.runtime.models import list_models
from agent_core.turns.views import SessionView
from lsp_server.acp.choices import Choices
from lsp_server.acp.front_end import AcpFrontEnd
from lsp_server.acp.greeting import Abilities
from lsp_server.acp.lines import Json
from lsp_server.acp.sdk import Peer
from lsp_server.acp.session import AcpSession, Terms
from lsp_server.process import Process

LOOK_S = 0.5
"""How long a new session waits for the service's list of models."""
MAX_MODELS = 100


class Desk:
    """Belongs to one client. Sessions themselves belong to the process."""

    def __init__(self, process: Process, peer: Peer) -> None:
        self._process, self._peer = process, peer
        self.can = Abilities()
        self.sessions: dict[str, AcpSession] = {}

    def get(self, session_id: str) -> AcpSession:
        """Raises UsageError (`unknown_session`)."""
        found = self.sessions.get(session_id)
        if found is None:
            raise UsageError(f"session {session_id[:80]!r} is not open here", code="unknown_session")
        return found

    async def new(self, terms: Terms) -> AcpSession:
        """It opens when its first turn needs it. Raises ConfigError."""
        session = await self._session(terms)
        return self._kept(session, self._process.manager.new(self._options(session)))

    async def find(self, session_id: str, terms: Terms) -> AcpSession:
        """The session of that id, whoever hosts it. Raises UsageError, StateError, ConfigError or ControlError."""
        if (known := self.sessions.get(session_id)) is not None:
            return known
        entry = await asyncio.to_thread(self._archive.entry, session_id)
        theirs = {root for root in entry.roots if Path(root).is_dir()}
        if entry.host_pid is None and theirs and not theirs & set(map(str, terms.roots)):
            where = ", ".join(sorted(theirs))
            raise UsageError(f"session {entry.id} belongs to {where}", code="other_folder", hint="open that folder")
        session = await self._session(terms, entry.model)
        return self._kept(session, await self._process.manager.open(session_id, self._options(session)))

    async def fork(self, session_id: str, terms: Terms) -> AcpSession:
        """Raises as `find`."""
        made = await asyncio.to_thread(self._archive.fork, session_id, rfc3339(self._process.clock.wall_ns()))
        return await self.find(made, terms)

    async def close(self, session: AcpSession, limit_s: float) -> None:
        """End what runs, then let go of it; it can be loaded again."""
        self.sessions.pop(session.id, None)
        await session.cancel()
        session.leave()
        await self._process.manager.close_session(session.id, limit_s)

    async def listed(self, folder: str | None) -> list[SessionView]:
        """Newest first; those of other folders are left out where one is named."""
        views = await self._process.manager.listed()
        mine = {session.id: tuple(map(str, session.terms.roots)) for session in self.sessions.values()}
        placed = [msgspec.structs.replace(view, roots=mine.get(view.session_id, view.roots)) for view in views]
        return [view for view in placed if folder is None or folder in view.roots]

    def history(self, session_id: str) -> History:
        """Raises UsageError or StateError."""
        return self._archive.load(session_id)

    def leave(self) -> None:
        """The client is gone."""
        for session in self.sessions.values():
            session.leave()
        self.sessions.clear()

    def endpoint(self) -> Endpoint:
        """Which service and model the user's own settings name. Raises ConfigError."""
        return choose(load(env=self._process.env).settings, self._process.env)

    @property
    def _archive(self) -> Archive:
        return Archive(state_dir(self._process.env) / "sessions")

    def _kept(self, session: AcpSession, host: SessionHost) -> AcpSession:
        known = self.sessions.setdefault(host.id, session)  # somebody else may have opened it meanwhile
        if known is session:
            if session.front_end.documents is not None:
                session.front_end.documents.session_id = host.id

            def tell(update: Json) -> None:
                self._peer.notify("session/update", {"sessionId": host.id, "update": update})

            session.follow(host, self._process.follow(host).watch, tell)
        return known

    def _options(self, session: AcpSession) -> OpenOptions:
        def settings(model: str | None) -> HostOptions:
            """The session's choices of now, as settings."""
            roots, env, choices = session.terms.roots, self._process.env, session.choices
            loaded = load(workspace=roots[0], env=env)
            flags: dict[str, Any] = {"model": model or choices.model or None}
            if choices.approve != loaded.settings.approve:
                flags["approve"] = choices.approve
            if session.terms.servers:
                flags["mcp"] = {**loaded.settings.mcp, **session.terms.servers}
            return HostOptions(roots=roots, client="acp", flags=flags, remote_approvals=True, env=env)

        return OpenOptions(settings=settings, front_end=session.front_end)

    async def _session(self, terms: Terms, model: str = "") -> AcpSession:
        """With what there is to choose from. `model`: that of a session from before."""
        loaded = load(workspace=terms.roots[0], env=self._process.env)
        endpoint = choose(loaded.settings, self._process.env)
        present = model or endpoint.model
        choices = Choices(
            approve=loaded.settings.approve,
            folders=loaded.settings.approve if loaded.origins["approve"].layer == "workspace" else None,
            model=present,
            models=await _models(endpoint, present),
            effort=loaded.settings.effort,
            efforts=_efforts(endpoint, loaded.settings),
        )
        return AcpSession(terms, choices, AcpFrontEnd(self._peer, self.can))


async def _models(endpoint: Endpoint, present: str) -> tuple[str, ...]:
    """Those that the service lists, the present one first; that one alone where it does not say in time."""
    found: list[str] = []
    if endpoint.base_url is not None:
        with contextlib.suppress(LooplineError):
            entries = await list_models(endpoint.base_url, endpoint.api_key, timeout_s=LOOK_S)
            found = [entry.id for entry in entries if entry.id.isprintable()]
    return tuple(dict.fromkeys(each for each in (present, *found) if each))[:MAX_MODELS]


def _efforts(endpoint: Endpoint, settings: Settings) -> tuple[Effort, ...]:
    """Those that the model is known to take."""
    if not endpoint.model or endpoint.note:
        return ()
    fits = model_book(endpoint, settings).of(endpoint.model)
    found: list[Effort] = []
    for effort in EFFORTS:
        with contextlib.suppress(LooplineError):
            fits.check_effort(effort)
            found.append(effort)
    return tuple(found)
