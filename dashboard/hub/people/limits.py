"""How much an identity may bring to the hub."""

from __future__ import annotations

from agent_core.rates import Buckets


class NewSources(Buckets):
    """New sources an identity may bring: 5,000 at once, then 5,000 an hour."""

    def __init__(self) -> None:
        super().__init__(per_s=5_000 / 3_600, burst=5_000)
