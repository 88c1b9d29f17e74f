"""What one call has come to so far: its attempts, the way that the last one went, how far it got."""

from __future__ import annotations

from collections.abc import Collection

from agent_core.model.port import CallRequest
from agent_core.model.reply import Reply
from agent_core.model.request import Fields
from agent_core.model.timing import CallTimer
from agent_core.model.way import Way
from agent_core.protocol.chain import Plan
from agent_core.protocol.replay import Phase


class Call:
    """One call of the session. `way`, `fields`, `plan` and `reply` are those of the present attempt."""

    way: Way
    plan: Plan
    fields: Fields
    _reply: Reply | None

    def __init__(self, request: CallRequest, timer: CallTimer, way: Way, *, warmup: bool) -> None:
        self.request, self.timer, self.warmup = request, timer, warmup
        self.count = len(request.items)
        """Items of the history that belong to this call: what is added while it runs belongs to the next."""
        self.retries = 0
        """Repetitions after faults, on the present transport."""
        self.http_only = False
        self.done = False
        """Its end was told."""
        self.restart(way)

    def restart(self, way: Way) -> None:
        """A new attempt on `way`; nothing is sent yet."""
        self.way, self.plan, self._reply = way, Plan(None, 0, "first"), None
        self.fields = Fields(b"", b"")

    @property
    def reply(self) -> Reply:
        """The attempt's reply; there is one from the send on."""
        if self._reply is None:
            raise RuntimeError("nothing was sent")
        return self._reply

    @reply.setter
    def reply(self, reply: Reply) -> None:
        self._reply = reply

    @property
    def phase(self) -> Phase:
        if self._reply is None:
            return Phase.NOT_SENT
        return Phase.EVENTS_SEEN if self._reply.begun else Phase.SENT

    @property
    def ended(self) -> bool:
        """Whether the service itself ended the attempt."""
        return self._reply is not None and self._reply.ended()

    @property
    def begun(self) -> bool:
        return self.phase is Phase.EVENTS_SEEN

    @property
    def continued(self) -> bool:
        """Whether the attempt named a previous response."""
        return self.plan.previous_response_id is not None

    @property
    def response_id(self) -> str | None:
        return None if self._reply is None else self._reply.response_id

    def leave_behind(self) -> None:
        """The attempt is over: its way remembers whose late events may still come."""
        if self._reply is not None:
            self.way.leave_behind(self._reply.item_ids)

    @property
    def oddities(self) -> Collection[str]:
        """Of the present attempt's stream, by name."""
        return () if self._reply is None else self._reply.oddities
