"""The whole corpus, one line per case; resumable: what is in the journal under `.cache/soak/` is not played again.

Three runs: as a user does it (`loopline run`), ten cases through Codex's shell tool, and all with every identifier
renamed. Processor time is told beside the clock's: on a machine that does other things, the clock says less.
"""

from __future__ import annotations

import json
import os
import statistics
from pathlib import Path

import pytest

from agent_core.bench.figures import rank
from tests.support.repair.cases import Case, cases
from tests.support.repair.corpus import Way, judge, verdict_line
from tests.support.repair.rename import renamed

JOURNAL = Path(os.environ.get("LOOPLINE_SOAK_DIR", ".cache/soak")) / "repair_corpus.jsonl"
LIMIT_S = 60.0

pytestmark = [pytest.mark.soak, pytest.mark.timeout(0)]


def known() -> dict[tuple[str, str], dict[str, object]]:
    if not JOURNAL.exists():
        return {}
    rows = [json.loads(line) for line in JOURNAL.read_text(encoding="utf-8").splitlines()]
    return {(str(row["run"]), str(row["name"])): row for row in rows}


async def results(
    run: str, chosen: list[Case], capsys: pytest.CaptureFixture[str], way: Way = "cli"
) -> list[dict[str, object]]:
    """Plays what is not in the journal yet, and tells each case in a line."""
    JOURNAL.parent.mkdir(parents=True, exist_ok=True)
    done = known()
    rows = []
    for case in chosen:
        row = done.get((run, case.name))
        if row is None:
            verdict = await judge(case, way)
            row = {"run": run, **json.loads(verdict_line(verdict))}
            with JOURNAL.open("a", encoding="utf-8") as journal:
                journal.write(json.dumps(row, ensure_ascii=False) + "\n")
        rows.append(row)
        with capsys.disabled():
            first = str(row["last"]).splitlines()[0]
            figures = f"{row['seconds']:>5} s {row['cpu_s']:>5} cpu s {row['replies']:>3} calls"
            print(f"{run:9} {row['outcome']:10} {row['name']:24} {figures}  {first[:110]}")
    return rows


def share(rows: list[dict[str, object]]) -> float:
    good = [row for row in rows if row["outcome"] == "fixed" and float(str(row["seconds"])) <= LIMIT_S]
    return len(good) / len(rows)


def report(run: str, rows: list[dict[str, object]], capsys: pytest.CaptureFixture[str]) -> None:
    fixed = [row for row in rows if row["outcome"] == "fixed"]
    with capsys.disabled():
        print(f"\n{run}: {len(fixed)} of {len(rows)} fixed, {share(rows):.0%} within {LIMIT_S:.0f} s")
        for kind in sorted({str(row["kind"]) for row in rows}):
            of_kind = [row for row in rows if row["kind"] == kind]
            print(f"  {kind:32} {sum(row['outcome'] == 'fixed' for row in of_kind)} of {len(of_kind)}")
        for name in ("seconds", "cpu_s", "replies", "calls"):
            values = sorted(float(str(row[name])) for row in fixed)
            p95 = rank(values, 0.95)
            print(f"  {name:10} median {statistics.median(values):g}, p95 {p95:g}")
        before = sum(int(str(row["edits_found"])) for row in fixed)
        after = sum(int(str(row["edits_kept"])) for row in fixed)
        print(f"  edits      {before} found, {after} after minimising")


async def test_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    rows = await results("cli", cases(), capsys)
    report("cli", rows, capsys)
    assert not [row["name"] for row in rows if row["outcome"] == "broken"]
    assert share(rows) >= 0.8


async def test_codex_sample(capsys: pytest.CaptureFixture[str]) -> None:
    found = cases()
    rows = await results("codex", found[:: max(1, len(found) // 10)][:10], capsys, "codex")
    report("codex", rows, capsys)
    assert share(rows) >= 0.8


async def test_renamed(capsys: pytest.CaptureFixture[str]) -> None:
    """The names in the corpus do not matter."""
    plain = await results("cli", cases(), capsys)
    copies = [copy for case in cases() if (copy := renamed(case)) is not None]
    rows = await results("renamed", copies, capsys)
    report("renamed", rows, capsys)
    same = [row for row in plain if row["name"] in {case.name for case in copies}]
    assert len(copies) >= len(plain) * 0.9
    assert share(rows) >= share(same) - 0.05
