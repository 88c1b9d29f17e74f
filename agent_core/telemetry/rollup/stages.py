"""Splits a turn's wall time into its five stages. Pure; integers in nanoseconds.

Each instant belongs to one stage: a call runs > a tool runs > an approval is open > client_other. Parallel tools are
so a union, never a sum. Call time is then split by duration: inference is what the calls report, at most their wall
time; the rest is api_overhead. The five add up to the turn exactly.
"""

from __future__ import annotations

import msgspec

from agent_core.telemetry.events import Stage

STAGES: tuple[Stage, ...] = ("api_overhead", "inference", "client_tool", "approval", "client_other")


class _OpenCall(msgspec.Struct):
    started_ns: int
    first_delta_ns: int | None = None


class StageClock:
    """One turn's stages, told as things happen.

    All stamps are monotonic nanoseconds of one process. A stamp before the latest one counts as the latest and is
    counted in `clamped`. Starting what runs and ending what does not run change nothing.
    """

    def __init__(self, start_ns: int) -> None:
        self._start_ns = self._now_ns = start_ns
        self._calls: dict[str, _OpenCall] = {}
        self._tools: set[str] = set()
        self._approvals: set[str] = set()
        self._call_ns = self._tool_ns = self._approval_ns = self._other_ns = 0
        self._inference_ns = 0
        self.clamped = 0

    def call_started(self, call: str, ns: int) -> None:
        self._advance(ns)
        self._calls.setdefault(call, _OpenCall(self._now_ns))

    def first_delta(self, call: str, ns: int) -> None:
        """The call's first delta of any channel: from here on its time looks like inference until its end is told."""
        self._advance(ns)
        running = self._calls.get(call)
        if running is not None and running.first_delta_ns is None:
            running.first_delta_ns = self._now_ns

    def call_ended(self, call: str, ns: int, inference_ns: int | None) -> None:
        """`inference_ns` is the engine's time, else first to last delta; None: unknown, then from the first delta to
        here."""
        self._advance(ns)
        running = self._calls.pop(call, None)
        if running is None:
            return
        wall_ns = self._now_ns - running.started_ns
        if inference_ns is None:
            inference_ns = 0 if running.first_delta_ns is None else self._now_ns - running.first_delta_ns
        if inference_ns < 0:
            self.clamped += 1
            inference_ns = 0
        self._inference_ns += min(wall_ns, inference_ns)

    def tool_started(self, tool: str, ns: int) -> None:
        self._advance(ns)
        self._tools.add(tool)

    def tool_ended(self, tool: str, ns: int) -> None:
        self._advance(ns)
        self._tools.discard(tool)

    def approval_opened(self, approval: str, ns: int) -> None:
        self._advance(ns)
        self._approvals.add(approval)

    def approval_closed(self, approval: str, ns: int) -> None:
        self._advance(ns)
        self._approvals.discard(approval)

    def current(self) -> Stage:
        """The stage of this instant; a running call is inference from its first delta on."""
        if self._calls:
            streams = any(call.first_delta_ns is not None for call in self._calls.values())
            return "inference" if streams else "api_overhead"
        if self._tools:
            return "client_tool"
        return "approval" if self._approvals else "client_other"

    def stages_ns(self, at_ns: int | None = None) -> dict[Stage, int]:
        """The split from the start to `at_ns` (None: to the latest stamp). What still runs counts up to there."""
        at_ns = self._now_ns if at_ns is None else max(at_ns, self._now_ns)
        ahead_ns = at_ns - self._now_ns
        current = self.current()
        call_ns = self._call_ns + (ahead_ns if current in ("api_overhead", "inference") else 0)
        streaming_ns = sum(
            at_ns - call.first_delta_ns for call in self._calls.values() if call.first_delta_ns is not None
        )
        inference_ns = min(call_ns, self._inference_ns + streaming_ns)
        return {
            "api_overhead": call_ns - inference_ns,
            "inference": inference_ns,
            "client_tool": self._tool_ns + (ahead_ns if current == "client_tool" else 0),
            "approval": self._approval_ns + (ahead_ns if current == "approval" else 0),
            "client_other": self._other_ns + (ahead_ns if current == "client_other" else 0),
        }

    def duration_ns(self) -> int:
        """From the start to the latest stamp."""
        return self._now_ns - self._start_ns

    def finish(self, ns: int) -> dict[Stage, int]:
        """The turn ends here: the final split, whose sum is `duration_ns()`."""
        self._advance(ns)
        return self.stages_ns()

    def _advance(self, ns: int) -> None:
        step_ns = ns - self._now_ns
        if step_ns < 0:
            self.clamped += 1
            return
        if self._calls:
            self._call_ns += step_ns
        elif self._tools:
            self._tool_ns += step_ns
        elif self._approvals:
            self._approval_ns += step_ns
        else:
            self._other_ns += step_ns
        self._now_ns = ns


def to_ms(stages_ns: dict[Stage, int]) -> dict[str, float]:
    """The form of `turn.finished.stages_ms`; `ms_to_ns` gives the same integers back."""
    return {stage: ns / 1_000_000 for stage, ns in stages_ns.items()}


def ms_to_ns(ms: float) -> int:
    """Nearest nanosecond; exact for durations that were whole nanoseconds below about a month."""
    return round(ms * 1_000_000)
