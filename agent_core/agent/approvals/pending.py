"""Open approvals of a session: state with ids, answered once by whichever front end is first.

A host's own approver (a prompt on the terminal, a dialog) is asked beside; the first answer from anywhere wins, and the
host's is then cancelled. Where the host has nobody to ask and nobody may answer from outside, the answer is None at
once.
"""

from __future__ import annotations

import asyncio
import contextlib

import msgspec

from agent_core.agent.approvals.policy import Approver, nobody
from agent_core.turns.approval import Approval, Decision

TIMEOUT = "timeout"
"""Who answered where nobody did in time."""


class Answer(msgspec.Struct, frozen=True):
    """`decision` None: nobody can answer here. `by` is the front end's name, or `timeout`."""

    decision: Decision | None
    by: str = ""


class PendingApprovals:
    """`host` is asked by us and answers as `name`; `remote` says whether others may answer (then an absent host leaves
    it pending). An answer that takes longer than `timeout_s` seconds is "deny"; 0: it may take as long as it takes.
    """

    def __init__(self, host: Approver, *, name: str = "", remote: bool = False, timeout_s: float = 0.0) -> None:
        self._host, self._name, self._remote, self._timeout_s = host, name, remote, timeout_s
        self._open: dict[str, tuple[Approval, asyncio.Future[Answer]]] = {}

    def pending(self) -> list[Approval]:
        """Oldest first."""
        return [approval for approval, _ in self._open.values()]

    def answer(self, approval_id: str, decision: Decision, *, by: str) -> bool:
        """Answer one; False if it is not open (any more)."""
        entry = self._open.get(approval_id)
        if entry is None or entry[1].done():
            return False
        entry[1].set_result(Answer(decision, by))
        return True

    async def ask(self, approval: Approval) -> Answer:
        """Wait for the first answer. Cancelled with the turn: the approval is then withdrawn."""
        if self._host is nobody and not self._remote:
            return Answer(None)
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[approval.approval_id] = approval, answered
        asking = asyncio.ensure_future(self._host(approval)) if self._host is not nobody else None
        try:
            waiting: set[asyncio.Future[object]] = {answered, *([asking] if asking else [])}  # type: ignore[arg-type]
            await asyncio.wait(waiting, timeout=self._timeout_s or None, return_when=asyncio.FIRST_COMPLETED)
            if answered.done():
                return answered.result()
            if asking is not None and asking.done():
                decision = asking.result()
                return Answer(decision, self._name if decision is not None else "")
            return Answer("deny", TIMEOUT)
        finally:
            del self._open[approval.approval_id]
            if asking is not None and not asking.done():
                asking.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await asking
