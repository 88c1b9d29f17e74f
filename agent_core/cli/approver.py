"""Approvals asked on the terminal. Without a terminal nobody can answer, and the call is denied with a hint."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import termios
from collections.abc import Awaitable, Callable, Sequence

from rich.console import Console
from rich.text import Text

from agent_core.telemetry.display import visible
from agent_core.tools.editor.diagnostics import Diagnostic
from agent_core.turns.approval import Approval, Decision
from agent_core.turns.question import Question

_ANSWERS: dict[str, Decision] = {"y": "allow", "yes": "allow", "a": "always", "always": "always"}


Approver = Callable[[Approval], Awaitable[Decision | None]]


async def nobody(approval: Approval) -> Decision | None:
    """Where no person can type."""
    return None


def approver_for(console: Console) -> Approver:
    """The terminal's approver if a person can type here, else `nobody`."""
    return TerminalApprover(console) if sys.stdin.isatty() and console.is_terminal else nobody


class TerminalFrontEnd:
    """Implements `agent_core.hosting.port.FrontEnd` for a terminal that lines go by on: it edits nothing."""

    name, documents = "cli", None

    def __init__(self, console: Console) -> None:
        self._approver = approver_for(console)
        self._replier = TerminalReplier(console)
        self.answers = sys.stdin.isatty() and console.is_terminal and not console.quiet

    async def put(self, question: Question) -> str | None:
        return await self._replier.put(question)

    async def ask(self, approval: Approval) -> Decision | None:
        return await self._approver(approval)

    async def diagnostics(self, path: str | None) -> Sequence[Diagnostic]:
        return ()


class TerminalReplier:
    """Asks one question at a time; a number chooses an option, any other text is the answer itself."""

    answers = True

    def __init__(self, console: Console) -> None:
        self._console = console
        self._turn = asyncio.Lock()

    async def put(self, question: Question) -> str | None:
        async with self._turn:
            self._console.print(Text(f"? {visible(question.question)}", style="bold magenta"), soft_wrap=True)
            for number, option in enumerate(question.options, 1):
                self._console.print(Text(f"  {number}  {visible(option)}"), soft_wrap=True)
            hint = "a number, or your own words: " if question.options else "your answer: "
            answer = (await _typed(self._console, f"  {hint}")).strip()
        chosen = int(answer) if answer.isdecimal() and len(answer) < 3 else 0
        return question.options[chosen - 1] if 0 < chosen <= len(question.options) else answer or None


class TerminalApprover:
    """Asks one question at a time."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._turn = asyncio.Lock()

    async def __call__(self, approval: Approval) -> Decision | None:
        async with self._turn:
            asked = Text(f"? run {approval.name}: ", style="yellow")
            asked.append(visible(approval.subject), style="bold")
            self._console.print(asked, soft_wrap=True)
            answer = await _typed(self._console, "  [y]es  [a]lways  [N]o ")
        return _ANSWERS.get(answer.strip().lower(), "deny")


async def _typed(console: Console, prompt: str) -> str:
    """One line of what is typed from now on, after `prompt`."""
    console.file.flush()
    # What was typed until now was no answer to a question that nobody had seen.
    with contextlib.suppress(termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    console.print(Text(prompt), end="")
    console.file.flush()
    return await _line(sys.stdin.fileno())


async def _line(terminal: int) -> str:
    """One line, read past Python's buffer, which would keep more than a line for the next question. "" at the end of
    input."""
    loop = asyncio.get_running_loop()
    typed = b""
    while not typed.endswith((b"\n", b"\r")):
        ready = loop.create_future()
        loop.add_reader(terminal, _done, ready)
        try:
            await ready
        finally:
            loop.remove_reader(terminal)
        piece = os.read(terminal, 1_000)
        if not piece:
            break
        typed += piece
    # Several lines in one: only a single one is an answer.
    lines = typed.decode("utf-8", "replace").splitlines()
    return lines[0] if len(lines) == 1 else ""


def _done(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
