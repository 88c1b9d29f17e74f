"""What the service counts since it began, for `/metrics`. Labels are bounded: a model that is not served is `other`,
codes that are not in the table are `other`, everything else is a word of ours.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Container, Mapping

from agent_core.responses_server.ledger.port import Status
from agent_core.wire.errors import CODES
from agent_core.wire.response import Usage

OTHER = "other"
SECONDS = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 20.0, 80.0)
"""Buckets of durations: what the service itself does takes microseconds, an answer seconds."""


class Histogram:
    """Values by upper bound, each in one bucket, the last of them without a bound."""

    def __init__(self, bounds: tuple[float, ...] = SECONDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


class Counters:
    """`served`: the models that there are."""

    def __init__(self, served: Callable[[], Container[str]]) -> None:
        self._served = served
        self.responses: Counter[tuple[str, str]] = Counter()
        """By (model, status)."""
        self.errors: Counter[str] = Counter()
        """Errors told to clients, by code: refusals and failed responses."""
        self.tokens: Counter[tuple[str, str]] = Counter()
        """By (model, kind): input, cached, output, reasoning; the second and fourth are parts of the one before."""
        self.durations: dict[str, Histogram] = {}
        """Creation to end, by model."""
        self.stages: dict[str, Histogram] = {}
        self.connections: Counter[str] = Counter()
        """WebSockets that were opened, and HTTP requests, by transport."""
        self.unsettled = 0
        """Responses of killed processes that this one closed when it started."""

    def model(self, name: str) -> str:
        """The label of a model: its name, without a variant (`scripted:slow`), if it is served."""
        served = self._served()
        if name in served:
            return name
        base = name.partition(":")[0]
        return base if base in served else OTHER

    def settled(
        self,
        model: str,
        status: Status,
        error_code: str,
        usage: Usage | None,
        duration_s: float,
        stages_s: Mapping[str, float],
    ) -> None:
        """A response has ended."""
        label = self.model(model)
        self.responses[label, status] += 1
        if error_code:
            self.refused(error_code)
        self.durations.setdefault(label, Histogram()).add(duration_s)
        for stage, seconds in stages_s.items():
            self.stages.setdefault(stage, Histogram()).add(seconds)
        if usage is None:
            return
        given, said = usage.input_tokens_details, usage.output_tokens_details
        self.tokens[label, "input"] += usage.input_tokens
        self.tokens[label, "cached"] += given.cached_tokens if given is not None else 0
        self.tokens[label, "output"] += usage.output_tokens
        self.tokens[label, "reasoning"] += said.reasoning_tokens if said is not None else 0

    def refused(self, code: str) -> None:
        """An error was told."""
        self.errors[code if code in CODES else OTHER] += 1
