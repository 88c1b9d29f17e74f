"""Open questions of a session: state with ids, answered once by whichever front end is first.

The host's own user is asked beside; the first answer from anywhere wins, and the host's is then cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib

import msgspec

from agent_core.agent.approvals.pending import TIMEOUT
from agent_core.turns.question import Question, Replier


class Answered(msgspec.Struct, frozen=True):
    """`text` None: nobody answered. `by` is the front end's name, or `timeout`."""

    text: str | None
    by: str = ""


class PendingQuestions:
    """`host` is asked by us and answers as `name`; None: nobody can answer here, so nothing may be asked. An answer
    that takes longer than `timeout_s` seconds is none; 0: it may take as long as it takes."""

    def __init__(self, host: Replier | None = None, *, name: str = "", timeout_s: float = 0.0) -> None:
        self._host, self._name, self._timeout_s = host, name, timeout_s
        self._open: dict[str, tuple[Question, asyncio.Future[Answered]]] = {}

    @property
    def answerable(self) -> bool:
        """Whether somebody can answer at the moment."""
        return self._host is not None and self._host.answers

    def pending(self) -> list[Question]:
        """Oldest first."""
        return [question for question, _ in self._open.values()]

    def answer(self, question_id: str, text: str, *, by: str) -> bool:
        """Answer one; False if it is not open (any more)."""
        entry = self._open.get(question_id)
        if entry is None or entry[1].done():
            return False
        entry[1].set_result(Answered(text, by))
        return True

    async def ask(self, question: Question) -> Answered:
        """Wait for the first answer. Cancelled with the turn: the question is then withdrawn."""
        if self._host is None:
            return Answered(None)
        answered: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._open[question.question_id] = question, answered
        asking = asyncio.ensure_future(self._host.put(question))
        try:
            waiting: set[asyncio.Future[object]] = {answered, asking}  # type: ignore[arg-type]
            await asyncio.wait(waiting, timeout=self._timeout_s or None, return_when=asyncio.FIRST_COMPLETED)
            if answered.done():
                return answered.result()
            return Answered(asking.result(), self._name) if asking.done() else Answered(None, TIMEOUT)
        finally:
            del self._open[question.question_id]
            if not asking.done():
                asking.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await asking
