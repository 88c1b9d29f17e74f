"""The conversation as lines that go by: for screen readers, and terminals that can't move the cursor (`--plain`)."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from agent_core.cli.approver import TerminalFrontEnd
from agent_core.cli.console import make_console
from agent_core.cli.interrupts import EXIT, Cancelled
from agent_core.cli.terminal import Terminal
from agent_core.clock import SystemClock
from agent_core.errors import LooplineError
from agent_core.hosting.manager import OpenOptions, SessionManager
from agent_core.hosting.port import SessionHost
from agent_core.hosting.session import HostOptions
from agent_core.telemetry.display import duration
from agent_core.turns.events import TurnEnded, TurnEvent, TurnUndone
from agent_core.turns.options import PLAIN, TurnOptions
from agent_core.variables import variables
from dashboard.agent.sessions.options import AgentOptions

HELP = "write and press Enter; Ctrl-C stops the turn; /undo, /redo, /plan, /act, /quit (or Ctrl-D)"


def converse(options: AgentOptions) -> int:
    """Until the person leaves; the exit code."""
    return asyncio.run(_Plain(options).run())


class _Plain:
    """Owns the session's manager and the reading of lines."""

    def __init__(self, options: AgentOptions) -> None:
        self._options = options
        self._console: Console = make_console()
        self._terminal = Terminal(self._console, still=True)
        self._of_turn = options.of_turn
        self._turn: str | None = None
        self._last: str | None = None
        self._undo: str | None = None

    async def run(self) -> int:
        manager = SessionManager(variables(), SystemClock())
        with Cancelled() as cancelled:
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._stop)
            try:
                host = await self._open(manager)
                self._host = host
                if self._options.task:
                    await self._said(host, self._options.task)
                self._say(HELP, "dim")
                while (text := await self._line()) is not None and text != "/quit":
                    await self._said(host, text)
            except asyncio.CancelledError:
                if not cancelled.by_signal:
                    raise
            finally:
                await manager.close()
        return EXIT if cancelled.by_signal else 0

    async def _open(self, manager: SessionManager) -> SessionHost:
        said = self._options
        resumed = said.resume or None

        def settings(model: str | None) -> HostOptions:
            here = () if resumed else (Path(),)
            return HostOptions(
                roots=here if said.workspace is None else (said.workspace,),
                client="tui",
                flags=said.flags,
                as_it_was=resumed is not None,
                remote_approvals=True,
                use_venv=True,
                added=said.added,
                env=variables(),
            )

        how = OpenOptions(
            settings=settings, front_end=TerminalFrontEnd(self._console), observer=self._observe, wait=True
        )
        if resumed is not None:
            return await manager.open(resumed, how)
        host = manager.new(how)
        await host.ready()
        return host

    def _observe(self, event: TurnEvent) -> None:
        self._terminal(event)
        if isinstance(event, TurnEnded):
            self._last = event.turn_id
            words = {
                "completed": "done",
                "failed": f"failed: {event.text}",
                "cancelled": "stopped; what was done is kept",
            }
            calls = f"{event.calls} call{'s' if event.calls != 1 else ''}"
            self._say(f"{words.get(event.status, event.status)} ({calls}, {duration(event.duration_ms)})", "bold")
        elif isinstance(event, TurnUndone):
            self._undo = event.undo_id or self._undo
            self._say(f"taken back: {', '.join(event.restored) or 'nothing'}", "bold")

    async def _said(self, host: SessionHost, text: str) -> None:
        try:
            if text in ("/undo", "/redo"):
                wanted = self._last if text == "/undo" else self._undo
                if wanted is not None:
                    await host.undo(wanted)
            elif text in ("/plan", "/act"):
                self._of_turn = TurnOptions(mode="plan") if text == "/plan" else PLAIN
            elif text.startswith("/"):
                self._say(HELP, "dim")
            elif text.strip():
                self._turn = host.submit(text, options=self._of_turn).turn_id
                await host.ended(self._turn)
        except LooplineError as error:
            self._say(error.message + (f" ({error.hint})" if error.hint else ""), "bold red")
        finally:
            self._turn = None

    def _stop(self) -> None:
        """Ctrl-C: the turn that runs; else leave."""
        if self._turn is None:
            os.kill(os.getpid(), signal.SIGTERM)
            return
        self._stopping = asyncio.ensure_future(self._host.cancel(self._turn))

    async def _line(self) -> str | None:
        """What the person wrote, pasted lines together; None: the end of input."""
        self._console.print(Text("> "), end="")
        self._console.file.flush()
        loop, terminal, typed = asyncio.get_running_loop(), sys.stdin.fileno(), b""
        while not typed.endswith(b"\n"):
            ready = loop.create_future()
            loop.add_reader(terminal, _done, ready)
            try:
                await ready
            finally:
                loop.remove_reader(terminal)
            piece = os.read(terminal, 65_536)
            if not piece:
                return None
            typed += piece
        return typed.decode("utf-8", "replace").strip()

    def _say(self, text: str, style: str) -> None:
        self._console.print(Text(text, style=style), soft_wrap=True)


def _done(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
