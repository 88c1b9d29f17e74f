"""Events of a team hub, for `loopline tui --hub URL`: long polls of `GET /api/events`, by cursor.

The token comes from `LOOPLINE_HUB_TOKEN`; the hub decides what it lets see.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import httpx
import msgspec

from agent_core.clock import Clock
from agent_core.errors import AuthError, StateError, UsageError
from agent_core.telemetry.codec import decode_event
from agent_core.telemetry.events import Event
from dashboard.feed import Batch, EventFeed
from dashboard.state.believed import NOBODY, TELLERS, Believed, Teller

WAIT_S = 20
"""How long the hub may hold a poll that has nothing."""
MARGIN_S = 10.0
RETRY_S = (1.0, 2.0, 5.0, 15.0)
"""Pauses after failed polls; the last one stays."""
CURSOR = "x-loopline-cursor"
TOKEN = "LOOPLINE_HUB_TOKEN"


_TELLERS = msgspec.json.encode({"type": TELLERS})[:-1]


class _Tellers(msgspec.Struct):
    tellers: dict[str, Teller]


class HubFollower:
    """Follows one hub. A hub that is away is told in `notices` and tried again."""

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        since: str,
        clock: Clock,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """`since` is a day (YYYY-MM-DD, UTC). `transport` replaces the network in tests of the polling alone."""
        self._url, self._since, self._clock, self._transport = url.rstrip("/"), since, clock, transport
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._tellers: dict[str, Teller] = {}
        self.notices: list[str] = []

    def now_ns(self) -> int:
        return self._clock.wall_ns()

    async def batches(self) -> AsyncGenerator[Batch, None]:
        """Raises `AuthError` if the hub refuses the token."""
        cursor, failures, believed = "", 0, Believed()
        async with httpx.AsyncClient(
            headers=self._headers, timeout=WAIT_S + MARGIN_S, transport=self._transport
        ) as client:  # fmt: skip
            while True:
                try:
                    response = await client.get(f"{self._url}/api/events", params=self._query(cursor))
                    if response.status_code in (401, 403):
                        raise AuthError(
                            "the hub refuses the token", hint=f"set {TOKEN} to a token of `loopline web token`"
                        )
                    response.raise_for_status()
                except httpx.HTTPError as error:
                    self.notices = [f"the hub does not answer ({type(error).__name__}); trying again"]
                    await self._clock.sleep(RETRY_S[min(failures, len(RETRY_S) - 1)])
                    failures += 1
                    continue
                failures, self.notices = 0, []
                cursor = response.headers.get(CURSOR, cursor)
                events = self._events(response.content)
                yield Batch(list(self._counting(events, believed)))
                if not events:
                    await asyncio.sleep(0)

    def history(self) -> Iterator[Event]:
        cursor, believed = "", Believed()
        with httpx.Client(headers=self._headers, timeout=MARGIN_S) as client:
            while True:
                try:
                    query = self._query(cursor) | {"wait_s": "0"}
                    response = client.get(f"{self._url}/api/events", params=query).raise_for_status()
                except httpx.HTTPError as error:
                    raise StateError(
                        f"the hub does not answer ({type(error).__name__})", code="state_unreadable"
                    ) from error
                events = self._events(response.content)
                if not events:
                    return
                yield from self._counting(events, believed)
                cursor = response.headers.get(CURSOR, cursor)

    def _events(self, body: bytes) -> list[Event]:
        """The events of an NDJSON body; lines that are no event of this version are left out."""
        events: list[Event] = []
        for line in body.splitlines():
            if line.startswith(_TELLERS):
                with contextlib.suppress(msgspec.MsgspecError):
                    self._tellers |= msgspec.json.decode(line, type=_Tellers).tellers
                continue
            with contextlib.suppress(StateError):
                event = decode_event(line) if line.strip() else None
                if event is not None:
                    events.append(event)
        return events

    def _counting(self, events: Iterable[Event], believed: Believed) -> Iterator[Event]:
        for event in events:
            yield from believed.take(event, self._tellers.get(event.source, NOBODY))

    def _query(self, cursor: str) -> dict[str, str]:
        place = {"after": cursor} if cursor else {"since": self._since}
        return {**place, "wait_s": str(WAIT_S), "tellers": "1"}


def open_hub(url: str, environment: Mapping[str, str], clock: Clock) -> Callable[[int], EventFeed]:
    """How to follow the hub at `url` for some days of history. Raises `UsageError` for what is no address."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise UsageError(
            "--hub takes an http or https address without credentials", hint=f"the token comes from {TOKEN}"
        )

    def open_feed(days: int) -> EventFeed:
        since = (datetime.fromtimestamp(clock.wall_ns() / 1e9, UTC) - timedelta(days=days)).date().isoformat()
        return HubFollower(url, environment.get(TOKEN), since=since, clock=clock)

    return open_feed
