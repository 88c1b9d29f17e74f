"""Stage timing of one response: what `service.call` and `responsesapi.websocket_timing` report."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from agent_core.clock import Clock

STAGES = (
    "admission",
    "queue",
    "state",
    "validate",
    "screen",
    "route",
    "render",
    "engine_ttft",
    "engine",
    "settle",
)
"""`engine` is the whole of the engine's time; `engine_ttft` is its part up to the first delta."""

_OWN = ("admission", "state", "validate", "screen", "route", "render", "settle")


class Stages:
    """Adds up nanoseconds per stage. Stages that did not happen are absent, not 0."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ns: dict[str, int] = {}
        self._began_ns, self._began_cpu_ns = clock.mono_ns(), time.thread_time_ns()
        self._first_ns: tuple[int, int] | None = None

    def anew(self) -> Stages:
        """Empty ones on the same clock."""
        return Stages(self._clock)

    def now_ns(self) -> int:
        return self._clock.mono_ns()

    def add(self, stage: str, ns: int) -> None:
        self._ns[stage] = self._ns.get(stage, 0) + ns

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Charge the block to `stage`, also when it raises."""
        start_ns = self._clock.mono_ns()
        try:
            yield
        finally:
            self.add(stage, self._clock.mono_ns() - start_ns)

    def first_event(self) -> None:
        """The first event has left."""
        self._first_ns = self._clock.mono_ns() - self._began_ns, time.thread_time_ns() - self._began_cpu_ns

    def as_ms(self) -> dict[str, float]:
        """Milliseconds per stage, in the order of `STAGES`."""
        return {stage: round(self._ns[stage] / 1e6, 3) for stage in STAGES if stage in self._ns}

    def seconds(self) -> dict[str, float]:
        """Seconds per stage that happened."""
        return {stage: ns / 1e9 for stage, ns in self._ns.items()}

    def metrics(self) -> dict[str, object]:
        """`timing_metrics` of `responsesapi.websocket_timing`; the field names are those that Codex reads."""
        ms = self.as_ms()
        return {
            "responses_duration_excl_engine_and_client_tool_time_ms": round(sum(ms.get(s, 0.0) for s in _OWN), 3),
            "engine_service_total_ms": ms.get("engine", 0.0),
            "engine_service_ttft_total_ms": ms.get("engine_ttft", 0.0),
            "stages_ms": ms,
            **self._first_event_ms(),
        }

    def _first_event_ms(self) -> dict[str, float]:
        """From the end of the admission to the first event: time, and CPU time of the event loop's thread."""
        if self._first_ns is None:
            return {}
        latency_ns, cpu_ns = self._first_ns
        return {"first_event_ms": round(latency_ns / 1e6, 3), "first_event_cpu_ms": round(cpu_ns / 1e6, 3)}
