"""What of two agents, models or people cannot be set side by side, and why. Pure.

The same word for two things misleads more than a missing figure: where definitions differ, or only some calls tell a
figure, the comparison says so at the measure.
"""

from __future__ import annotations

import msgspec

from agent_core.telemetry.rollup.figures import Figures


class Side(msgspec.Struct, frozen=True):
    """One of two that are compared. `ttft`: what its first-token times count, "" if they are not told or differ."""

    name: str
    figures: Figures
    ttft: str = ""

    @property
    def reported(self) -> bool:
        """No call of it was measured by us."""
        return bool(self.figures.calls) and not self.figures.creates

    @property
    def mixed(self) -> bool:
        return 0 < self.figures.creates < self.figures.calls


def notes(a: Side, b: Side) -> dict[str, str]:
    """By `compare.Measure.key`: why its two values are not of one kind. Without an entry they are."""
    found: dict[str, str] = {}
    if a.ttft != b.ttft and all(side.figures.percentile("ttft", 0.5) is not None for side in (a, b)):
        words = "; ".join(f"{side.name}: {side.ttft or 'not defined by its agent'}" for side in (a, b))
        found |= dict.fromkeys(("ttft", "ttft_p95"), f"different definitions. {words}")
        found["rate"] = "counts from the first token, which is defined differently"
    partial = "; ".join(filter(None, (_partial(side, side.figures.cached_known, "cached tokens") for side in (a, b))))
    if partial:
        found["cached"] = f"only of calls that tell it. {partial}"
    chains = "; ".join(
        filter(None, (_partial(side, sum(side.figures.reuse.values()), "what became of the chain") for side in (a, b)))
    )
    if chains:
        found["reused"] = f"only of calls that tell it. {chains}"
    costs = "; ".join(filter(None, (_partial(side, side.figures.cost_known, "a cost") for side in (a, b))))
    if costs:
        found["cost"] = f"sums of what is known. {costs}"
    told = [side.name for side in (a, b) if side.reported or side.mixed]
    if told:
        who = " and ".join(told)
        worked = f"of {who} worked out of calls and tools as reported"
        found |= dict.fromkeys(("inference", "tools", "overhead", "other"), worked)
        found["approval"] = f"{who}: not told, part of other"
        found["call_overhead"] = f"{who}: not told"
        found["up"] = f"{who}: not told"
    if len(told) == 1:
        found["turn"] = f"a turn of {told[0]} is what its agent calls one"
    return found


def _partial(side: Side, known: int, what: str) -> str:
    calls = side.figures.calls
    return f"{side.name}: {calls - known} of {calls} calls do not tell {what}" if known < calls else ""
