"""Looks back: a turn from its events, lists of turns and troubles, exports, and following what is written.

Every question carries the team of who asks (None: all teams); it is applied in the store's query.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Collection, Iterator, Mapping

import msgspec

from agent_core.telemetry.events import CallCompleted, CallReported, Event, SessionStarted, TurnFinished
from agent_core.telemetry.export.files import Wanted
from dashboard.hub.core import Hub
from dashboard.hub.live.rows import LiveRow, live_row, row_of
from dashboard.hub.people.names import person_of
from dashboard.hub.sources.registry import turn_events_of, whole_events
from dashboard.hub.sources.state import Member
from dashboard.hub.store.port import Store
from dashboard.hub.store.records import DAY_US, EXPORTER, TurnQuery, TurnRecord, day_of, response_subject
from dashboard.state.believed import NOBODY, TELLERS, Believed, Teller
from dashboard.state.fold import State
from dashboard.state.lines import TurnLine
from dashboard.state.silence import GONE_S

MAX_FOLLOWED = 2_000
"""Events of one answer to who follows."""


class TurnView(msgspec.Struct, frozen=True):
    """A turn, ready for the selectors that all dashboards share. `live`: it is in memory and may go on."""

    turn: str
    team: str
    agent: str
    title: str
    state: State
    live: bool


async def view_turn(hub: Hub, turn: str, team: str | None) -> TurnView | None:
    """A running turn as it is in memory, an ended one folded from its events; None if there is none of that team."""
    member = hub.roster.holder(turn, team)
    if member is not None and member.state.rollup.turns[turn].status is None:
        return _of_member(member, turn, hub.now_ns())
    record = await hub.ask(hub.store.turn, turn, team)
    if member is not None and (record is None or record.status == "running"):
        return _of_member(member, turn, hub.now_ns())  # its end is not written yet
    if record is None:
        return None
    events = await hub.ask(turn_events, hub.store, record, await hub.believed(record.team, record.agent))
    state = State(prices=hub.settings.price_table(), targets=hub.settings.folding_targets())
    state.apply_all(events)
    if turn not in state.rollup.turns:
        return None
    if state.rollup.turns[turn].status is None and (record.status != "running" or is_gone(hub, record)):
        state.give_up(turn)
    line = line_of_record(record)
    return TurnView(turn, record.team, record.agent, "turn" if line is None else line.title, state, live=False)


async def ended_turns(hub: Hub, team: str | None, limit: int) -> list[LiveRow]:
    """The latest turns of the last day that ended, newest end first: those in memory, and those that were written."""
    now_ns = hub.now_ns()
    rows: dict[tuple[str, str], LiveRow] = {}
    query = TurnQuery(team=team, since_us=now_ns // 1000 - DAY_US, until_us=now_ns // 1000 + DAY_US, limit=4 * limit)
    for record in await hub.ask(hub.store.turns, query):
        line = line_of_record(record) if record.status != "running" else None
        if line is not None:
            rows[(record.team, record.turn)] = row_of(line, record.team, record.agent, record.reuse or None)
    for member in hub.roster.members(team):
        for turn, at in member.state.rollup.turns.items():
            row = live_row(member, turn, now_ns) if at.status is not None else None
            if row is not None:
                rows[(row.team, row.turn)] = row
    return sorted(rows.values(), key=_ended_ms, reverse=True)[:limit]


def line_of_record(record: TurnRecord) -> TurnLine | None:
    """The line as it was written; None if another version wrote what this one can't read."""
    try:
        return msgspec.json.decode(record.body, type=TurnLine)
    except msgspec.DecodeError:
        return None


def is_gone(hub: Hub, record: TurnRecord) -> bool:
    """Whether nothing has been heard of a turn's source for so long that it counts as interrupted."""
    source = hub.roster.sources.get(record.source)
    return source is None or hub.now_us() - source.seen_us >= GONE_S * 1e6


def turn_events(store: Store, record: TurnRecord, believed: Collection[str]) -> list[Event]:
    """The events of a turn, its session's and connections' before it, and what the service told of its calls.

    `believed`: the sources that may tell of its calls; anybody can name a response.
    """
    own = turn_events_of(store, record)
    days = sorted({day_of(record.started_us - DAY_US), record.day, day_of(record.ended_us or record.started_us)})
    connections = {event.connection for event in own if event.connection is not None}
    context = [
        event
        for event in whole_events(store, store.source_events(record.source, days, None))
        if event.session == record.session or event.connection in connections
    ]
    responses = [
        response_subject(event.response_id)
        for event in own
        if isinstance(event, CallCompleted | CallReported) and event.response_id is not None
    ]
    told = whole_events(store, store.events_of(responses, record.team))
    service = [event for event in told if event.source in believed]
    mine = [event for event in own if event.source == record.source]
    if record.source.startswith(EXPORTER):
        return [*_by_time([*context, *mine]), *service]
    return [*sorted([*mine, *context], key=_seq), *service]


