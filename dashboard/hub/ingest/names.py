"""Bounds the names that come from outside: of each kind a day has so many, further ones count as `other`. Pure.

Whoever makes up a model name a call would otherwise make a roll-up row a call (BerriAI/litellm#39136).
"""

from __future__ import annotations

from agent_core.telemetry.rollup.figures import OTHER
from agent_core.telemetry.rollup.prices import PriceTable
from dashboard.hub.store.records import Dims
from dashboard.state.format import one_line

LIMITS = {"client": 40, "version": 80, "project": 200, "model": 100}
"""Different names an identity and day; models with a price are kept beyond it."""
MAX_DIMS = 3_000
"""Different combinations an identity and day."""
MAX_LENGTH = 80
_KEPT_DAYS = 3


class _Day:
    def __init__(self) -> None:
        self.names: dict[str, set[str]] = {field: set() for field in LIMITS}
        self.dims: set[Dims] = set()


class Names:
    """The names of one identity."""

    def __init__(self, prices: PriceTable) -> None:
        self.prices = prices
        self.folded = 0
        """Names and combinations that became `other`."""
        self._days: dict[str, _Day] = {}

    def known(self, day: str, dims: Dims) -> None:
        """Take note of a combination that is in the store already."""
        kept = self._day(day)
        kept.dims.add(dims)
        for field, names in kept.names.items():
            names.add(getattr(dims, field))

    def bounded(self, day: str, dims: Dims) -> Dims:
        """The combination to count under."""
        kept = self._day(day)
        if dims in kept.dims:
            return dims
        bounded = Dims(
            agent=one_line(dims.agent, MAX_LENGTH),
            client=self._name(kept, "client", dims.client),
            version=self._name(kept, "version", dims.version),
            project=self._name(kept, "project", dims.project),
            model=self._name(kept, "model", dims.model),
            transport=dims.transport,
            reuse=dims.reuse,
        )
        if bounded in kept.dims or len(kept.dims) < MAX_DIMS:
            kept.dims.add(bounded)
            return bounded
        self.folded += 1
        return Dims(OTHER, OTHER, OTHER, OTHER, OTHER, dims.transport, dims.reuse)

    def _name(self, kept: _Day, field: str, value: str) -> str:
        if field == "model" and self.prices.knows(value):
            return value
        name = one_line(value, MAX_LENGTH)
        names = kept.names[field]
        if not name or name in names or len(names) < LIMITS[field]:
            names.add(name)
            return name
        self.folded += 1
        return OTHER

    def _day(self, day: str) -> _Day:
        found = self._days.get(day)
        if found is None:
            found = self._days[day] = _Day()
            while len(self._days) > _KEPT_DAYS:
                del self._days[min(self._days)]
        return found
