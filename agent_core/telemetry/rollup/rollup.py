"""Folds events into what people look at: calls, turns, sessions, models, windows. Pure and incremental.

Every reader (the table of a run, both dashboards, the status bar, the exporters) folds the same events with this
class and so shows the same numbers. Events of one source must come in their order; a repeated one changes nothing.
Memory is bounded: the oldest ended turns are forgotten, sums and percentiles stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from agent_core.telemetry import events as ev
from agent_core.telemetry.rollup import reported
from agent_core.telemetry.rollup.axis import Axis
from agent_core.telemetry.rollup.book import Book, trim
from agent_core.telemetry.rollup.figures import Figures, Targets, is_good
from agent_core.telemetry.rollup.groups import Groups
from agent_core.telemetry.rollup.live import LiveRate
from agent_core.telemetry.rollup.prices import LIST_PRICES, NANO, PriceTable
from agent_core.telemetry.rollup.reckoning import MAX_PARTS
from agent_core.telemetry.rollup.rows import CallRow, ConnectionRow, TurnRow
from agent_core.telemetry.rollup.stages import ms_to_ns
from agent_core.telemetry.rollup.summary import Summary, Tally, median
from agent_core.telemetry.rollup.suspect import MAX_MS, suspect_of

_SENT = frozenset(("attempt", "input_items", "bytes_up", "bytes_full"))
"""Figures of a call that were told when it was sent."""


class Rollup:
    """`fold` every event; read `calls`, `turns`, `sessions`, `connections`, `groups` and the methods at any time."""

    def __init__(
        self,
        *,
        prices: PriceTable = LIST_PRICES,
        targets: Targets | None = None,
        max_turns: int = 2000,
        max_windows: int = 1440,
        max_models: int = 64,
    ) -> None:
        """`max_turns` ended turns, `max_windows` minutes and `max_models` models without a price are kept apart."""
        self.prices, self.targets = prices, targets or Targets()
        self._book = Book(max_turns)
        self.calls, self.turns, self.sessions = self._book.calls, self._book.turns, self._book.sessions
        self.connections = self._book.connections
        self.groups = Groups(prices, max_windows=max_windows, max_models=max_models, max_sessions=max_turns)
        self.axis = Axis()
        self.clamped = 0
        """Negative durations set to 0, here and at the sources."""
        self._max_turns = max_turns
        self._live: dict[str, LiveRate] = {}
        self._service_first: dict[str, ev.ServiceCall] = {}
        self._given_up: dict[str, tuple[TurnRow, set[str]]] = {}
        """By turn: what was counted of it, and the models of its calls."""
        self._unsettled: dict[str, None] = {}
        """Turns that something late was told of, taken out of the sums, and those that lapsed: to be worked out."""

    def fold(self, event: ev.Event) -> bool:
        """Take one event; False if it was seen before. An event of a type that carries no figure is taken and changes
        nothing."""
        taken = self.take(event)
        self.settle()
        return taken

    def take(self, event: ev.Event) -> bool:
        """`fold`, but what late events change of ended turns is worked out by `settle`: once, however many came."""
        settled = isinstance(event, ev.SessionStarted | ev.TurnStarted) and not self._book.open_turns[event.source]
        at_ns = self.axis.place(event, settled=settled)
        if at_ns is None:
            return False
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event, at_ns)
        if event.session is not None and event.session in self.sessions:
            self.sessions[event.session].last_ns = at_ns
        turn = self.turns.get(event.turn or "")
        if turn is not None and turn.status is None and turn.source == event.source:
            if turn.reported:
                turn.duration_ns = max(turn.duration_ns, at_ns - turn.started_ns)
            else:
                self._book.show_stages(turn, event.mono_ns)
        return True

    def settle(self) -> None:
        """Work out what was left by `take`. Its work is that of the turns touched, not of the events taken."""
        while self._unsettled:
            self._settle_turn(next(iter(self._unsettled)))

    def fold_all(self, events: Iterable[ev.Event]) -> Rollup:
        for event in events:
            self.fold(event)
        return self

    def call_rows(self, *, session: str | None = None, turn: str | None = None, warmups: bool = False) -> list[CallRow]:
        """Rows in the order of first sending."""
        return [
            row
            for row in self.calls.values()
            if (warmups or not row.warmup)
            and (session is None or row.session == session)
            and (turn is None or row.turn == turn)
        ]

    def summary(self, session: str | None = None) -> Summary:
        """The figures of a run; `session` None: of everything folded. The median is exact while no call is forgotten,
        then within 1 %."""
        tally = self._book.tallies.get(session) or Tally()
        figures = self.groups.total if session is None else self.groups.sessions.get(session, Figures())
        if self._book.forgotten_calls:
            ttft = figures.percentile("ttft", 0.5)
        else:
            ttft = median([row.ttft_ms for row in self.call_rows(session=session) if row.ttft_ms is not None])
        return Summary(
            calls=tally.calls,
            connections=tally.connections,
            reused_calls=tally.chained,
            full_resends=tally.full_resends,
            bytes_up=tally.bytes_up,
            ttft_ms_p50=ttft,
            cached_tokens=figures.cached_tokens if figures.cached_known else None,
            input_tokens=figures.input_tokens if figures.input_known else None,
            output_tokens=figures.output_tokens if figures.output_known else None,
            reasoning_tokens=figures.reasoning_tokens if figures.output_known else None,
        )

    def live_rate(self, now_ns: int, session: str | None = None) -> float | None:
        """Estimated output tokens per second of the running calls at `now_ns` (wall axis); None if nothing streams."""
        rates = [
            rate.rate(now_ns)
            for call, rate in self._live.items()
            if (row := self.calls.get(call)) is not None and session in (None, row.session)
        ]
        known = [rate for rate in rates if rate is not None]
        return sum(known) if known else None

    def turn_now(self, turn: str, now_ns: int) -> TurnRow:
        """A copy of a running turn as it stands at `now_ns` (wall axis), so that bars grow between events. An ended
        one is itself."""
        row = self.turns[turn]
        if turn not in self._book.clocks or row.status is not None:
            return row
        row = msgspec.structs.replace(row)
        if row.reported:
            reported.as_of(self._book, row, now_ns)
            return row
        self._book.show_stages(row, self.axis.mono_ns(row.source, now_ns))
        return row

    def lapse(self, turn: str) -> None:
        """Nobody tells the end of a reported turn: it counts as nothing, and goes on if more of it is reported. Its
        stages are worked out by `settle`."""
        reported.lapse(self.turns[turn])
        self._unsettled[turn] = None
        self._book.forget_old(self._settle_turn)

    def give_up(self, turn: str) -> None:
        """Count a running turn as interrupted at its last activity until `resume`: nothing is heard of its source."""
        row = self.turns[turn]
        if row.status is not None:
            return
        row.status, row.stage, row.ended_ns = "interrupted", None, row.started_ns + row.duration_ns
        calls = [self.calls[call] for call in row.calls]
        models = {call.model for call in calls if call.model is not None and not call.warmup}
        counted = msgspec.structs.replace(row, stages_ns=dict(row.stages_ns))
        self._given_up[turn] = (counted, models)
        self.groups.add_turn(counted, False, models)

    def resume(self, turn: str) -> None:
        """The source of a turn that was given up came back: it goes on, and counts when it ends."""
        counted, models = self._given_up.pop(turn)
        self.groups.add_turn(counted, False, models, -1)
        row = self.turns.get(turn)
        if row is not None and turn in self._book.clocks:
            row.status, row.ended_ns, row.stage = None, None, self._book.clocks[turn].current()

    def given_up(self, source: str) -> list[str]:
        """Turns of a source that were given up."""
        return [turn for turn, (row, _) in self._given_up.items() if row.source == source]

    # How one event changes the rows

    def _session_started(self, event: ev.SessionStarted, at_ns: int) -> None:
        row = self._book.session(event, at_ns)
        if row is not None:
            row.client, row.project, row.roots = event.client, event.project, event.roots
            row.websocket_share, row.started_ns = event.websocket_share, at_ns

    def _turn_started(self, event: ev.TurnStarted, at_ns: int) -> None:
        self._book.turn(event, at_ns)

    def _turn_finished(self, event: ev.TurnFinished, at_ns: int) -> None:
        row = self._book.turn(event, at_ns)
        reported.wake(row)
        if row is None or row.status is not None:
            return
        if not event.stages_ms:
            row.suspect = suspect_of(event)
            reported.end(self._book, row, event, at_ns)
            reported.count(self._book, self.groups, self.targets, row)
            self._book.forget_old(self._settle_turn)
            return
        own = self._book.close_turn(row, event.mono_ns)
        duration_ns = ms_to_ns(event.duration_ms)
        told = {stage: ms_to_ns(event.stages_ms.get(stage, 0.0)) for stage in own}
        if sum(told.values()) == duration_ns and min(told.values()) >= 0:
            row.stages_ns, row.duration_ns = told, duration_ns
        else:
            row.stages_ns, row.duration_ns = own, sum(own.values())
        self.clamped, row.suspect = self.clamped + event.clamped, suspect_of(event)
        row.status, row.stage, row.ended_ns = event.status, None, row.started_ns + row.duration_ns
        calls = [self.calls[call] for call in row.calls]
        for call in row.calls:
            self._live.pop(call, None)
        models = {call.model for call in calls if call.model is not None and not call.warmup}
        self.groups.add_turn(row, is_good(row, calls, self.targets), models)
        self._book.forget_old(self._settle_turn)

    def _call_sent(self, event: ev.CallSent, at_ns: int) -> None:
        if event.call is None:
            return
        row = self._book.call(event, at_ns, warmup=event.warmup)
        new = row.attempts == 0
        if row.status is not None:
            self.groups.add_call(row, -1)
            row.status = row.ended_ns = row.duration_ms = row.inference_ms = row.error_code = None
            row.suspect = []
        row.suspect = [*dict.fromkeys([*(name for name in row.suspect if name in _SENT), *suspect_of(event)])]
        if new:
            row.sent_ns = at_ns
        row.attempt_ns, row.attempts = at_ns, row.attempts + 1
        row.model, row.transport, row.reuse, row.input_items = (
            event.model,
            event.transport,
            event.reuse,
            event.input_items,
        )
        row.connection, row.lane = event.connection or row.connection, event.lane or row.lane
        row.bytes_up += event.bytes_up
        full = row.bytes_full if not new else 0
        row.bytes_full = None if full is None or event.bytes_full is None else full + event.bytes_full
        row.latency_ms = row.ttft_ms = row.visible_ttft_ms = row.channel = row.first_delta_ns = None
        self._live.pop(row.call, None)
        for tally in self._book.tallies_of(event.session):
            tally.sent(new_call=new and not row.warmup, chained=event.reuse == "reused", size=event.bytes_up)
        self._book.tell(event, lambda clock: clock.call_started(row.call, event.mono_ns))

    def _first_event(self, event: ev.CallFirstEvent, at_ns: int) -> None:
        row = self.calls.get(event.call or "")
        if row is not None and row.latency_ms is None:
            row.latency_ms, row.suspect = event.latency_ms, [*row.suspect, *suspect_of(event)]

    def _first_delta(self, event: ev.CallFirstDelta, at_ns: int) -> None:
        row = self.calls.get(event.call or "")
        if row is None or row.status is not None:
            return
        if row.ttft_ms is None:
            row.ttft_ms, row.channel = event.ttft_ms, event.channel
            row.suspect = [*row.suspect, *suspect_of(event)]
            row.first_delta_ns = row.attempt_ns + (0 if "ttft_ms" in row.suspect else ms_to_ns(row.ttft_ms))
            self._live[row.call] = LiveRate(row.first_delta_ns)
            self._book.tell(event, lambda clock: clock.first_delta(row.call, event.mono_ns))
        if row.visible_ttft_ms is None and event.visible_ttft_ms is not None:
            row.visible_ttft_ms = event.visible_ttft_ms
        self._book.turn_ttft(row)

    def _progress(self, event: ev.CallProgress, at_ns: int) -> None:
        row = self.calls.get(event.call or "")
        if row is None or row.status is not None:
            return
        row.output_tokens_est = event.output_tokens_est
        self._live.setdefault(row.call, LiveRate(at_ns)).sample(at_ns, event.output_tokens_est)

    def _completed(self, event: ev.CallCompleted, at_ns: int) -> None:
        if event.call is None:
            return
        row = self._book.call(event, at_ns, warmup=False)
        if row.status is None:
            row.ended_ns = at_ns
            self.clamped += event.clamped
        else:
            self.groups.add_call(row, -1)
        self._live.pop(row.call, None)
        row.status, row.duration_ms, row.inference_ms = event.status, event.duration_ms, event.inference_ms
        row.ttft_ms = row.ttft_ms if event.ttft_ms is None else event.ttft_ms
        row.visible_ttft_ms = row.visible_ttft_ms if event.visible_ttft_ms is None else event.visible_ttft_ms
        if event.input_tokens is not None or event.output_tokens is not None:
            row.input_tokens, row.cached_tokens, row.cache_write_tokens = (
                event.input_tokens, event.cached_tokens, event.cache_write_tokens
            )  # fmt: skip
            row.output_tokens, row.reasoning_tokens = event.output_tokens, event.reasoning_tokens
        row.suspect = self._suspect(row, event)
        row.deltas, row.bytes_down, row.chunk_gaps = event.deltas, event.bytes_down, event.chunk_gaps
        row.finish_reason, row.error_code = event.finish_reason, event.error_code
        row.service_stages_ms = event.service_stages_ms or row.service_stages_ms
        row.cost_usd = event.cost_usd if event.cost_usd is not None else self._cost(row)
        self._met(event.response_id, row, at_ns)
        self._book.turn_ttft(row)
        inference_ns = None
        if row.inference_ms is not None and 0 <= row.inference_ms <= MAX_MS:
            inference_ns = ms_to_ns(row.inference_ms)
        self._book.tell(event, lambda clock: clock.call_ended(row.call, event.mono_ns, inference_ns))
        self.groups.add_call(row)

    def _reported(self, event: ev.CallReported, at_ns: int) -> None:
        if event.call is None:
            return
        turn = self.turns.get(event.turn or "")
        if turn is not None and len(turn.calls) >= MAX_PARTS and event.call not in self.calls:
            event = msgspec.structs.replace(event, turn=None)
        self._touch(event)
        row = self._book.call(event, at_ns, warmup=event.warmup)
        if row.status is not None:
            self.groups.add_call(row, -1)
        else:
            for tally in self._book.tallies_of(event.session):
                tally.calls += not event.warmup
        reported.fill(row, event, at_ns)
        row.cost_usd = event.cost_usd if event.cost_usd is not None else self._cost(row)
        self._met(event.response_id, row, at_ns)
        self.groups.add_call(row)
        reported.begin(self.turns.get(row.turn or ""), row.sent_ns)

    def _tool_started(self, event: ev.ToolStarted, at_ns: int) -> None:
        turn = self.turns.get(event.turn or "")
        if turn is not None and turn.reported and len(turn.tools) >= MAX_PARTS:
            return
        self._touch(event)
        self._book.open_tool(event, at_ns)
        turn = self.turns.get(event.turn or "")
        if turn is not None and turn.reported:
            reported.begin(turn, at_ns)
        self._book.tell(event, lambda clock: clock.tool_started(event.tool_call, event.mono_ns))

    def _tool_finished(self, event: ev.ToolFinished, at_ns: int) -> None:
        self._touch(event)
        row = self._book.close_tool(event.turn, event.tool_call, event.mono_ns)
        if row is not None:
            row.ended_ns, row.status, row.output_bytes = at_ns, event.status, event.output_bytes
            row.duration_ms, row.suspect = event.duration_ms, suspect_of(event)
        self._book.tell(event, lambda clock: clock.tool_ended(event.tool_call, event.mono_ns))

    def _approval_opened(self, event: ev.ApprovalOpened, at_ns: int) -> None:
        self._book.open_approval(event, at_ns)
        self._book.tell(event, lambda clock: clock.approval_opened(event.approval, event.mono_ns))

    def _approval_resolved(self, event: ev.ApprovalResolved, at_ns: int) -> None:
        row = self._book.close_approval(event.approval)
        if row is not None:
            row.resolved_ns, row.decision, row.by = at_ns, event.decision, event.by
            row.waited_ms, row.suspect = event.waited_ms, suspect_of(event)
        self._book.tell(event, lambda clock: clock.approval_closed(event.approval, event.mono_ns))

    def _connection(self, event: ConnectionEvent, at_ns: int) -> None:
        opened = isinstance(event, ev.ConnectionOpened)
        if opened or (isinstance(event, ev.ConnectionReconnected) and event.handshake_ms is not None):
            for tally in self._book.tallies_of(event.session):
                tally.handshake(event.connection)
        if event.connection is None:
            return
        row = self.connections.setdefault(
            event.connection, ConnectionRow(connection=event.connection, source=event.source, session=event.session)
        )
        trim(self.connections, self._max_turns)
        row.history.append((at_ns, str(type(event).__struct_config__.tag), event.cause))
        if isinstance(event, ev.ConnectionOpened | ev.ConnectionReconnected) and row.opened_ns is None:
            row.opened_ns, row.handshake_ms = at_ns, event.handshake_ms
        if isinstance(event, ev.ConnectionClosed):
            row.closed_ns = at_ns

    def _service_call(self, event: ev.ServiceCall, at_ns: int) -> None:
        row = self.calls.get(self._book.by_response.get(event.response_id, ""))
        if row is None:
            self._service_first[event.response_id] = event
            trim(self._service_first, self._max_turns)
            return
        row.service_stages_ms = event.stages_ms
        row.new_tokens, row.reused_tokens = event.new_tokens, event.reused_tokens

    # Small things

    def _touch(self, event: ev.Event) -> None:
        """Something of a turn is told: if it was counted already, it is to be counted anew."""
        turn = event.turn or ""
        if turn in self._unsettled and self.turns[turn].status not in (None, "untold"):
            return  # taken out already
        if reported.discount(self._book, self.groups, self.turns.get(turn)):
            self._unsettled[turn] = None

    def _settle_turn(self, turn: str) -> None:
        if turn not in self._unsettled:
            return
        del self._unsettled[turn]
        row = self.turns.get(turn)
        if row is not None and row.status == "untold":
            reported.as_of(self._book, row, row.started_ns + row.duration_ns)
            row.ended_ns = row.started_ns + row.duration_ns
        elif row is not None and row.status is not None:
            reported.count(self._book, self.groups, self.targets, row)

    def _met(self, response_id: str | None, row: CallRow, at_ns: int) -> None:
        """Client and service know a response by one id: what the service told of it belongs to the client's call."""
        if response_id is None:
            return
        row.response_id = response_id
        self._book.by_response[response_id] = row.call
        early = self._service_first.pop(response_id, None)
        if early is not None:
            self._service_call(early, at_ns)

    def _suspect(self, row: CallRow, event: ev.CallCompleted) -> list[str]:
        """What the event says that cannot be right; it is judged with the times that the call told before."""
        if event.ttft_ms is None and row.ttft_ms is not None:
            event = msgspec.structs.replace(event, ttft_ms=row.ttft_ms, visible_ttft_ms=row.visible_ttft_ms)
        kept = [name for name in row.suspect if name == "latency_ms" or name in _SENT]
        return [*suspect_of(event), *kept]

    def _cost(self, row: CallRow) -> float | None:
        if row.model is None or row.usage_suspect:
            return None
        nano = self.prices.cost_nano(
            row.model,
            input_tokens=row.input_tokens,
            cached_tokens=row.cached_tokens,
            cache_write_tokens=row.cache_write_tokens,
            output_tokens=row.output_tokens,
        )
        return None if nano is None else nano / NANO


ConnectionEvent = (
    ev.ConnectionOpened
    | ev.ConnectionPrewarmed
    | ev.ConnectionRotated
    | ev.ConnectionReconnected
    | ev.ConnectionFallback
    | ev.ConnectionClosed
)

_HANDLERS: dict[type[ev.Event], Callable[[Rollup, Any, int], None]] = {
    ev.SessionStarted: Rollup._session_started,
    ev.TurnStarted: Rollup._turn_started,
    ev.TurnFinished: Rollup._turn_finished,
    ev.CallSent: Rollup._call_sent,
    ev.CallFirstEvent: Rollup._first_event,
    ev.CallFirstDelta: Rollup._first_delta,
    ev.CallProgress: Rollup._progress,
    ev.CallCompleted: Rollup._completed,
    ev.CallReported: Rollup._reported,
    ev.ToolStarted: Rollup._tool_started,
    ev.ToolFinished: Rollup._tool_finished,
    ev.ApprovalOpened: Rollup._approval_opened,
    ev.ApprovalResolved: Rollup._approval_resolved,
    ev.ServiceCall: Rollup._service_call,
    **dict.fromkeys(ConnectionEvent.__args__, Rollup._connection),
}
