"""One response on its way through the pipeline."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec import Raw

from agent_core.protocol.lanes import Relation
from agent_core.responses_server.output.event_builder import EventBuilder, Frame
from agent_core.responses_server.output.long_response import Rollout
from agent_core.responses_server.pipeline.routing import Router
from agent_core.responses_server.stages import Stages
from agent_core.responses_server.state.chain import ChainState
from agent_core.wire.requests import ResponseCreate

TIMING_HEADER = b"x-responsesapi-include-timing-metrics"
ROLLOUT_HEADER = b"x-loopline-rollout"

Stop = Literal["cancelled", "expired", "gone"]


class Cut:
    """A wish to end the sampling at the next safe boundary, which is between two deltas."""

    def __init__(self) -> None:
        self.wanted = False
        self._waiting: asyncio.Task[Any] | None = None
        self._fired = False

    def ask(self) -> None:
        """Interrupts the engine if it is just being waited for; else whoever samples looks at `wanted`."""
        self.wanted = True
        if self._waiting is not None and not self._fired:
            self._fired = True
            self._waiting.cancel()

    def begin(self) -> None:
        """The engine is waited for from now on, and may be interrupted."""
        self._waiting = asyncio.current_task()

    def end(self) -> None:
        self._waiting = None

    def took(self) -> bool:
        """After CancelledError: whether it was our interruption alone, which then is taken back."""
        task = asyncio.current_task()
        if not self._fired or task is None:
            return False
        return task.uncancel() == 0


@dataclass(eq=False)
class Call:
    """`head`: what the connection remembers under the id it continues; None: nothing, the store is asked.

    `owner`: name of the client's API key. `relation` says whose head that is. `stream_id` None: default lane, or HTTP.
    `before`: input that was queued for this response by steering, in front of its own. `timing`: the client wants stage
    timings in an event. `stop` is set by the shell before it cancels the task; None then means that the server itself
    gives up. `ladder` is None until the response is created, and so is `steerable`. `rollout`: where the outputs come
    from that one long response waits for; None: calls end the response.
    """

    response_id: str
    create: ResponseCreate
    router: Router
    stages: Stages
    connection: str
    owner: str = ""
    stream_id: str | None = None
    head: ChainState | None = None
    relation: Relation = Relation.FRESH
    before: Sequence[Raw] = ()
    timing: bool = False
    stop: Stop | None = None
    ladder: EventBuilder | None = None
    steerable: bool | None = None
    cut: Cut = field(default_factory=Cut)
    rollout: Rollout | None = None

    def keepalive(self) -> Frame | None:
        """The event that breaks a silence, None before the response is created."""
        return self.ladder.in_progress() if self.ladder is not None else None


def wants_timing(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a request or an upgrade asks for stage timings, as Codex does."""
    return _asks(headers, TIMING_HEADER)


def wants_rollout(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether an upgrade asks for rollouts (an experiment)."""
    return _asks(headers, ROLLOUT_HEADER)


def _asks(headers: Iterable[tuple[bytes, bytes]], wanted: bytes) -> bool:
    values = [value.strip().lower() for name, value in headers if name == wanted]
    return bool(values) and values[0] not in (b"", b"false", b"0")
