"""One session as a client works with it: what it chose, the prompts it waits for, and what it is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from agent_core.errors import LooplineError
from agent_core.hosting.port import SessionHost
from agent_core.turns.events import TurnEnded, TurnEvent
from lsp_server.acp.choices import Choices
from lsp_server.acp.front_end import AcpFrontEnd
from lsp_server.acp.lines import Json
from lsp_server.acp.updates import Updates
from lsp_server.followed import Watcher
from lsp_server.protocol.events import AnyEvent, Call

MAX_FIGURES = 200
"""Calls of one turn whose figures its answer has."""


class Terms(msgspec.Struct, frozen=True):
    """What a client gives for a session: its folders, the first one foremost, and MCP servers."""

    roots: tuple[Path, ...]
    servers: Mapping[str, Mapping[str, Any]]


class Prompted(msgspec.Struct, frozen=True):
    """How a prompt ended, and the figures of its calls, in order. `ended` None: the session was closed before."""

    ended: TurnEnded | None
    figures: tuple[Call, ...] = ()


class AcpSession:
    """Owns the choices of its client, and which turns it waits for. `tell` sends an update."""

    def __init__(self, terms: Terms, choices: Choices, front_end: AcpFrontEnd) -> None:
        self.terms, self.choices, self.front_end = terms, choices, front_end
        self.tell: Callable[[Json], None] = lambda update: None
        self._host: SessionHost | None = None
        self._stop: Callable[[], None] = lambda: None
        self._figures: dict[str, dict[str, Call]] = {}
        self._updates = Updates(self.placed)

    @property
    def host(self) -> SessionHost:
        assert self._host is not None, "a session is given its host before anything is asked of it"
        return self._host

    @property
    def id(self) -> str:
        return self.host.id

    def follow(
        self,
        host: SessionHost,
        watch: Callable[[Watcher], Callable[[], None]],
        tell: Callable[[Json], None],
    ) -> None:
        """From now on this is where the session runs."""
        self._host, self.tell = host, tell
        host.attend(self.front_end)
        self._stop = watch(Watcher(self._observe, self._put, lambda state: None))

    def leave(self) -> None:
        """Its client is gone, or works with it no more."""
        self._stop()
        self.host.leave(self.front_end)

    async def prompt(self, task: str) -> Prompted:
        """Queued at once."""
        turn = self.host.submit(task, options=self.choices.of_turn)
        self._figures[turn.turn_id] = {}
        try:
            ended = await self.host.ended(turn.turn_id)
            return Prompted(ended, tuple(self._figures[turn.turn_id].values()))
        except LooplineError:
            return Prompted(None)
        finally:
            del self._figures[turn.turn_id]

    async def cancel(self) -> None:
        """Every turn that this client waits for. A turn that ended meanwhile is no error."""
        for turn_id in list(self._figures):
            try:
                await self.host.cancel(turn_id)
            except LooplineError:
                continue

    def placed(self, shown: str) -> str:
        """The absolute path of a path of this session."""
        found = self._host.place_of(shown) if self._host is not None else None
        return str(found if found is not None else self.terms.roots[0] / shown)

    def _observe(self, event: TurnEvent) -> None:
        for update in self._updates.of(event):
            self.tell(update)

    def _put(self, event: AnyEvent) -> None:
        if not isinstance(event, Call) or event.status == "running":
            return
        kept = self._figures.get(event.turn_id)
        if kept is not None and len(kept) < MAX_FIGURES:
            kept[event.call_id] = event
        self.tell(self._updates.figures(event))
