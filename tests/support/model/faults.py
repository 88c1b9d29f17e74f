"""A service that plays one long rollout and breaks it in every way, by a seeded die.

Its answer depends on nothing but the conversation: with n tool outputs in it the model asks for tool n+1, until the
last one, after which it says so. So a client that loses or doubles an item ends with another conversation.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

from tests.support.model import events as make
from tests.support.model.scripted_service import Create, Gone, Peer, Post

Json = dict[str, Any]


class Answers(Protocol):
    """What the service says to a conversation: the events of one response."""

    def answer(self, items: list[Json]) -> list[Json]: ...


class Rollout:
    """Asks for one tool after the other."""

    def __init__(self, calls: int) -> None:
        self._calls = calls
        self._ids = 0

    def answer(self, items: list[Json]) -> list[Json]:
        done = sum(item.get("type") == "function_call_output" for item in items)
        self._ids += 1
        if done < self._calls - 1:
            call = make.tool_call(f"call_{done}", arguments=f'{{"path":"{done}.py"}}')
            return make.ladder(f"resp_{self._ids}", make.reasoning(item_id=f"rs_{done}"), call)
        return make.ladder(f"resp_{self._ids}", make.message("all done", "msg_end"))


class FaultyService:
    """`socket` and `post` go to `scripted_service.running`. `faults` counts what was injected, by kind."""

    def __init__(self, seed: int, calls: int, odds: float) -> None:
        self._die = random.Random(seed)
        self._odds = odds
        self._rollout: Answers = Rollout(calls)
        self._warm = 0
        self.faults: Counter[str] = Counter()

    async def socket(self, peer: Peer) -> None:
        """Serve one connection until a fault or the client ends it."""
        held: dict[str, list[Json]] = {}
        while not peer.gone.is_set():
            try:
                create = await peer.next()
            except Gone:
                return
            previous = create.get("previous_response_id")
            if previous is not None and previous not in held:
                await peer.send(make.not_found(previous))
                continue
            context = [*held.get(previous or "", []), *create["input"]]
            if create.get("generate") is False:
                self._warm += 1
                events = make.warm(f"resp_w{self._warm}")
            else:
                events = self._rollout.answer(context)
            fault = self._draw(SOCKET_FAULTS if previous is not None else UNCHAINED_FAULTS)
            if fault is None:
                held = {events[0]["response"]["id"]: [*context, *events[-1]["response"]["output"]]}
                await peer.send(*events)
                continue
            held = await self._break(fault, peer, events, held)

    def post(self, create: Create) -> Post:
        events = self._rollout.answer(create.input)
        fault = self._draw(POST_FAULTS)
        if fault is None:
            return Post(events)
        if fault == "cut":
            return Post(events[: self._die.randrange(len(events))], cut=True)
        if fault == "short":
            return Post(events[: self._die.randrange(len(events))])
        if fault == "rate":
            return Post(status=429, body=make.error("rate_limit_exceeded"), headers={"Retry-After": "2"})
        if fault == "busy":
            return Post(status=503, body=make.error("server_is_overloaded"))
        return Post(make.failed(events[0]["response"]["id"], "server_error"))

    def _draw(self, kinds: list[str]) -> str | None:
        if self._die.random() >= self._odds:
            return None
        fault = self._die.choice(kinds)
        self.faults[fault] += 1
        return fault

    async def _break(self, fault: str, peer: Peer, events: list[Json], held: dict[str, Any]) -> dict[str, Any]:
        """Let the answer `events` go wrong; what the lane holds afterwards."""
        at = self._die.randrange(len(events))
        if fault in ENDINGS:
            await peer.send(*events[:at])
            await ENDINGS[fault](peer)
            raise Gone
        if fault == "half":
            await peer.send(*events[:at])
            await peer.send_half(events[at])
            await peer.drop()
            raise Gone
        if fault == "stall":
            await peer.send(*events[:at])
        elif fault == "garbage":
            await peer.send(*events[:at])
            await peer.send_text('{"type": "response.output_text.de')
        elif fault == "duplicate":
            await peer.send(*events[: at + 1], *events[at:])
        elif fault == "missing":
            # Not a delta: who counts them can't know of one that never came.
            at = self._die.choice([n for n, each in enumerate(events[:-1]) if not each["type"].endswith(".delta")])
            await peer.send(*events[:at], *events[at + 1 :])
        elif fault == "forgets":
            await peer.send(make.not_found("whatever it named"))
            return {}
        elif fault == "limit":
            await peer.send(make.error("websocket_connection_limit_reached"))
        elif fault == "busy":
            await peer.send(make.error("server_is_overloaded", status=503))
            return held
        elif fault == "rate":
            fields: Json = {"headers": {"retry-after": "2"}}
            await peer.send(make.error("rate_limit_exceeded", status=429, **fields))
            return held
        elif fault == "failed for now":
            await peer.send(*make.failed(events[0]["response"]["id"], "rate_limit_exceeded"))
            return {}
        elif fault == "null code":
            await peer.send(*events[:at], make.error(None, status=None, type="server_error"))
            return {}
        elif fault == "failed":
            await peer.send(*make.failed(events[0]["response"]["id"], "server_error"))
            return {}
        return {}


ENDINGS: dict[str, Callable[[Peer], Any]] = {
    "close 1000": lambda peer: peer.close(1000),
    "close 1011": lambda peer: peer.close(1011),
    "close 1012": lambda peer: peer.close(1012),
    "drop": Peer.drop,
    "reset": Peer.reset,
}

SOCKET_FAULTS = [
    *ENDINGS,
    "half",
    "stall",
    "garbage",
    "duplicate",
    "missing",
    "forgets",
    "limit",
    "busy",
    "rate",
    "null code",
    "failed",
    "failed for now",
]

POST_FAULTS = ["cut", "short", "busy", "rate", "failed"]

UNCHAINED_FAULTS = [fault for fault in SOCKET_FAULTS if fault != "forgets"]
"""A create that names no previous response can't name one that is forgotten."""
