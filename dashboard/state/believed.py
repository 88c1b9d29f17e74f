"""Who may tell of a call in the service: the identity whose call it is, or a service of its team. Pure.

Anybody with a token can name a response. Whoever reads events of several identities in one stream (an export, the
terminal dashboard on a hub) lets them pass through here first; pages of the hub ask for one call's tellers instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from agent_core.telemetry import events as ev

MAX_RESPONSES = 100_000
MAX_WAITING = 20_000


class Teller(msgspec.Struct, frozen=True, array_like=True):
    """Who brought a source to a hub. `service`: the hub's admin marked that identity as one."""

    team: str
    agent: str
    service: bool = False


NOBODY = Teller("", "")
TELLERS = "hub.tellers"
"""Type of the line before events that a hub hands on: `tellers` by source. Readers that don't know it pass it over."""


class Believed:
    """Owns which responses are whose, as far as calls were told of lately, and what waits for its call."""

    def __init__(self) -> None:
        self._agents: dict[tuple[str, str], str] = {}
        self._waiting: dict[tuple[str, str], dict[Teller, ev.ServiceCall]] = {}

    def take(self, event: ev.Event, who: Teller) -> Iterator[ev.Event]:
        """The events that count now: this one, and what waited for it; nothing where it waits or does not count."""
        if isinstance(event, ev.CallCompleted | ev.CallReported) and event.response_id is not None:
            key = who.team, event.response_id
            # The first one is the one whose answer it was: the id is known to nobody before.
            owner = self._agents.setdefault(key, who.agent)
            _trim(self._agents, MAX_RESPONSES)
            yield event
            for teller, told in self._waiting.pop(key, {}).items():
                if teller.service or teller.agent == owner:
                    yield told
        elif isinstance(event, ev.ServiceCall):
            key = who.team, event.response_id
            known = self._agents.get(key)
            if known is None:
                self._waiting.setdefault(key, {})[who] = event
                _trim(self._waiting, MAX_WAITING)
            elif who.service or who.agent == known:
                yield event
        else:
            yield event


def _trim(kept: dict[tuple[str, str], Any], most: int) -> None:
    while len(kept) > most:
        del kept[next(iter(kept))]
