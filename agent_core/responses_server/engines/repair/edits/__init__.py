"""The families of edits, one per file; all of them pure."""

from __future__ import annotations

from agent_core.responses_server.engines.repair.edits.base import Family
from agent_core.responses_server.engines.repair.edits.compare import comparisons

FAMILIES: tuple[Family, ...] = (comparisons,)
"""Every family that the search tries."""
