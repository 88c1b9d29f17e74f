"""What the web side is made of: one object, built by whoever starts it, found through the request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from jinja2 import Environment
from starlette.requests import HTTPConnection

from agent_core.rates import Buckets, Failures
from dashboard.hub.core import Hub
from dashboard.hub.frames import Frames
from dashboard.hub.people.auth import Auth
from dashboard.hub.reporting import Reporting
from dashboard.hub.store.port import People
from dashboard.web.assets import Assets
from dashboard.web.origin import Site


def no_abort(peer: tuple[str, int] | None) -> None:
    """Where the server can't be reached, a connection ends when its peer or the process does."""


@dataclass
class Parts:
    """What the pages and streams of one web dashboard share; `app` makes it, and each request finds it by
    `parts_of`."""

    hub: Hub
    people: People
    auth: Auth
    frames: Frames
    site: Site
    assets: Assets
    pages: Environment
    reporting: Reporting
    local: bool
    """Follows this machine's journals."""
    version: str
    abort: Callable[[tuple[str, int] | None], None] = no_abort
    """Drops a peer's connection at once, with what was not sent."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the process is to end; streams and long polls end with it."""
    exports: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(4))
    """Each export reads from disk in a thread of its own."""
    failures: Failures = field(default_factory=Failures)
    """Wrong credentials by peer."""
    ingest_rate: Buckets = field(default_factory=lambda: Buckets(per_s=50.0, burst=100.0))
    """Batches by source."""
    refusals: Buckets = field(default_factory=lambda: Buckets(per_s=1 / 60, burst=3.0))
    """Audit records of refused batches by token and reason."""
    streams: dict[str, int] = field(default_factory=dict)
    """Open streams by credential."""


def parts_of(connection: HTTPConnection) -> Parts:
    parts: Parts = connection.app.state.parts
    return parts
