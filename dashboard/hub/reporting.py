"""Takes reports of other agents' turns, calls and tools: each counts once, in any order, and however often it comes.

The hub itself gives reports their sequence. A report's key is claimed like a session or a turn, in the transaction that
writes its events, so that what was acknowledged is known again after a restart. Runs on the hub's event loop.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from agent_core.telemetry import events as ev
from agent_core.telemetry.rollup.rows import TurnRow
from dashboard.hub.core import Hub
from dashboard.hub.ingest.otlp.mapping import Exporter, Report
from dashboard.hub.sources.state import Member

MAX_SESSIONS = 2_000
"""Whose latest requests are remembered, of all exporters together."""
MAX_REQUESTS = 64
MAX_AT_ONCE = 64
"""Turns of a session that are looked at for the one that ran at an instant, the latest begun first."""
EDGE_NS = 1_000_000_000
"""What a turn's end may be told before its last call's."""


class Reported(NamedTuple):
    """What became of reports: those that count, and those that were here before."""

    counted: int
    repeated: int


class Reporting:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._requests: OrderedDict[tuple[str, str | None], deque[tuple[int, str | None]]] = OrderedDict()

    async def accept(self, team: str, agent: str, exporter: Exporter, reports: Sequence[Report]) -> Reported:
        """Take reports of one exporter; they are durable when this is back. Raises `Refused`."""
        keys = [KEY + one.key for one in reports]
        keys += [ENDED + one.turn for one in reports if one.kind == "end" and one.turn is not None]
        ended = list({ENDED + one.turn: None for one in reports if one.kind != "end" and one.turn is not None})
        counted = 0

        def made(member: Member, fresh: set[str], over: set[str]) -> list[ev.Event]:
            nonlocal counted
            new = {one.key: one for one in reports if KEY + one.key in fresh}
            counted = len(new)
            return self._woven(member, exporter, list(new.values()), over)

        await self._hub.accept_made(team, agent, exporter.source, keys, ended, made)
        return Reported(counted, len(reports) - counted)

    def _woven(self, member: Member, exporter: Exporter, reports: Sequence[Report], over: set[str]) -> list[ev.Event]:
        """The reports' events in their order, with the session before what belongs to it.

        `over`: ends of turns that were told before. What comes for such a turn after it was forgotten here counts, and
        belongs to none.
        """
        woven: list[ev.Event] = []
        known = {name for name, row in member.state.rollup.sessions.items() if row.client is not None}
        turns = TurnTimes(member.state.rollup.turns)
        for one in reports:
            key = (member.source.source, one.session)
            if one.kind == "request":
                self._requested(key).append((one.at_ns, one.transport))
                continue
            if one.session is not None and one.session not in known:
                known.add(one.session)
                first = one.events[0]
                woven.append(
                    ev.SessionStarted(
                        v=first.v, time=first.time, mono_ns=first.mono_ns, session=one.session, client=exporter.client,
                        project=exporter.project,
                    )
                )  # fmt: skip
            turn = one.turn
            if one.by_time:
                turn = turns.at(one.session, one.at_ns)
            elif turn is not None and turn not in turns and ENDED + turn in over:
                turn = None
            if one.kind in ("begin", "end") and turn is not None:
                turns.know(turn, one)
            woven += [msgspec.structs.replace(self._paired(key, event), turn=turn) for event in one.events]
        return woven

    def _paired(self, key: tuple[str, str | None], event: ev.Event) -> ev.Event:
        """A call whose length its agent does not tell began when it was sent, if that was told."""
        if not isinstance(event, ev.CallReported) or event.duration_ms is not None:
            return event
        sent = None
        waiting = self._requests.get(key)
        while waiting and waiting[0][0] <= event.mono_ns:
            sent = waiting.popleft()
        if sent is None:
            return event
        at_ns, transport = sent
        told = event.transport or ("websocket" if transport == "websocket" else "http")
        return msgspec.structs.replace(event, duration_ms=(event.mono_ns - at_ns) / 1e6, transport=told)

    def _requested(self, key: tuple[str, str | None]) -> deque[tuple[int, str | None]]:
        found = self._requests.setdefault(key, deque(maxlen=MAX_REQUESTS))
        self._requests.move_to_end(key)
        while len(self._requests) > MAX_SESSIONS:
            self._requests.popitem(last=False)
        return found


KEY, ENDED = "report:", "ended:"
"""Before the key of a report, and before a turn whose end was told, among the names that are claimed."""


class TurnTimes:
    """The turns of one source, found by their times. `rows` are those that are known."""

    def __init__(self, rows: Mapping[str, TurnRow]) -> None:
        self._names = set(rows)
        self._begun: dict[str | None, list[tuple[int, str, int | None]]] = {}
        """By session: when each began, its name, when it ended; the earliest first."""
        for name, row in rows.items():
            self._begun.setdefault(row.session, []).append((row.started_ns, name, row.ended_ns))
        for begun in self._begun.values():
            begun.sort(key=_began)

    def __contains__(self, turn: str) -> bool:
        return turn in self._names

    def at(self, session: str | None, at_ns: int) -> str | None:
        """The turn of a session that ran at an instant, the latest begun of several; None if none is known."""
        begun = self._begun.get(session, [])
        last = bisect_right(begun, at_ns + EDGE_NS, key=_began)
        latest = reversed(begun[max(0, last - MAX_AT_ONCE) : last])
        return next((name for _, name, ended in latest if ended is None or at_ns <= ended + EDGE_NS), None)

    def know(self, turn: str, one: Report) -> None:
        """A report tells where it begins or ends."""
        if turn not in self._names:
            self._names.add(turn)
            length_ns = sum(
                round(event.duration_ms * 1e6) for event in one.events if isinstance(event, ev.TurnFinished)
            )
            ended = one.at_ns if one.kind == "end" else None
            insort(self._begun.setdefault(one.session, []), (one.at_ns - length_ns, turn, ended), key=_began)


def _began(turn: tuple[int, str, int | None]) -> int:
    return turn[0]
