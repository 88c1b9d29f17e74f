"""What hubs on one store tell each other, so that each shows what any of them took.

Once a tick a hub tells where the events are that it wrote; the others read those, and fold them without counting: their
browsers see them, and they have the sources' state when an agent comes to them. One that is too far behind, or that may
have missed something, reads the sources anew and has its browsers begin anew. Owned by the event loop.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import defaultdict

import msgspec

from dashboard.hub.core import TICK_S, Hub
from dashboard.hub.sources.registry import LATE_US, SLICE, decoded
from dashboard.hub.sources.state import Member
from dashboard.hub.store.port import Shared, StoreError
from dashboard.hub.store.records import Cell, CellKey, Flush, Reach, SourceRecord
from dashboard.hub.tasks import owned

log = logging.getLogger(__name__)

MAX_MESSAGE = 7_000
"""Bytes; beyond it everything is said to have changed."""
MAX_BEHIND = 20_000
"""Events that wait to be read; beyond it they are passed over and the hub begins anew."""
RETRY_S = 1.0


class _Told(msgspec.Struct):
    hub: str
    reached: list[Reach] | None
    """None: everything may have changed."""


class Sharing:
    """`start` it with the hub running, `stop` it before the hub."""

    def __init__(self, hub: Hub, store: Shared) -> None:
        self._hub, self._store = hub, store
        self._name = secrets.token_hex(6)
        self._wrote: list[Reach] | None = []
        self._heard: list[Reach] = []
        self._gap = False
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.told = 0
        """Messages sent."""
        self.begun_anew = 0

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._hub.on_written = self._written

        def on_told(message: str) -> None:
            loop.call_soon_threadsafe(self._hear, message)

        def on_gap() -> None:
            loop.call_soon_threadsafe(self._missed)

        self._end = self._store.listen(on_told, on_gap)
        self._tasks = [owned(self._telling(), "hub-telling"), owned(self._following(), "hub-following")]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        await asyncio.to_thread(self._end)

    def _written(self, flush: Flush) -> None:
        if self._wrote is None or not flush.reached:
            return
        for one in flush.reached:
            last = next((each for each in reversed(self._wrote) if each.day == one.day), None)
            if last is not None and last.upto == one.after:
                self._wrote[self._wrote.index(last)] = Reach(one.day, last.after, one.upto)
            else:
                self._wrote.append(one)

    def _hear(self, message: str) -> None:
        try:
            told = msgspec.json.decode(message, type=_Told)
        except msgspec.DecodeError:
            return
        if told.hub == self._name:
            return
        if told.reached is None:
            self._missed()
            return
        self._heard += told.reached
        if sum(one.upto - one.after for one in self._heard) > MAX_BEHIND:
            self._missed()
        self._wake.set()

    def _missed(self) -> None:
        self._gap = True
        self._heard.clear()
        self._wake.set()

    async def _telling(self) -> None:
        while True:
            await self._hub.clock.sleep(TICK_S)
            if self._wrote == []:
                continue
            wrote, self._wrote = self._wrote, []
            message = msgspec.json.encode(_Told(self._name, wrote)).decode()
            if len(message) > MAX_MESSAGE:
                message = msgspec.json.encode(_Told(self._name, None)).decode()
            try:
                await self._hub.ask(self._store.tell, message)
                self.told += 1
            except StoreError:
                self._wrote = None
                await self._hub.clock.sleep(RETRY_S)

    async def _following(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            gap, self._gap = self._gap, False
            heard, self._heard = self._heard, []
            try:
                if gap:
                    await self._begin_anew()
                else:
                    await self._read(heard)
            except StoreError as error:
                log.warning("what other hubs wrote can't be read: %s", error.message)
                await self._hub.clock.sleep(RETRY_S)
                self._missed()

    async def _read(self, heard: list[Reach]) -> None:
        for record in await self._hub.ask(self._store.sources_in, heard):
            async with self._hub.turn_of(record.source):
                await self._catch_up(record)
        for one in heard:
            self._hub.positions[one.day] = max(one.upto, self._hub.positions.get(one.day, 0))

    async def _catch_up(self, record: SourceRecord) -> None:
        """Fold what another hub took of a source."""
        hub, name = self._hub, record.source
        known = hub.roster.sources.get(name)
        if known is None:
            known = hub.roster.sources[name] = SourceRecord(source=name, team=record.team, agent=record.agent)
        if known.stamp == record.stamp or hub.writing.durable.get(name, 0) != known.seq or record.seq < known.seq:
            return  # nothing new; or something of ours is on its way, and will turn out to be void
        if known.seq and not hub.roster.holds(name) or record.seq - known.seq > MAX_BEHIND:
            hub.roster.take(record)
            member = await hub.roster.member(record)
            hub.live.mark(record.team, set(member.state.running), [], [])
        else:
            member = await hub.roster.member(known)
            await self._follow(member, await hub.ask(self._store.events_since, record, known.seq))
            for field in ("seq", "events", "first_day", "last_day", "seen_us", "stamp"):
                setattr(known, field, getattr(record, field))
        hub.writing.durable[name] = record.seq

    async def _follow(self, member: Member, bodies: list[bytes]) -> None:
        hub, team = self._hub, member.source.team
        damaged: list[bytes] = []
        hub.recent(team)
        for start in range(0, len(bodies), SLICE):
            cells: defaultdict[CellKey, Cell] = defaultdict(Cell)
            member.follow(list(decoded(bodies[start : start + SLICE], damaged)), hub.now_us(), cells.__getitem__)
            hub.tell(member, member.take(hub.now_ns()))
            for key, cell in cells.items():
                hub.recent(key.team).add(key.bucket, cell.figures, hub.now_ns() // 1_000_000_000)
            await asyncio.sleep(0)

    async def _begin_anew(self) -> None:
        """Read what the sources are by now, and have browsers fetch all."""
        hub = self._hub
        late_us = hub.now_us() - LATE_US
        changed = False
        for record in await hub.ask(hub.store.sources):
            known = hub.roster.sources.get(record.source)
            if known is not None and known.stamp == record.stamp:
                continue
            async with hub.turn_of(record.source):
                known = hub.roster.sources.get(record.source)
                if known is not None and hub.writing.durable.get(record.source, 0) != known.seq:
                    continue
                changed = True
                hub.recent(record.team)
                hub.roster.take(record)
                hub.writing.durable[record.source] = record.seq
                if record.seen_us > late_us:
                    await hub.roster.member(record)
        hub.positions = await hub.ask(hub.store.positions)
        if changed:
            self.begun_anew += 1
            hub.live.restart()
