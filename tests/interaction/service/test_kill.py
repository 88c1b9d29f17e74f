"""kill -9 under load: the ledger accounts for every response that a client was told of. A sample of `make soak`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.service.kill import kill_once


@pytest.mark.rule("ledger.whole")
@pytest.mark.parametrize("seed", range(5))
async def test_a_kill_under_load(tmp_path: Path, seed: int) -> None:
    verdict = await kill_once(tmp_path, seed)
    assert verdict.faults == (), verdict.line()
    assert verdict.created > 0
    assert verdict.settled + verdict.unsettled >= verdict.created
