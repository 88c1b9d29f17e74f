"""How the hub itself is doing: for the settings page, `/api/health` and the gauges of `/metrics`."""

from __future__ import annotations

import msgspec

from dashboard.hub.store.port import StoreError
from dashboard.web.parts import Parts


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """What `/healthz` tells those who may ask: since the hub began, but for what it holds now."""

    version: str
    uptime_s: int
    writes: str
    """`ok`, or the code of the error that keeps the hub from writing."""
    waiting_events: int
    """Taken and not yet durable."""
    write_failures: int
    events: int
    """Taken since the hub began."""
    repeated: int
    """Events that had been taken before."""
    refused: int
    """Batches that were not taken."""
    unfit: int
    """Events that were taken and that nothing could be made of."""
    sources: int
    in_memory: int
    """Sources in memory, of those known."""
    streams: int
    resyncs: int
    coalesced: int
    """Changes that were told as one with another."""
    slow_closed: int
    """Streams that were closed because their reader fell behind."""
    days: int
    first_day: str
    disk_bytes: int
    retention_backlog: bool
    follows_local: bool
    damage: list[str]
    """Files that were found damaged, and what was read back."""


async def health_of(parts: Parts) -> Health:
    hub, live, counters = parts.hub, parts.hub.live, parts.hub.counters
    try:
        days, disk_bytes = await hub.ask(hub.store.days), await hub.ask(hub.store.disk_bytes)
    except StoreError:
        days, disk_bytes = [], 0
    return Health(
        version=parts.version,
        uptime_s=(hub.now_us() - hub.began_us) // 1_000_000,
        writes="ok" if hub.writing.last_error is None else hub.writing.last_error.code,
        waiting_events=hub.writing.waiting_events,
        write_failures=hub.writing.failures,
        events=counters.events,
        repeated=counters.repeated,
        refused=sum(counters.refused.values()),
        unfit=counters.unfit,
        sources=len(hub.roster.sources),
        in_memory=len(hub.roster),
        streams=live.readers,
        resyncs=live.resyncs,
        coalesced=live.coalesced,
        slow_closed=live.closed_slow,
        days=len(days),
        first_day=days[0] if days else "",
        disk_bytes=disk_bytes,
        retention_backlog=hub.expired.backlog,
        follows_local=parts.local,
        damage=[*hub.store.notices, *parts.people.notices],
    )


def gauges(health: Health) -> dict[str, float]:
    """Of `/metrics`: bounded, and without a word about any team."""
    return {
        "uptime_seconds": health.uptime_s,
        "writes_ok": float(health.writes == "ok"),
        "waiting_events": health.waiting_events,
        "sources": health.sources,
        "sources_in_memory": health.in_memory,
        "dashboard_subscribers": health.streams,
        "events_coalesced": health.coalesced,
        "mailbox_overflow": health.resyncs,
        "streams_closed_slow": health.slow_closed,
        "disk_bytes": health.disk_bytes,
        "retention_backlog": float(health.retention_backlog),
    }
