"""What is sent to browsers: frames of changed rows, and the snapshot a page begins with. Owned by the event loop.

A frame is made once per tick for all browsers that are at the same position and see the same, which is most of them.
"""

from __future__ import annotations

import msgspec

from agent_core.telemetry.rollup.sketch import Sketch
from dashboard.hub.core import Hub
from dashboard.hub.live.rows import LiveRow, Totals, connection_lines, live_row
from dashboard.hub.sources.state import Member
from dashboard.state import format as fmt

SHOWN = 60
"""Running turns on the page, the newest; the rest is told as a number."""
SHOWN_CONNECTIONS = 12
_encode = msgspec.json.encode


class Frame(msgspec.Struct, frozen=True):
    """One message: `event` is `turns` or `resync`, `data` a JSON object."""

    cursor: str
    event: str
    data: bytes


class TotalsNow(msgspec.Struct, frozen=True):
    """`Totals` as JSON and the second they are of; `busy`: tokens flow, so that each second is told."""

    at_s: int
    data: bytes
    busy: bool


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What runs, as of `cursor`."""

    cursor: str
    running: list[LiveRow]
    totals: Totals
    rates: list[tuple[int, float]]


class Frames:
    """Makes frames for one hub; forgets them when the hub's position moves on."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._at = ""
        self._frames: dict[tuple[str | None, str, tuple[str, ...]], Frame | None] = {}
        self._rows: dict[tuple[str, str], bytes | None] = {}
        self._shown: dict[str | None, tuple[dict[str, Member], int]] = {}
        self._totals: dict[str | None, TotalsNow] = {}

    def next(self, after: str, team: str | None, turns: tuple[str, ...]) -> Frame | None:
        """What changed after a position on the page of now and in `turns`; None if nothing that is shown did."""
        self._forget_old()
        key = (team, after, turns)
        if key not in self._frames:
            self._frames[key] = self._make(after, team, turns)
        return self._frames[key]

    def first(self, team: str | None) -> Frame | None:
        """What runs, for who begins at the present position; None if nothing does."""
        self._forget_old()
        shown, hidden = self._running(team)
        rows = [self._row(member.source.team, turn, member) for turn, member in shown.items()]
        if not rows:
            return None
        parts = (b",".join(row for row in rows if row is not None), _encode(list(shown)), hidden)
        data = b'{"rows":[%b],"ended":[],"errors":[],"gone":[],"shown":%b,"hidden":%d}' % parts
        return Frame(self._hub.live.cursor, "turns", data)

    def totals(self, team: str | None) -> TotalsNow:
        """The totals, made anew at most once a second."""
        now_s = self._hub.now_ns() // 1_000_000_000
        found = self._totals.get(team)
        if found is None or found.at_s != now_s:
            totals = self.make_totals(team)
            found = self._totals[team] = TotalsNow(now_s, _encode(totals), totals.rate > 0)
        return found

    def snapshot(self, team: str | None) -> Snapshot:
        self._forget_old()
        now_ns = self._hub.now_ns()
        shown, _ = self._running(team)
        running = [live_row(member, turn, now_ns) for turn, member in shown.items()]
        return Snapshot(
            cursor=self._hub.live.cursor,
            running=[row for row in running if row is not None],
            totals=self.make_totals(team),
            rates=self.rates(team),
        )

    def make_totals(self, team: str | None) -> Totals:
        now_ns = self._hub.now_ns()
        now_s = now_ns // 1_000_000_000
        recents = [self._hub.recent(name) for name in self._hub.teams(team)]
        rate = sum(recent.rates[-1][1] for recent in recents if recent.rates and recent.rates[-1][0] >= now_s - 2)
        members = list(self._hub.roster.members(team))
        running = [(member, turn) for member in members for turn in member.state.running]
        connections, more = connection_lines(members, now_ns, SHOWN_CONNECTIONS)
        ttft, reused, calls = Sketch(), 0, 0
        for recent in recents:
            ttft.merge(recent.ttft(now_s))
            chained, counted = recent.reused(now_s)
            reused, calls = reused + chained, calls + counted
        return Totals(
            running=len(running),
            hidden=max(0, len(running) - SHOWN),
            rate=round(rate, 1),
            rate_text=fmt.rate(rate, estimated=True) if rate else fmt.UNKNOWN,
            ttft=fmt.duration(ttft.quantile(0.5)),
            reused=fmt.percent(reused / calls if calls else None),
            approvals=sum(len(member.state.pending_approvals(turn)) for member, turn in running),
            agents=len({member.source.agent for member in members}),
            connections=connections,
            more_connections=more,
        )

    def rates(self, team: str | None) -> list[tuple[int, float]]:
        """Tokens per second of the last 15 minutes, by the second."""
        summed: dict[int, float] = {}
        for name in self._hub.teams(team):
            for at_s, rate in self._hub.recent(name).rates:
                summed[at_s] = summed.get(at_s, 0.0) + rate
        return sorted(summed.items())

    def _make(self, after: str, team: str | None, turns: tuple[str, ...]) -> Frame | None:
        changed = self._hub.live.read(after, team)
        if changed.resync:
            return Frame(changed.cursor, "resync", b"{}")
        shown, hidden = self._running(team)
        rows: list[bytes] = []
        gone: list[str] = []
        for owner, turn in changed.ids:
            if turn not in shown and turn not in turns:
                continue
            row = self._row(owner, turn, shown.get(turn))
            if row is None:
                gone.append(turn)
            else:
                rows.append(row)
        if not (rows or gone or changed.ended or changed.errors):
            return None
        parts = (
            b",".join(rows),
            b",".join(changed.ended),
            b",".join(changed.errors),
            _encode(gone),
            _encode(list(shown)),
        )
        data = b'{"rows":[%b],"ended":[%b],"errors":[%b],"gone":%b,"shown":%b,"hidden":%d}' % (*parts, hidden)
        return Frame(changed.cursor, "turns", data)

    def _row(self, team: str, turn: str, member: Member | None) -> bytes | None:
        key = (team, turn)
        if key not in self._rows:
            member = member or self._hub.roster.holder(turn, team)
            row = None if member is None else live_row(member, turn, self._hub.now_ns())
            self._rows[key] = None if row is None else _encode(row)
        return self._rows[key]

    def _running(self, team: str | None) -> tuple[dict[str, Member], int]:
        """The running turns that are shown, the newest first, and how many are not."""
        if team not in self._shown:
            running = [
                (member.state.rollup.turns[turn].started_ns, turn, member)
                for member in self._hub.roster.members(team)
                for turn in member.state.running
            ]
            running.sort(key=_started_ns, reverse=True)
            self._shown[team] = ({turn: member for _, turn, member in running[:SHOWN]}, max(0, len(running) - SHOWN))
        return self._shown[team]

    def _forget_old(self) -> None:
        if self._at != self._hub.live.cursor:
            self._at = self._hub.live.cursor
            self._frames.clear()
            self._rows.clear()
            self._shown.clear()


def _started_ns(item: tuple[int, str, Member]) -> int:
    return item[0]
