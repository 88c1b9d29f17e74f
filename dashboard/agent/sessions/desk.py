"""The sessions that this process works with, as this front end opens them: on the manager of hosting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from agent_core.agent.archive import Archive, Entry
from agent_core.clock import Clock
from agent_core.config.paths import state_dir
from agent_core.hosting.manager import Move, OpenOptions, SessionManager
from agent_core.hosting.port import FrontEnd, SessionHost
from agent_core.hosting.session import HostOptions
from agent_core.telemetry.emitter import Sink
from agent_core.turns.events import ApprovalAsked, Observer, TurnEvent
from agent_core.variables import variables
from dashboard.agent.conversation.blocks import Block
from dashboard.agent.conversation.past import past
from dashboard.agent.sessions.options import AgentOptions

CLIENT = "tui"


class Relay:
    """An observer that keeps what it is told until somebody listens, and drops it once nobody does any more."""

    def __init__(self) -> None:
        self._kept: list[TurnEvent] | None = []
        self._to: Observer | None = None

    def __call__(self, event: TurnEvent) -> None:
        if self._to is not None:
            self._to(event)
        elif self._kept is not None:
            self._kept.append(event)

    def listen(self, observer: Observer) -> None:
        kept, self._kept, self._to = self._kept, None, observer
        for event in kept or ():
            observer(event)

    def stop(self) -> None:
        self._kept = self._to = None


class Opened(msgspec.Struct, frozen=True):
    """A session, what was said in it before, and what is told of it from then on."""

    host: SessionHost
    blocks: Sequence[Block]
    relay: Relay


class SessionDesk:
    """Owns the manager of this process. `close` at the end."""

    def __init__(
        self,
        options: AgentOptions,
        clock: Clock,
        front_end: FrontEnd,
        sink: Sink,
        moved: Callable[[str, str], None],
        env: Mapping[str, str] | None = None,
    ) -> None:
        """`moved` is told in words when a session goes from one process to another, with its new place."""
        self._options, self._front_end, self._sink, self._moved = options, front_end, sink, moved
        self._env = variables() if env is None else env
        self._manager = SessionManager(self._env, clock)

    @property
    def archive(self) -> Archive:
        return Archive(state_dir(self._env) / "sessions")

    def new(self) -> Opened:
        relay = Relay()
        host = self._manager.new(self._how(relay, new=True))
        host.warm()
        return Opened(host, (), relay)

    async def open(self, session_id: str) -> Opened:
        """The session of that id, whoever hosts it. Raises UsageError, StateError or ControlError."""
        relay, known = Relay(), session_id in self._manager.sessions
        host = await self._manager.open(session_id, self._how(relay, new=False))
        history = await asyncio.to_thread(self.archive.load, session_id)
        if not known:
            for approval in host.view().approvals:
                relay(ApprovalAsked(approval=approval))
        if host.view().place == "live":
            host.warm()
        return Opened(host, past(history), relay)

    async def entries(self) -> list[Entry]:
        """Sessions on this machine, newest first."""
        return await asyncio.to_thread(self.archive.entries)

    def change(self, **flags: str | None) -> None:
        """Settings of sessions that are opened from now on, and of open ones once they are reconfigured."""
        self._options = msgspec.structs.replace(self._options, flags={**self._options.flags, **flags})

    @property
    def busy(self) -> bool:
        """Whether a turn runs or waits in a session here."""
        return self._manager.busy

    @property
    def attended(self) -> bool:
        """Whether another process follows a session here."""
        return self._manager.attended

    async def cancel_turns(self, limit_s: float) -> None:
        """Cancel whatever runs or waits here."""
        await self._manager.cancel_turns(limit_s)

    async def close(self) -> None:
        """End what runs here."""
        await self._manager.close()

    def _how(self, relay: Relay, *, new: bool) -> OpenOptions:
        def moved(session_id: str, move: Move, text: str) -> None:
            self._moved(move, text)

        def settings(model: str | None) -> HostOptions:
            said = self._options
            return HostOptions(
                roots=((Path(),) if new else ()) if said.workspace is None else (said.workspace,),
                client=CLIENT,
                flags={**said.flags, **({"model": model} if model else {})},
                as_it_was=not new,
                remote_approvals=True,
                use_venv=True,
                added=said.added,
                env=self._env,
            )

        return OpenOptions(settings=settings, front_end=self._front_end, observer=relay, sink=self._sink, moved=moved)
