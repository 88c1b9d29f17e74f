"""What the store keeps: plain records and the questions asked of it. Data only.

Instants are microseconds since the Unix epoch (`*_us`) or nanoseconds (`*_ns`), UTC. A `team` of None in a question
means all teams; who may ask that is decided before the store is reached.
"""

from __future__ import annotations

import secrets
from datetime import date
from typing import Literal

import msgspec

from agent_core.telemetry.rollup.figures import Figures
from dashboard.state.savings import Savings

DAY_US = 86_400_000_000
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_LAST_DAY = date.max.toordinal() - _EPOCH_ORDINAL

EXPORTER = "otlp-"
"""Beginning of the names of sources that export with OTLP; agents of ours name theirs otherwise."""
IMPORTED = "import-"
"""Beginning of the names of sources that stand for another agent's log on the disk."""

EventKind = Literal[0, 1, 2]
ORDINARY: EventKind = 0
SAMPLE: EventKind = 1
"""`call.progress` and `source.alive`: of use while they are fresh, then deleted."""
CONTEXT: EventKind = 2
"""`session.*` and `connection.*`: needed to read later events of the source."""

Level = Literal[60, 3600, 86_400]
LEVELS: tuple[Level, ...] = (60, 3600, 86_400)
"""Lengths of roll-up buckets in seconds."""


class EventRow(msgspec.Struct, frozen=True):
    """One event as it is kept. `day` (YYYY-MM-DD) names the file. `subject` is what it is looked up by: its turn, or
    `response_subject` of a `service.call`; "" for none."""

    day: str
    source: str
    team: str
    seq: int
    at_us: int
    subject: str
    kind: EventKind
    body: bytes


class TurnRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A turn as lists show it. `body` is the JSON of its `TurnLine`; it is filed under the day of its start."""

    team: str
    turn: str
    session: str
    source: str
    agent: str
    project: str
    model: str
    status: str
    """`running` until it ends."""
    reuse: str
    """Outcome of the latest call, "" without one."""
    started_us: int
    ended_us: int | None
    """None while it runs."""
    body: bytes

    @property
    def day(self) -> str:
        return day_of(self.started_us)


class FindingRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A trouble, filed under its day. (source, seq) makes it unique."""

    team: str
    source: str
    seq: int
    at_us: int
    severity: str
    code: str
    agent: str
    turn: str
    body: bytes
    """JSON of the `Finding`."""

    @property
    def day(self) -> str:
        return day_of(self.at_us)


class Dims(msgspec.Struct, frozen=True, order=True, array_like=True):
    """What a roll-up row is about. "" = unknown, or does not apply (`reuse` of a turn's own figures)."""

    agent: str = ""
    client: str = ""
    version: str = ""
    project: str = ""
    model: str = ""
    transport: str = ""
    reuse: str = ""


class Cell(msgspec.Struct):
    """Figures of one roll-up row, and what its calls saved (computed, see `dashboard.state.savings`)."""

    figures: Figures = msgspec.field(default_factory=Figures)
    savings: Savings = msgspec.field(default_factory=Savings)

    def merge(self, other: Cell) -> None:
        self.figures.merge(other.figures)
        self.savings.add(other.savings)


class CellKey(msgspec.Struct, frozen=True):
    """`bucket` is the start in seconds since the epoch, a multiple of `level`. `source`: whose events it was made of,
    while it is on its way into the store; rows have none."""

    level: Level
    bucket: int
    team: str
    dims: Dims
    source: str = ""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """The id of a session or a turn belongs to an identity of its team. `day`: when that was; it ends with the day.
    `source`: with whose events it came."""

    team: str
    name: str
    agent: str
    day: str
    source: str = ""


class SourceRecord(msgspec.Struct, kw_only=True):
    """One process that sends events. `seq` is the last one that is durable.

    `source`: its name in the hub, see `sources/owners.py`. `team` and `agent` are the identity that brought it first.
    """

    source: str
    team: str
    agent: str
    seq: int = 0
    events: int = 0
    first_day: str = ""
    last_day: str = ""
    seen_us: int = 0
    """When the hub last took events of it."""
    stamp: int = 0
    """`Flush.stamp` of the unit that it was last put into, 0 for none."""

    @property
    def reported(self) -> bool:
        """Another agent's exporter: what it tells comes in any order, and may lack an end."""
        return self.source.startswith((EXPORTER, IMPORTED))


class Reach(msgspec.Struct, frozen=True, array_like=True):
    """Event positions of a day: those after `after`, up to `upto`."""

    day: str
    after: int
    upto: int


def _new_stamp() -> int:
    return secrets.randbits(62) + 1


class Flush(msgspec.Struct):
    """One durable unit. `cells` are minutes to add to the roll-up rows of all levels, `sources` replace what was
    known."""

    events: list[EventRow] = msgspec.field(default_factory=list)
    turns: dict[tuple[str, str], TurnRecord] = msgspec.field(default_factory=dict)
    findings: list[FindingRecord] = msgspec.field(default_factory=list)
    cells: dict[CellKey, Cell] = msgspec.field(default_factory=dict)
    sources: dict[str, SourceRecord] = msgspec.field(default_factory=dict)
    claims: dict[tuple[str, str], Claim] = msgspec.field(default_factory=dict)
    """By team and id; who claimed it first keeps it."""
    stamp: int = msgspec.field(default_factory=_new_stamp)
    """Of this unit, drawn at random."""
    bases: dict[str, int] = msgspec.field(default_factory=dict)
    """The stamp that each source had before this unit. A store that several hubs write leaves out what is of a source
    whose stamp is another by now."""
    moved: set[str] = msgspec.field(default_factory=set)
    """Set by a shared store: the sources that were left out."""
    reached: list[Reach] = msgspec.field(default_factory=list)
    """Set by a shared store: where its events are."""

    def __bool__(self) -> bool:
        return bool(self.events or self.turns or self.findings or self.cells or self.sources)


class TokenRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A named token. Only the SHA-256 of the token is kept; it has 256 random bits, so no salt is needed."""

    name: str
    role: str
    team: str
    digest: str
    created_us: int
    revoked_us: int | None = None


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A browser that signed in. `token` is the name of the token it used, None for the launch secret."""

    digest: str
    token: str | None
    created_us: int
    used_us: int


class AuditRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Who did what: never a secret, never content."""

    at_us: int
    actor: str
    action: str
    detail: str = ""


class TurnQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Turns that started in [since, until), newest first. "" matches all."""

    team: str | None
    """None: all teams."""
    since_us: int
    until_us: int
    agent: str = ""
    project: str = ""
    model: str = ""
    status: str = ""
    session: str = ""
    limit: int = 100
    """Most turns in an answer."""


class FindingQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Troubles in [since, until), newest first."""

    team: str | None
    since_us: int
    until_us: int
    severity: str = ""
    code: str = ""
    agent: str = ""
    turn: str = ""
    limit: int = 200


class Expired(msgspec.Struct, frozen=True, kw_only=True):
    """What one run of retention did; `backlog` says that its time was up before all was done."""

    files: int = 0
    bytes_freed: int = 0
    rows: int = 0
    backlog: bool = False


def response_subject(response_id: str) -> str:
    return f"response:{response_id}"


def day_of(at_us: int) -> str:
    """YYYY-MM-DD in UTC; an instant before 1970 or after 9999 is on the first or last day of these."""
    return date.fromordinal(_EPOCH_ORDINAL + min(max(0, at_us // DAY_US), _LAST_DAY)).isoformat()
