"""Deleting what is too old, one bounded step after the other, for as long as there is time."""

from __future__ import annotations

import time
from collections.abc import Iterable

import msgspec

from dashboard.hub.store.records import Expired


def within(budget_s: float, steps: Iterable[Expired]) -> Expired:
    """What the steps did together. After `budget_s` no further one is begun, and `backlog` is set."""
    done = Expired()
    deadline = time.monotonic() + budget_s
    for step in steps:
        done = Expired(
            files=done.files + step.files, bytes_freed=done.bytes_freed + step.bytes_freed, rows=done.rows + step.rows
        )
        if (step.files or step.rows) and time.monotonic() > deadline:
            return msgspec.structs.replace(done, backlog=True)
    return done
