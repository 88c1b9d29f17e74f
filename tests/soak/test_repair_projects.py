"""Bugs planted in real projects, one line per case. LOOPLINE_REPAIR_PROJECTS names a folder with the cases and the
projects (see `tests/support/repair/projects.py`), LOOPLINE_REPAIR_PYTHON an interpreter that can run their tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.support.repair.projects import planted, play_planted

FOLDER = os.environ.get("LOOPLINE_REPAIR_PROJECTS")

pytestmark = [pytest.mark.soak, pytest.mark.timeout(0)]


@pytest.mark.skipif(FOLDER is None, reason="LOOPLINE_REPAIR_PROJECTS names no folder of projects")
def test_planted_bugs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Most are mended, and what is not leaves the project as it was."""
    rows = []
    for case in planted(Path(str(FOLDER))):
        row = play_planted(case, tmp_path / case.name, os.environ.get("LOOPLINE_REPAIR_PYTHON", sys.executable))
        rows.append(row)
        with capsys.disabled():
            times = f"first answer {row.first_answer_s:>5} s, end {row.seconds:>6} s, {row.cpu_s:>6} cpu s"
            print(f"{row.name:24} {row.kind:20} {row.outcome:10} {times}  {row.last.splitlines()[0][:100]}")
    assert rows
    assert not [row.name for row in rows if row.outcome == "broken"]
    assert sum(row.outcome in ("as_it_was", "otherwise") for row in rows) >= 0.75 * len(rows)
