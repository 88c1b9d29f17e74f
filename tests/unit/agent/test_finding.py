"""Which session is meant by what a person says."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.agent.archive import Entry
from agent_core.agent.finding import latest, meant
from agent_core.errors import UsageError


def test_a_session_by_id_prefix_or_title(tmp_path: Path) -> None:
    entries = [
        Entry(id="sess_abc1", title="fix the parser", roots=(str(tmp_path),)),
        Entry(id="sess_abd2", title="rename Money", roots=("/elsewhere",)),
    ]
    assert meant(entries, "abd").id == "sess_abd2" and meant(entries, "sess_abc1").id == "sess_abc1"
    assert meant(entries, "RENAME money").id == "sess_abd2" and meant(entries, "parser").id == "sess_abc1"
    for said in ("ab", "nothing"):
        with pytest.raises(UsageError):
            meant(entries, said)
    assert latest(entries, tmp_path).id == "sess_abc1"
    with pytest.raises(UsageError):
        latest(entries, tmp_path / "other")
