"""The way from the dashboard to the processes that host sessions: what turns are called, what waits, answers.

Looks at the control sockets of this user now and then; remembers which host has what.
"""

from __future__ import annotations

from pathlib import Path

from agent_core.control.client import ControlClient, Host, find_hosts
from agent_core.control.messages import ControlError
from agent_core.turns.approval import Approval, Decision

LOOK_S = 2.0
"""Time between two looks at the control sockets."""


class ControlLink:
    """What the hosts of this machine told at the last look, and requests to them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.titles: dict[str, str] = {}
        """Task of a turn by its id. Kept after its session ended."""
        self.approvals: dict[str, Approval] = {}
        """Open approvals by id."""
        self._hosts: list[Host] = []

    async def look(self) -> bool:
        """Ask all hosts; whether anything changed. Hosts that do not answer are left out."""
        hosts = await find_hosts(self._folder)
        approvals = {one.approval_id: one for host in hosts for session in host.sessions for one in session.approvals}
        titles = {turn.turn: turn.title for host in hosts for session in host.sessions for turn in session.turns}
        changed = approvals != self.approvals or not titles.items() <= self.titles.items()
        self._hosts, self.approvals = hosts, approvals
        self.titles |= titles
        return changed

    def can_cancel(self, turn: str) -> bool:
        return self._host_of_turn(turn) is not None

    async def answer(self, approval: str, decision: Decision) -> None:
        """Raises `ControlError` if nobody hosts it, or it was answered elsewhere."""
        for host in self._hosts:
            if any(one.approval_id == approval for session in host.sessions for one in session.approvals):
                async with ControlClient(host.path) as client:
                    await client.answer(approval, decision, by="tui")
                self.approvals.pop(approval, None)
                return
        raise ControlError("nobody on this machine asks that any more", code="control_not_found")

    async def cancel(self, turn: str) -> None:
        """Raises `ControlError` if no process of this user on this machine runs it."""
        path = self._host_of_turn(turn)
        if path is None:
            raise ControlError("no process of this user on this machine runs that turn", code="control_not_found")
        async with ControlClient(path) as client:
            await client.cancel(turn)

    def _host_of_turn(self, turn: str) -> Path | None:
        for host in self._hosts:
            if any(one.turn == turn and one.status == "running" for session in host.sessions for one in session.turns):
                return host.path
        return None