def export_filter(
    hub: Hub,
    *,
    agent: str,
    client: str,
    person: str,
    project: str,
    session: str,
    model: str,
    team: str | None,
    since_us: int,
    until_us: int,
) -> Callable[[Event], bool]:
    """Which events an export takes; "" takes all. Blocks: ask it in a thread."""
    wanted = Wanted(session=session, model=model)
    sources = {
        record.source
        for record in list(hub.roster.sources.values())
        if agent in ("", record.agent) and person in ("", person_of(record.agent))
    }
    sessions: set[str] = set()
    of_client: set[str] = set()
    if client:
        query = TurnQuery(team=team, since_us=since_us - DAY_US, until_us=until_us, limit=1_000_000)
        of_client = {turn.session for turn in hub.store.turns(query) if _client_of(turn) == client}
    if project:
        query = TurnQuery(team=team, since_us=since_us - DAY_US, until_us=until_us, project=project, limit=1_000_000)
        sessions = {turn.session for turn in hub.store.turns(query)}

    def takes(event: Event) -> bool:
        if (agent or person) and event.source not in sources:
            return False
        if client and event.session not in of_client:
            if not isinstance(event, SessionStarted) or event.client.partition("/")[0] != client:
                return False
            of_client.add(event.session or "")
        if project and event.session not in sessions:
            return False
        return wanted(event)

    return takes


def exported(
    store: Store,
    team: str | None,
    since_us: int,
    until_us: int,
    takes: Callable[[Event], bool],
    tellers: Mapping[str, Teller],
) -> Iterator[Event]:
    """The events of an export, in pages; samples are left out, and what was told of calls by whom they are not."""
    believed = Believed()
    for event in whole_events(store, store.events_between(since_us, until_us, team)):
        for each in believed.take(event, tellers.get(event.source, NOBODY)):
            if takes(each):
                yield each


class Followed(msgspec.Struct, frozen=True):
    """`bodies`: events, behind a line that says who told of them (`believed.TELLERS`) if that was asked for."""

    bodies: list[bytes]
    cursor: str


class _Source(msgspec.Struct):
    source: str = ""


def _source_of(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_Source).source
    except msgspec.DecodeError:
        return ""


async def follow(hub: Hub, cursor: str, since_day: str, team: str | None, *, tellers: bool = False) -> Followed:
    """What was written since a cursor, or since a day if that is "" or no cursor of ours."""
    positions = _positions(cursor)
    upto = dict(hub.positions)
    if positions is None:
        positions = {day: 0 if day >= since_day else last for day, last in upto.items()}
    bodies, reached = await hub.ask(hub.store.events_after, positions, upto, team, MAX_FOLLOWED)
    kept = {day: last for day, last in reached.items() if day in upto}
    if bodies and tellers:
        who = await hub.tellers({_source_of(body) for body in bodies})
        bodies = [msgspec.json.encode({"type": TELLERS, "tellers": who}), *bodies]
    return Followed(bodies, base64.urlsafe_b64encode(msgspec.json.encode(kept)).decode())


def _positions(cursor: str) -> dict[str, int] | None:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(cursor), type=dict[str, int]) if cursor else None
    except (binascii.Error, ValueError, msgspec.DecodeError):
        return None


def _of_member(member: Member, turn: str, now_ns: int) -> TurnView:
    line = member.state.turn_line(turn, now_ns)
    title = "turn" if line is None else line.title
    return TurnView(turn, member.source.team, member.source.agent, title, member.state, live=True)


def _ended_ms(row: LiveRow) -> int:
    return row.started_ms + row.duration_ms


def _client_of(turn: TurnRecord) -> str:
    line = line_of_record(turn)
    return "" if line is None else (line.client or "").partition("/")[0]


def _by_time(events: list[Event]) -> list[Event]:
    """What another agent reported came in any order; each event has its own instant."""
    ordered = sorted({event.seq: event for event in events}.values(), key=_mono_ns)
    return [msgspec.structs.replace(event, seq=number) for number, event in enumerate(ordered, 1)]


def _mono_ns(event: Event) -> tuple[int, bool]:
    """A session is known before what belongs to it."""
    return (0, False) if isinstance(event, SessionStarted) else (event.mono_ns, isinstance(event, TurnFinished))


def _seq(event: Event) -> int:
    return event.seq
