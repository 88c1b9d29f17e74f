"""Open approvals of a session: state with ids, answered once by whichever front end is first.

A host's own approver (a prompt on the terminal, a dialog) is asked beside; the first answer from anywhere wins, and the
host's is then cancelled. Where the host has nobody to ask and nobody may answer from outside, the answer is None at
once.
"""

from __future__ import annotations

import asyncio
import contextlib

import msgspec

from agent_core.agent.approvals.policy import Approver, Decision, Question, nobody


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """An open approval: what is asked, in which turn, since when (Unix nanoseconds)."""

    question: Question
    turn: str
    opened_ns: int


class Questions:
    """`host` is asked by us; `remote` says whether others may answer (then an absent host leaves it pending). An answer
    that takes longer than `timeout_s` seconds is "deny"; 0: it may take as long as it takes."""

    def __init__(self, host: Approver, *, remote: bool = False, timeout_s: float = 0.0) -> None:
        self._host, self._remote, self._timeout_s = host, remote, timeout_s
        self._open: dict[str, tuple[Pending, asyncio.Future[Decision | None]]] = {}

    def pending(self) -> list[Pending]:
        """Oldest first."""
        return [pending for pending, _ in self._open.values()]

    def answer(self, approval: str, decision: Decision) -> bool:
        """Answer one; False if it is not open (any more)."""
        entry = self._open.get(approval)
        if entry is None or entry[1].done():
            return False
        entry[1].set_result(decision)
        return True

    async def ask(self, question: Question, turn: str, opened_ns: int) -> Decision | None:
        """Wait for the first answer. Cancelled with the turn: the approval is then withdrawn."""
        if self._host is nobody and not self._remote:
            return None
        answered: asyncio.Future[Decision | None] = asyncio.get_running_loop().create_future()
        self._open[question.approval] = (Pending(question=question, turn=turn, opened_ns=opened_ns), answered)
        asking = asyncio.ensure_future(self._host(question)) if self._host is not nobody else None
        try:
            waiting = {answered, *([asking] if asking else [])}
            await asyncio.wait(waiting, timeout=self._timeout_s or None, return_when=asyncio.FIRST_COMPLETED)
            if answered.done():
                return answered.result()
            return asking.result() if asking is not None and asking.done() else "deny"
        finally:
            del self._open[question.approval]
            if asking is not None and not asking.done():
                asking.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await asking
