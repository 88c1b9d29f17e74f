"""One response on its way through the pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from agent_core.protocol.lanes import Relation
from agent_core.responses_server.output.ladder import Frame, Ladder
from agent_core.responses_server.routing import Router
from agent_core.responses_server.stages import Stages
from agent_core.responses_server.state.remembered import Remembered
from agent_core.wire.requests import ResponseCreate

TIMING_HEADER = b"x-responsesapi-include-timing-metrics"

Stop = Literal["cancelled", "expired", "gone"]


@dataclass(eq=False)
class Call:
    """`head`: what the connection remembers under the id it continues; None: nothing, the store is asked.

    `relation` says whose head that is. `stream_id` None: default lane, or HTTP. `timing`: the client wants stage
    timings in an event. `stop` is set by the shell before it cancels the task; None then means that the server
    itself gives up. `ladder` is None until the response is created.
    """

    create: ResponseCreate
    router: Router
    stages: Stages
    connection: str
    stream_id: str | None = None
    head: Remembered | None = None
    relation: Relation = Relation.FRESH
    timing: bool = False
    stop: Stop | None = None
    ladder: Ladder | None = None

    def keepalive(self) -> Frame | None:
        """The event that breaks a silence, None before the response is created."""
        return self.ladder.in_progress() if self.ladder is not None else None


def wants_timing(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a request or an upgrade asks for stage timings, as Codex does."""
    values = [value.strip().lower() for name, value in headers if name == TIMING_HEADER]
    return bool(values) and values[0] not in (b"", b"false", b"0")
