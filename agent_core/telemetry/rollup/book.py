"""The roll-up's rows and what it must know to keep them: lookups, clocks of running turns, forgetting. Pure."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import msgspec

from agent_core.telemetry.events import ApprovalOpened, Event, Stage, ToolStarted
from agent_core.telemetry.rollup.rows import ApprovalRow, CallRow, ConnectionRow, SessionRow, ToolRow, TurnRow
from agent_core.telemetry.rollup.stages import StageClock
from agent_core.telemetry.rollup.summary import Tally

MAX_OPEN = 10_000
"""Tools and approvals that may be open at once; more means that ends got lost, and the oldest are given up."""


class _Open(msgspec.Struct):
    """Tools that run for one call."""

    count: int = 0
    since_ns: int = 0


class Book:
    """Rows by id. At most `max_turns` ended turns (with their calls), sessions and connections are kept."""

    def __init__(self, max_turns: int) -> None:
        self._max_turns = max_turns
        self.calls: dict[str, CallRow] = {}
        self.turns: dict[str, TurnRow] = {}
        self.sessions: dict[str, SessionRow] = {}
        self.connections: dict[str, ConnectionRow] = {}
        self.tallies: dict[str | None, Tally] = {None: Tally()}
        self.clocks: dict[str, StageClock] = {}
        """Of the running turns."""
        self.by_response: dict[str, str] = {}
        self.forgotten_calls = 0
        self.open_turns: Counter[str] = Counter()
        """Running turns by source."""
        self._tools: dict[tuple[str | None, str], ToolRow] = {}
        self._tool_time: dict[str, _Open] = {}
        self._approvals: dict[str, ApprovalRow] = {}
        self._turnless: deque[str] = deque()

    def session(self, event: Event, at_ns: int) -> SessionRow | None:
        if event.session is None:
            return None
        row = self.sessions.get(event.session)
        if row is None:
            row = self.sessions[event.session] = SessionRow(session=event.session, source=event.source, last_ns=at_ns)
            trim(self.sessions, self._max_turns)
        return row

    def turn(self, event: Event, at_ns: int) -> TurnRow | None:
        """The event's turn; one whose start was missed begins here."""
        if event.turn is None:
            return None
        row = self.turns.get(event.turn)
        if row is None:
            row = TurnRow(turn=event.turn, source=event.source, session=event.session, started_ns=at_ns)
            self.turns[event.turn] = row
            self.clocks[event.turn] = StageClock(event.mono_ns)
            self.open_turns[event.source] += 1
            session = self.session(event, at_ns)
            if session is not None:
                session.turns.append(event.turn)
                row.number = len(session.turns)
        return row

    def call(self, event: Event, at_ns: int, *, warmup: bool) -> CallRow:
        """The event's call; one whose sending was missed begins here."""
        call = event.call or ""
        row = self.calls.get(call)
        if row is None:
            row = self.calls[call] = CallRow(
                call=call,
                source=event.source,
                number=0 if warmup else self.tallies_of(event.session)[-1].next_number(),
                session=event.session,
                turn=event.turn,
                warmup=warmup,
                connection=event.connection,
                lane=event.lane,
                sent_ns=at_ns,
                attempt_ns=at_ns,
            )
            turn = self.turn(event, at_ns)
            if turn is not None:
                turn.calls.append(call)
            else:
                self._turnless.append(call)
        return row

    def open_tool(self, event: ToolStarted, at_ns: int) -> None:
        """A tool belongs to the call that the event names, else to the turn's latest call."""
        turn = self.turn(event, at_ns)
        call = event.call or (turn.calls[-1] if turn is not None and turn.calls else None)
        row = ToolRow(tool_call=event.tool_call, name=event.name, call=call, started_ns=at_ns)
        self._tools[(event.turn, event.tool_call)] = row
        trim(self._tools, MAX_OPEN)
        if turn is not None:
            turn.tools.append(row)
        if call is not None:
            running = self._tool_time.setdefault(call, _Open())
            running.since_ns = running.since_ns if running.count else event.mono_ns
            running.count += 1

    def close_tool(self, turn: str | None, tool_call: str, mono_ns: int) -> ToolRow | None:
        """End the tool's share in its call's time; its row, or None if it does not run."""
        row = self._tools.pop((turn, tool_call), None)
        running = self._tool_time.get(row.call or "") if row is not None else None
        if row is None or running is None:
            return row
        running.count -= 1
        if running.count <= 0:
            del self._tool_time[row.call or ""]
            call = self.calls.get(row.call or "")
            if call is not None:
                call.tools_ns += max(0, mono_ns - running.since_ns)
        return row

    def open_approval(self, event: ApprovalOpened, at_ns: int) -> None:
        row = ApprovalRow(approval=event.approval, kind=event.kind, opened_ns=at_ns)
        self._approvals[event.approval] = row
        trim(self._approvals, MAX_OPEN)
        turn = self.turn(event, at_ns)
        if turn is not None:
            turn.approvals.append(row)

    def close_approval(self, approval: str) -> ApprovalRow | None:
        return self._approvals.pop(approval, None)

    def close_turn(self, row: TurnRow, mono_ns: int) -> dict[Stage, int]:
        """The turn ends: what still runs in it ends with it. Gives the stages as told by its events."""
        for tool in row.tools:
            if tool.ended_ns is None:
                self.close_tool(row.turn, tool.tool_call, mono_ns)
        for approval in row.approvals:
            self._approvals.pop(approval.approval, None)
        self.open_turns[row.source] -= 1
        return self.clocks.pop(row.turn).finish(mono_ns)

    def tallies_of(self, session: str | None) -> list[Tally]:
        everything = self.tallies[None]
        if session is None:
            return [everything]
        if session not in self.tallies and len(self.tallies) > self._max_turns:
            del self.tallies[next(known for known in self.tallies if known is not None)]
        return [everything, self.tallies.setdefault(session, Tally())]

    def tell(self, event: Event, say: Callable[[StageClock], None]) -> None:
        """Tell the clock of the event's turn, if it runs and the stamp is of its own process."""
        clock = self.clocks.get(event.turn or "")
        if clock is not None and self.turns[event.turn or ""].source == event.source:
            say(clock)

    def show_stages(self, row: TurnRow, mono_ns: int) -> None:
        clock = self.clocks[row.turn]
        row.stages_ns = clock.stages_ns(mono_ns)
        row.duration_ns, row.stage = sum(row.stages_ns.values()), clock.current()

    def turn_ttft(self, call: CallRow) -> None:
        turn = self.turns.get(call.turn or "")
        if turn is None or turn.source != call.source:
            return
        waited_ms = (call.attempt_ns - turn.started_ns) / 1_000_000
        if turn.ttft_ms is None and call.ttft_ms is not None and "ttft_ms" not in call.suspect:
            turn.ttft_ms = waited_ms + call.ttft_ms
        if turn.visible_ttft_ms is None and call.visible_ttft_ms is not None and "visible_ttft_ms" not in call.suspect:
            turn.visible_ttft_ms = waited_ms + call.visible_ttft_ms

    def forget_old(self, leaving: Callable[[str], None]) -> None:
        """Drop the oldest ended turns, and calls outside turns, beyond the limit; their sums stay. `leaving` is told of
        each turn before."""
        while len(self.turns) > self._max_turns:
            oldest = next((turn for turn, row in self.turns.items() if row.status is not None), None)
            if oldest is None:
                break
            leaving(oldest)
            row = self.turns.pop(oldest)
            if self.clocks.pop(oldest, None) is not None:
                self.open_turns[row.source] -= 1
            for call in row.calls:
                self._forget_call(call)
        while len(self._turnless) > self._max_turns:
            self._forget_call(self._turnless.popleft())

    def _forget_call(self, call: str) -> None:
        row = self.calls.pop(call, None)
        if row is not None:
            self.forgotten_calls += 1
            self.by_response.pop(row.response_id or "", None)


def trim(kept: dict[Any, Any], limit: int) -> None:
    """Drop the entries that came first until `limit` are left."""
    while len(kept) > limit:
        del kept[next(iter(kept))]
