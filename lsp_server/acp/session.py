"""One session as a client works with it: what it chose, the prompts it waits for, and what it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from agent_core.errors import LooplineError
from agent_core.hosting.port import SessionHost
from agent_core.turns.events import Notice, TurnEnded, TurnEvent, TurnUndone
from lsp_server.acp.choices import Choices
from lsp_server.acp.commands import Told, available, command_of
from lsp_server.acp.front_end import AcpFrontEnd
from lsp_server.acp.lines import Json
from lsp_server.acp.updates import Updates, message
from lsp_server.followed import Watcher
from lsp_server.protocol.events import AnyEvent, Call

UNDO_S = 60.0
"""How long an undoing may take; it waits for whatever runs."""
MAX_FIGURES = 200
"""Calls of one turn whose figures its answer has."""


class Terms(msgspec.Struct, frozen=True):
    """What a client gives for a session: its folders, the first one foremost, and MCP servers."""

    roots: tuple[Path, ...]
    servers: Mapping[str, Mapping[str, Any]]


class Prompted(msgspec.Struct, frozen=True):
    """How a prompt ended, and the figures of its calls, in order. `ended` None: the session was closed before, or it
    was a command, which is `done`."""

    ended: TurnEnded | None
    figures: tuple[Call, ...] = ()
    done: bool = False


class AcpSession:
    """Owns the choices of its client, and which turns it waits for. `tell` sends an update."""

    def __init__(
        self,
        terms: Terms,
        choices: Choices,
        front_end: AcpFrontEnd,
    ) -> None:
        self.terms, self.choices, self.front_end = terms, choices, front_end
        self.tell: Callable[[Json], None] = lambda update: None
        self._host: SessionHost | None = None
        self._stop: Callable[[], None] = lambda: None
        self._figures: dict[str, dict[str, Call]] = {}
        self._updates = Updates(self.placed)
        self._latest = ""
        self._undo_id: str | None = None
        self._undoing: asyncio.Future[None] | None = None

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

    def greet(self) -> None:
        """Say what can be said here, once the client knows the session: right after what is answered now."""
        asyncio.get_running_loop().call_soon(self.tell, available())

    def leave(self) -> None:
        """Its client is gone, or works with it no more."""
        self._stop()
        self.host.leave(self.front_end)

    async def prompt(self, task: str) -> Prompted:
        """Queued at once."""
        options = self.choices.of_turn
        if (told := command_of(task)) is not None:
            if told.name == "compact":
                await self.host.compact()
                self.tell(message("The conversation is made shorter.\n"))
                return Prompted(None, done=True)
            if told.name != "plan":
                await self._take_back(told)
                return Prompted(None, done=True)
            task, options = told.about, msgspec.structs.replace(options, mode="plan")
        turn = self.host.submit(task, options=options)
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

    async def _take_back(self, told: Told) -> None:
        """Undo, or undo that. What comes of it is told as an update."""
        turn_id = self._latest if told.name == "undo" else self._undo_id
        if not turn_id or self._undoing is not None:
            self.tell(message(f"There is nothing to {told.name}.\n"))
            return
        self._undoing = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(UNDO_S):
                await self.host.undo(turn_id)
                await self._undoing
        except (LooplineError, TimeoutError) as error:
            words = error.message if isinstance(error, LooplineError) else "it takes too long"
            self.tell(message(f"Not taken back: {words}.\n"))
        finally:
            self._undoing = None

    def placed(self, shown: str) -> str:
        """The absolute path of a path of this session."""
        found = self._host.place_of(shown) if self._host is not None else None
        return str(found if found is not None else self.terms.roots[0] / shown)

    def _observe(self, event: TurnEvent) -> None:
        if isinstance(event, TurnEnded):
            self._latest = event.turn_id
        elif isinstance(event, TurnUndone):
            self._undo_id = event.undo_id
        for update in self._updates.of(event):
            self.tell(update)
        over = isinstance(event, TurnUndone) or (isinstance(event, Notice) and event.severity == "error")
        if over and self._undoing is not None and not self._undoing.done():
            self._undoing.set_result(None)

    def _put(self, event: AnyEvent) -> None:
        if not isinstance(event, Call) or event.status == "running":
            return
        kept = self._figures.get(event.turn_id)
        if kept is not None and len(kept) < MAX_FIGURES:
            kept[event.call_id] = event
        self.tell(self._updates.figures(event))
