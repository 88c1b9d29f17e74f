"""Retention by the settings, a little at a time. Owned by the event loop; the deleting runs in a thread."""

from __future__ import annotations

import logging

import msgspec

from dashboard.hub.settings import HubSettings
from dashboard.hub.store.port import Store
from dashboard.hub.store.records import DAY_US, Expired, Level, day_of

log = logging.getLogger(__name__)

EVERY_S = 600.0
BUDGET_S = 2.0
"""Time of one run; what is left is done by the next."""
SAMPLES_US = 3_600_000_000
"""How long samples of running calls are kept."""
MINUTES_S = 3 * 86_400
"""How long roll-ups by the minute are kept."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """Limits for `Store.expire` at an instant."""

    raw_before: str
    cells_before: dict[Level, int]
    samples_before_us: int
    seen_before_us: int


def limits(settings: HubSettings, now_us: int) -> Kept:
    now_s = now_us // 1_000_000
    long_s = now_s - settings.rollup_days * 86_400
    return Kept(
        raw_before=day_of(now_us - settings.raw_days * DAY_US),
        cells_before={60: max(long_s, now_s - MINUTES_S), 3600: long_s, 86_400: long_s},
        samples_before_us=now_us - SAMPLES_US,
        seen_before_us=now_us - settings.rollup_days * DAY_US,
    )


def expire(store: Store, settings: HubSettings, now_us: int, budget_s: float = BUDGET_S) -> Expired:
    """Delete what is too old. Raises `StoreError`."""
    kept = limits(settings, now_us)
    done = store.expire(
        raw_before=kept.raw_before,
        cells_before=kept.cells_before,
        samples_before_us=kept.samples_before_us,
        seen_before_us=kept.seen_before_us,
        budget_s=budget_s,
    )
    if done.files or done.rows:
        log.info("retention: %d files, %d rows, %d bytes freed", done.files, done.rows, done.bytes_freed)
    return done
