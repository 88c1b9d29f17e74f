"""One session as front ends hold it, wherever it is hosted: it stays the same object when the session moves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from agent_core.clock import new_id
from agent_core.hosting.attached import AttachedHost
from agent_core.hosting.audience import Audience
from agent_core.hosting.local import LocalHost
from agent_core.hosting.port import Changes, FrontEnd
from agent_core.telemetry.emitter import Sink
from agent_core.turns.approval import Decision
from agent_core.turns.events import Observer, TurnEnded
from agent_core.turns.options import PLAIN, TurnOptions
from agent_core.turns.views import Said, SessionView, Steered, TurnView


class ManagedSession:
    """Implements `port.SessionHost`. Owned by the manager, which alone moves it."""

    def __init__(self, audience: Audience, at: LocalHost | AttachedHost) -> None:
        self.id, self._audience, self._at = audience.id, audience, at

    def move_to(self, at: LocalHost | AttachedHost) -> None:
        """From now on it is hosted there, and so are the turns that wait."""
        self._at = at
        at.start()

    @property
    def front_end(self) -> FrontEnd | None:
        return self._audience.front_end

    @property
    def busy(self) -> bool:
        return self._at.busy

    @property
    def attended(self) -> bool:
        return self._at.attended

    def view(self) -> SessionView:
        return SessionView(
            session_id=self.id,
            place=self._at.place,
            title=self._audience.turns.title,
            created=self._audience.created,
            model=self._at.model,
            turns=tuple(self._audience.turns),
            approvals=self._at.approvals,
            questions=self._at.questions,
        )

    def turn(self, turn_id: str) -> TurnView | None:
        return self._audience.turns.get(turn_id)

    def knows(self, turn_id: str) -> bool:
        return self._audience.turns.knows(turn_id)

    def submit(self, task: str, *, title: str = "", options: TurnOptions = PLAIN) -> TurnView:
        turn = self._audience.turns.add(task, title, options)
        self._at.submit(turn)
        return turn

    async def say(self, text: str, *, options: TurnOptions = PLAIN) -> Said:
        return await self._at.say(text, options)

    async def ended(self, turn_id: str) -> TurnEnded:
        return await self._audience.ended(turn_id)

    async def cancel(self, turn_id: str) -> None:
        turn = self._audience.turns.known(turn_id)
        if turn.status == "queued":
            self._audience.end(turn, "cancelled", "cancelled")
        elif turn.status == "running":
            await self._at.cancel(turn_id)

    async def steer(self, turn_id: str, text: str) -> Steered:
        turn = self._audience.turns.known(turn_id)
        if turn.status != "queued":
            return await self._at.steer(turn, text)
        if not text.strip():
            return Steered(input_id=new_id("inp"), fate="refused")
        turn.task += f"\n\n{text}"
        return Steered(input_id=new_id("inp"), fate="queued")

    async def undo(self, turn_id: str, *, files: bool = True, conversation: bool = False) -> None:
        self._audience.turns.check_undo(turn_id)
        self._at.undo(turn_id, files=files, conversation=conversation)

    async def compact(self) -> None:
        self._at.compact()

    async def answer(self, approval_id: str, decision: Decision, *, by: str) -> bool:
        return await self._at.answer(approval_id, decision, by=by)

    async def reply(self, question_id: str, text: str, *, by: str) -> bool:
        return await self._at.reply(question_id, text, by=by)

    async def changes(self, turn_id: str) -> Changes:
        return await self._at.changes(turn_id)

    def place_of(self, shown: str) -> Path | None:
        return self._at.place_of(shown)

    def subscribe(self, observer: Observer, *, sink: Sink | None = None, catch_up: bool = False) -> Callable[[], None]:
        return self._audience.subscribe(observer, sink, self._at.approvals if catch_up else None)

    def attend(self, front_end: FrontEnd) -> None:
        self._audience.attend(front_end)

    def leave(self, front_end: FrontEnd) -> None:
        self._audience.leave(front_end)

    def warm(self) -> None:
        self._at.warm()

    async def ready(self) -> None:
        await self._at.ready()

    def reconfigure(self, *, roots: tuple[Path, ...] | None = None, model: str | None = None) -> None:
        self._at.reconfigure(roots=roots, model=model)

    async def cancel_all(self) -> None:
        """Turns that were asked for elsewhere go on there."""
        if self._at.busy:
            for turn in self._audience.turns.queued:
                self._audience.end(turn, "cancelled", "cancelled")
        await self._at.cancel_all()

    async def close(self) -> None:
        await self._at.close()
        self._audience.close()
