"""Approvals asked on the terminal. Without a terminal nobody can answer, and the call is denied with a hint."""

from __future__ import annotations

import asyncio
import sys

from rich.console import Console
from rich.text import Text

from agent_core.agent.approvals.policy import Approver, nobody
from agent_core.telemetry.display import visible
from agent_core.turns.approval import Approval, Decision

_ANSWERS: dict[str, Decision] = {"y": "allow", "yes": "allow", "a": "always", "always": "always"}


def approver_for(console: Console) -> Approver:
    """The terminal's approver if a person can type here, else `nobody`."""
    return TerminalApprover(console) if sys.stdin.isatty() and console.is_terminal else nobody


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
            self._console.print(Text("  [y]es  [a]lways  [N]o "), end="")
            answer = await _line()
        return _ANSWERS.get(answer.strip().lower(), "deny")


async def _line() -> str:
    """One line from standard input; cancelling the wait leaves what was typed for the next reader."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    descriptor = sys.stdin.fileno()

    def readable() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(descriptor, readable)
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)
    return sys.stdin.readline()
