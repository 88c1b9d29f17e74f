"""Keeps `Figures` for everything, each session, each model and each minute, in step and bounded. Pure."""

from __future__ import annotations

import sys
from typing import TypeVar

from agent_core.telemetry.rollup.figures import OTHER, Figures
from agent_core.telemetry.rollup.prices import PriceTable
from agent_core.telemetry.rollup.rows import CallRow, TurnRow

MINUTE_NS = 60_000_000_000

Key = TypeVar("Key", int, str)


class Groups:
    def __init__(self, prices: PriceTable, *, max_windows: int, max_models: int, max_sessions: int) -> None:
        """A model with a price always has its own group; of other names `max_models` do, further ones share `OTHER`."""
        self._prices = prices
        self._max_windows, self._max_models, self._max_sessions = max_windows, max_models, max_sessions
        self._unpriced: set[str] = set()
        self.total = Figures()
        self.sessions: dict[str, Figures] = {}
        self.models: dict[str, Figures] = {}
        self.windows: dict[int, Figures] = {}
        """By minute since the Unix epoch, of when the call or turn ended."""

    def add_call(self, row: CallRow, sign: int = 1) -> None:
        for figures in self._of(row.session, row.model, row.ended_ns):
            figures.add_call(row, sign)

    def add_turn(self, row: TurnRow, good: bool, models: set[str], sign: int = 1) -> None:
        """A turn belongs to a model's group only if all its calls went to that model."""
        model = next(iter(models)) if len(models) == 1 else None
        for figures in self._of(row.session, model, row.ended_ns):
            figures.add_turn(row, good, sign)

    def window(self, since_ns: int, until_ns: int) -> Figures:
        """Figures of the minutes that touch [since, until)."""
        merged = Figures()
        for minute, figures in self.windows.items():
            if since_ns < (minute + 1) * MINUTE_NS and minute * MINUTE_NS < until_ns:
                merged.merge(figures)
        return merged

    def model_group(self, model: str) -> str:
        if self._prices.knows(model) or model in self._unpriced:
            return model
        if len(self._unpriced) >= self._max_models:
            return OTHER
        self._unpriced.add(model)
        return model

    def _of(self, session: str | None, model: str | None, at_ns: int | None) -> list[Figures]:
        groups = [self.total]
        if session is not None:
            groups.append(_kept(self.sessions, session, self._max_sessions))
        if model is not None:
            groups.append(_kept(self.models, self.model_group(model), sys.maxsize))
        if at_ns is not None:
            groups.append(_kept(self.windows, at_ns // MINUTE_NS, self._max_windows))
        return groups


def _kept(groups: dict[Key, Figures], key: Key, limit: int) -> Figures:
    """The group of `key`; a new one pushes out the group that was made first once there are `limit`."""
    found = groups.get(key)
    if found is None:
        if len(groups) >= limit:
            del groups[next(iter(groups))]
        found = groups[key] = Figures()
    return found
