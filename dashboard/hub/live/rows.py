"""What a browser is told of one running or ended turn, of one trouble, and of a team as a whole: ready to show. Pure.

Text is written here with `dashboard.state.format`, so that page and stream say the same; a browser adds only the
running time. Foreign text is cleaned, and stays text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from dashboard.hub.people.names import person_of
from dashboard.hub.sources.state import Member
from dashboard.state import format as fmt
from dashboard.state.findings import Finding
from dashboard.state.lines import TurnLine
from dashboard.state.silence import silent_words


class LiveRow(msgspec.Struct, frozen=True, kw_only=True):
    """A turn on the live page: what is drawn, as text where it is only shown. "": not known."""

    team: str
    turn: str
    agent: str
    client: str
    """What the agent calls itself, without its version."""
    person: str
    title: str
    project: str
    model: str
    status: str
    """`running`, or how it ended."""
    stage: str
    """Name of the stage, `silent` while its source is not heard of, "" once it ended."""
    stage_word: str
    started_ms: int
    duration_ms: int
    duration: str
    rate: float
    """Tokens per second for the bar; 0 if unknown."""
    rate_text: str
    ttft: str
    cached: str
    reuse: str
    """Outcome of the latest call, "" before the first."""
    reuse_word: str
    calls: int
    approvals: int
    error: str
    silent_s: float | None = None
    """As in `TurnLine`."""
    suspect: tuple[str, ...] = ()
    """Names of figures that cannot be right in one of its calls."""


class LiveError(msgspec.Struct, frozen=True, kw_only=True):
    """A trouble on the live page, as text. `time` is `at_ms` in words."""

    team: str
    agent: str
    client: str
    turn: str
    at_ms: int
    time: str
    severity: Literal["error", "warning", "recovered"]
    subject: str
    code: str
    text: str


class ConnectionLine(msgspec.Struct, frozen=True, kw_only=True):
    connection: str
    agent: str
    opened_ms: int
    """0 if its opening was missed."""
    calls: int
    reused: int


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """The big numbers over the last 15 minutes, the rate of now, and the oldest open connections."""

    running: int
    """Turns that run."""
    hidden: int
    """Running turns beyond those that are shown."""
    rate: float
    """Tokens per second, of all that streams now; 0 if nothing does."""
    rate_text: str
    ttft: str
    reused: str
    approvals: int
    agents: int
    connections: list[ConnectionLine]
    more_connections: int


def live_row(member: Member, turn: str, now_ns: int) -> LiveRow | None:
    """None if the turn is not in memory any more."""
    line = member.state.turn_line(turn, now_ns)
    if line is None:
        return None
    latest = member.latest_call(turn)
    return row_of(line, member.source.team, member.source.agent, latest.reuse if latest is not None else None)


def row_of(line: TurnLine, team: str, agent: str, reuse: str | None) -> LiveRow:
    return LiveRow(
        team=team,
        turn=line.turn,
        agent=fmt.one_line(agent, 64),
        client=fmt.one_line((line.client or "").partition("/")[0] or fmt.UNKNOWN, 40),
        person=fmt.one_line(person_of(agent), 64),
        title=fmt.one_line(_title(line), 80),
        project=fmt.one_line(line.project or fmt.UNKNOWN, 80),
        model=_models(line.models),
        status=line.status or "running",
        stage="silent" if line.silent_s is not None else line.stage or "",
        stage_word=silent_words(line.silent_s)
        if line.silent_s is not None
        else fmt.STAGE_WORDS.get(line.stage or "", line.status or ""),
        started_ms=line.started_ns // 1_000_000,
        duration_ms=round(line.duration_ms),
        duration=fmt.duration(line.duration_ms),
        rate=round(line.rate or 0.0, 1),
        rate_text=fmt.rate(line.rate, estimated=line.rate_estimated),
        ttft=fmt.duration(line.ttft_ms),
        cached="suspect" if "cached_tokens" in line.suspect else fmt.percent(line.cache_ratio),
        reuse=reuse or "",
        reuse_word=fmt.reuse_word(reuse),
        calls=line.calls,
        approvals=line.approvals,
        error=fmt.one_line(line.error_code or "", 80),
        silent_s=line.silent_s,
        suspect=line.suspect,
    )


def _title(line: TurnLine) -> str:
    """The client's version stands on the turn's own page."""
    client = line.client or ""
    return line.title.replace(client, client.partition("/")[0], 1) if client and not line.project else line.title


def _models(models: tuple[str, ...]) -> str:
    """The first model, and how many more."""
    if not models:
        return fmt.UNKNOWN
    first = fmt.one_line(models[0], 80)
    return first if len(models) == 1 else f"{first} +{len(models) - 1}"


def error_of(finding: Finding, team: str, agent: str) -> LiveError:
    return LiveError(
        team=team,
        agent=fmt.one_line(agent, 64),
        client=fmt.one_line((finding.client or "").partition("/")[0], 40),
        turn=finding.turn or "",
        at_ms=finding.at_ns // 1_000_000,
        time=fmt.date_and_time(finding.at_ns),
        severity=finding.severity,
        subject=finding.subject,
        code=fmt.one_line(finding.code, 80),
        text=fmt.one_line(finding.text, 200),
    )


CONNECTION_LIFE_NS = 65 * 60 * 10**9
"""A connection lives 60 minutes at most; one not heard of for longer ended unseen."""


def connection_lines(members: Iterable[Member], now_ns: int, limit: int) -> tuple[list[ConnectionLine], int]:
    """The oldest open connections, and how many more there are."""
    found: list[tuple[int, ConnectionLine]] = []
    for member in members:
        for row in member.state.connections.rows.values():
            if row.state != "open" or now_ns - row.last_ns > CONNECTION_LIFE_NS:
                continue
            opened_ns = row.opened_ns or row.last_ns
            line = ConnectionLine(
                connection=fmt.one_line(row.connection, 40),
                agent=fmt.one_line(member.source.agent, 64),
                opened_ms=(row.opened_ns or 0) // 1_000_000,
                calls=row.calls,
                reused=row.reused,
            )
            found.append((opened_ns, line))
    found.sort(key=_opened)
    return [line for _, line in found[:limit]], max(0, len(found) - limit)


def _opened(item: tuple[int, ConnectionLine]) -> int:
    return item[0]
