"""What a hub follows: this machine's journals, as if an agent pushed them, live, without a token, without set-up; and
the settings, where other hubs use its store."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path

import msgspec

from agent_core.telemetry.events import Content, Event
from agent_core.telemetry.journal.reader import Cursor
from dashboard.feed import JournalFollower
from dashboard.hub.core import Hub
from dashboard.hub.ingest.ndjson import Batch, Refused, problem_of
from dashboard.hub.people.auth import LOCAL_TEAM
from dashboard.hub.settings import read_settings
from dashboard.hub.sources.owners import MARK
from dashboard.hub.store.port import People, StoreError
from dashboard.hub.store.records import DAY_US, day_of

log = logging.getLogger(__name__)

AGENT = "this machine"
RETRY_S = 2.0
LOOK_S = 0.5
_FINISHED = "local.finished"


async def follow_journals(hub: Hub, people: People, state_dir: Path) -> None:
    """Runs until it is cancelled. Journals of days that the hub would not keep are left unread."""
    finished = _finished(people)
    seqs = {
        record.source.partition(MARK)[0]: record.seq
        for record in hub.roster.sources.values()
        if (record.team, record.agent) == (LOCAL_TEAM, AGENT) and record.seq
    }
    since = day_of(hub.now_us() - hub.settings.raw_days * DAY_US)
    follower = JournalFollower(state_dir, since=since, cursor=Cursor(seqs, set(finished)), clock=hub.clock)
    told = 0
    async with contextlib.aclosing(follower.batches()) as batches:
        async for batch in batches:
            for one in _by_source(batch.events):
                await _take(hub, one)
            for source in batch.ended:
                hub.roster.end(hub.roster.key(LOCAL_TEAM, AGENT, source))
            if batch.ended:
                finished |= set(batch.ended)
                with contextlib.suppress(StoreError):
                    people.put_value(_FINISHED, msgspec.json.encode(sorted(finished)))
            for notice in follower.notices[told:]:
                log.warning("a journal is left out: %s", notice)
            told = len(follower.notices)


async def follow_settings(hub: Hub, people: People) -> None:
    """Apply what another hub on this store was set to. Runs until it is cancelled."""
    seen = people.version()
    while True:
        await hub.clock.sleep(LOOK_S)
        if (version := people.version()) == seen:
            continue
        try:
            settings = read_settings(await hub.ask(people.value, "settings"))
        except StoreError:
            continue
        seen = version
        if settings != hub.settings:
            hub.apply_settings(settings)


async def _take(hub: Hub, batch: Batch) -> None:
    """Until the hub has it: a journal is not lost because a disk is full for a while."""
    while True:
        try:
            await hub.accept(LOCAL_TEAM, AGENT, batch, batch.first_seq - 1)
        except Refused as refused:
            hub.counters.refused[refused.code] += 1
            if refused.retry_after_s is None:
                log.warning("a journal can't be taken: %s", refused.code)
                return
            await asyncio.sleep(RETRY_S)
        else:
            return


def _by_source(events: list[Event]) -> Iterator[Batch]:
    """Batches in order; what can't be folded is passed over."""
    found: dict[str, list[Event]] = {}
    for event in events:
        found.setdefault(event.source, []).append(event)
    for source, some in found.items():
        fit = [event for event in some if not isinstance(event, Content) and not problem_of(event)]
        yield Batch(source, fit, some[-1].seq, len(some) - len(fit), some[0].seq)


def _finished(people: People) -> set[str]:
    """Sources whose process is gone and whose journals were read to their end."""
    try:
        kept = people.value(_FINISHED)
        return set() if kept is None else set(msgspec.json.decode(kept, type=list[str]))
    except (StoreError, msgspec.DecodeError):
        return set()
