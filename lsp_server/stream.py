"""The stream of `$/loopline/event` to one client: at most 30 a second, and what was overtaken left out.

Several events travel in one notification. Pieces of text are joined; of what only says how things stand, the latest
is kept. While the client does not keep up nothing is sent, and the oldest of what waits gives way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from agent_core.text import to_json
from agent_core.turns.events import Plan, ReasoningDelta, TextDelta, ToolOutput
from lsp_server.protocol.events import AnyEvent, Call, Stages, Status, TurnDiff
from lsp_server.protocol.methods import EVENT, Events

INTERVAL_S = 1 / 29
MAX_WAITING = 2_000


class _Notification(msgspec.Struct, frozen=True):
    method: str
    params: Events
    jsonrpc: str = "2.0"


class EventStream:
    """`send` queues an encoded message and says whether it was taken; `clear` whether there is room for one."""

    def __init__(self, send: Callable[[bytes], bool], clear: Callable[[], bool]) -> None:
        self._send, self._clear = send, clear
        self._waiting: list[AnyEvent] = []
        self._seq = 0
        self._timer: asyncio.TimerHandle | None = None
        self._next_s = 0.0
        self.enabled = True

    def put(self, event: AnyEvent) -> None:
        """Send it with the next notification."""
        if not self.enabled:
            return
        merge(self._waiting, event)
        if len(self._waiting) > MAX_WAITING:
            del self._waiting[: MAX_WAITING // 2]
            self._seq += 1  # the gap tells that some are missing
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(max(self._next_s, loop.time()), self._flush)

    def flush(self) -> None:
        """Send what waits now, whatever the time."""
        if self._timer is not None:
            self._timer.cancel()
            self._flush()

    def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer, self._next_s = None, loop.time() + INTERVAL_S
        if not self._waiting:
            return
        if not self._clear():
            self._timer = loop.call_at(self._next_s, self._flush)
            return
        self._seq += 1
        events, self._waiting = tuple(self._waiting), []
        self._send(to_json(_Notification(EVENT, Events(seq=self._seq, events=events))))


def merge(waiting: list[AnyEvent], event: AnyEvent) -> None:
    """Add `event` to what waits, and take out what it makes superfluous."""
    last = waiting[-1] if waiting else None
    for kind in (TextDelta, ReasoningDelta):
        if isinstance(event, kind) and isinstance(last, kind) and last.turn_id == event.turn_id:
            waiting[-1] = kind(session_id=event.session_id, turn_id=event.turn_id, text=last.text + event.text)
            return
    key = _standing(event)
    if key is not None:
        waiting[:] = [other for other in waiting if _standing(other) != key]
    waiting.append(event)


def _standing(event: AnyEvent) -> tuple[str, ...] | None:
    """What an event that only says how things stand is about; None for what happened."""
    match event:
        case ToolOutput(tool_call_id=call):
            return "tool", call
        case Plan(turn_id=turn):
            return "plan", turn
        case TurnDiff(turn_id=turn):
            return "diff", turn
        case Call(call_id=call):
            return "call", call
        case Stages(turn_id=turn):
            return "stages", turn
        case Status():
            return ("status",)
    return None
