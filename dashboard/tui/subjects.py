"""What a comparison compares: a name and where its figures come from."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from agent_core.telemetry.rollup.figures import Figures


class Subject(msgspec.Struct, frozen=True):
    key: str
    name: str
    figures: Callable[[], Figures]
