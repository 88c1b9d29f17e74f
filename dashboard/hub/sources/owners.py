"""Whose a name is: a source, a session or a turn belongs to the identity that brought it first.

An identity is a token's name in its team. What another one brings under a name that is taken is kept all the same,
under that name with its own added: nobody can overwrite, end or go on with what is not theirs, nor take a name ahead of
its owner. Owned by the event loop.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import msgspec

from agent_core.telemetry.events import Event
from dashboard.hub.store.records import EXPORTER, IMPORTED, Claim, SourceRecord

MARK = "~"
"""Between a name and the identity that was added to it; no source and no id of ours holds one."""
MAX_RECENT = 200_000
"""Claims kept in memory, more than can wait for the disk; the store has all."""
TOLD = "told:"
"""Before the identity and the session, among the names that are claimed by the way in which a session was told of."""

Asked = Callable[[str, Sequence[str]], Awaitable[Mapping[str, str]]]
"""The identities that own some ids of a team, as far as they are owned."""


def source_key(sources: Mapping[str, SourceRecord], team: str, agent: str, source: str) -> str:
    """The name that a source of this identity has in the hub, whether or not it is there yet."""
    record = sources.get(source)
    if record is None or (record.team, record.agent) == (team, agent):
        return source
    return f"{source}{MARK}{team}/{agent}"


def names_of(team: str, agent: str, source: str) -> list[str]:
    """The names that a source of this identity can have."""
    return [source, f"{source}{MARK}{team}/{agent}"]


class Owners:
    """Sessions and turns by their owners. `asked` looks into the store."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._recent: OrderedDict[tuple[str, str], str] = OrderedDict()

    async def own(self, record: SourceRecord, events: Sequence[Event], day: str) -> tuple[list[Event], list[Claim]]:
        """The events under the names that they have in the hub, and what was claimed by them. Raises `StoreError`."""
        team, agent = record.team, record.agent
        ids = dict.fromkeys(name for event in events for name in (event.turn, event.session) if name is not None)
        unknown = [name for name in ids if (team, name) not in self._recent]
        stored = await self._asked(team, unknown) if unknown else {}
        claims: list[Claim] = []
        names: dict[str | None, str | None] = {None: None}
        for name in ids:
            owner = self._recent.get((team, name)) or stored.get(name)
            if owner is None:
                owner = agent
                claims.append(Claim(team=team, name=name, agent=agent, day=day, source=record.source))
            self._remember(team, name, owner)
            names[name] = name if owner == agent else f"{name}{MARK}{agent}"
        return [_under(event, record.source, names) for event in events], claims

    async def once(
        self, record: SourceRecord, events: Sequence[Event], day: str
    ) -> tuple[Sequence[Event], list[Claim]]:
        """The events that count. Another agent's session may be told of twice, by its exporter and by its log on the
        disk: for each identity the way that came first counts, and what the other one tells of it is left out. Raises
        `StoreError`."""
        way = next((way for way in (EXPORTER, IMPORTED) if record.source.startswith(way)), None)
        if way is None:
            return events, []
        sessions = dict.fromkeys(event.session for event in events if event.session is not None)
        names = {session: f"{TOLD}{record.agent}:{session}" for session in sessions}
        unknown = [name for name in names.values() if (record.team, name) not in self._recent]
        stored = await self._asked(record.team, unknown) if unknown else {}
        claims: list[Claim] = []
        others: set[str] = set()
        for session, name in names.items():
            first = self._recent.get((record.team, name)) or stored.get(name)
            if first is None:
                claims.append(Claim(team=record.team, name=name, agent=way, day=day, source=record.source))
            elif first != way:
                others.add(session)
            self._remember(record.team, name, first or way)
        return [event for event in events if event.session not in others], claims

    async def fresh(self, record: SourceRecord, keys: Sequence[str], day: str) -> tuple[set[str], list[Claim]]:
        """Those of some keys that nobody of the team brought before, now claimed. Raises `StoreError`."""
        team = record.team
        fresh = set(keys) - await self.known(team, keys)
        for key in fresh:
            self._remember(team, key, record.agent)
        claims = [
            Claim(team=team, name=key, agent=record.agent, day=day, source=record.source)
            for key in keys
            if key in fresh
        ]
        return fresh, claims

    async def known(self, team: str, names: Sequence[str]) -> set[str]:
        """Those of some names that somebody of the team brought before. Raises `StoreError`."""
        unknown = [name for name in names if (team, name) not in self._recent]
        stored = await self._asked(team, unknown) if unknown else {}
        return (set(names) - set(unknown)) | set(stored)

    def forget(self, claims: Iterable[Claim]) -> None:
        """These were not written."""
        for claim in claims:
            self._recent.pop((claim.team, claim.name), None)

    def _remember(self, team: str, name: str, owner: str) -> None:
        self._recent[team, name] = owner
        self._recent.move_to_end((team, name))
        while len(self._recent) > MAX_RECENT:
            self._recent.popitem(last=False)


def claims_of(claims: Iterable[Claim]) -> dict[tuple[str, str], Claim]:
    return {(claim.team, claim.name): claim for claim in claims}


def _under(event: Event, source: str, names: Mapping[str | None, str | None]) -> Event:
    turn, session = names[event.turn], names[event.session]
    if (event.source, event.turn, event.session) == (source, turn, session):
        return event
    return msgspec.structs.replace(event, source=source, turn=turn, session=session)
