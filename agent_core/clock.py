"""Time and ids come in through here, so that everything above can be driven with a compressed clock.

Wall time is for people and for anchoring; durations are always differences of the monotonic clock of one process.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def wall_ns(self) -> int:
        """Nanoseconds since the Unix epoch, UTC."""

    def mono_ns(self) -> int:
        """Monotonic nanoseconds; only differences within one process mean anything."""

    async def sleep(self, delay_s: float) -> None:
        """Suspend for `delay_s` seconds; 0 yields once."""


class SystemClock:
    """The machine's clocks."""

    def wall_ns(self) -> int:
        return time.time_ns()

    def mono_ns(self) -> int:
        return time.monotonic_ns()

    async def sleep(self, delay_s: float) -> None:
        await asyncio.sleep(delay_s)


def utc_now() -> datetime:
    """The wall clock, aware; for dates that peers name."""
    return datetime.now(UTC)


def new_id(prefix: str) -> str:
    """A fresh id: `prefix`, an underscore and 96 random bits in hex (`resp_3f…`)."""
    return f"{prefix}_{secrets.token_hex(12)}"


def rfc3339(wall_ns: int) -> str:
    """RFC 3339 in UTC with microseconds, e.g. `2026-11-30T10:17:32.000001Z`."""
    seconds, nanos = divmod(wall_ns, 1_000_000_000)
    stamp = datetime.fromtimestamp(seconds, UTC).replace(microsecond=nanos // 1000)
    return stamp.isoformat(timespec="microseconds").replace("+00:00", "Z")
