"""kill -9 of the service at 100 random points under load, one line each; resumable: what is in the journal is not
done again.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.support.service.kill import kill_once
from tests.support.service.soak import SoakJournal

POINTS = int(os.environ.get("LOOPLINE_SOAK_KILLS", "100"))

pytestmark = [pytest.mark.soak, pytest.mark.timeout(0)]


async def test_kills(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = SoakJournal("kill_service")
    rows = []
    for seed in range(1_000, 1_000 + POINTS):
        row = journal.done(str(seed))
        if row is None:
            folder = tmp_path / str(seed)
            folder.mkdir()
            verdict = await kill_once(folder, seed)
            row = journal.note(str(seed), line=verdict.line(), **asdict(verdict))
        rows.append(row)
        with capsys.disabled():
            print(row["line"])
    sums = {name: sum(row[name] for row in rows) for name in ("created", "settled", "unsettled", "lost")}
    with capsys.disabled():
        print(f"{len(rows)} kills: {sums}")
    assert [row["line"] for row in rows if row["faults"]] == []
    assert sums["unsettled"] > 0
