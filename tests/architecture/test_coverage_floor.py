"""Floors of coverage only rise; the runs of `make flakes` resume; `make test-quick` finds what covers a change."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec

from tests.support.suite import flakes, quick
from tests.support.suite.coverage_floor import CORE, CORE_LINES, FLOORS, Reached, raised, read_floors, rooms, too_low

ROOT = Path(__file__).resolve().parents[2]


def test_every_core_room_has_a_floor_that_suits_it() -> None:
    floors = read_floors(FLOORS.read_text())
    assert {room: floors[room].lines for room in CORE if floors[room].lines < CORE_LINES} == {}


def test_no_floor_is_lower_than_it_was() -> None:
    """Against every earlier version that this clone has; a room that is gone needs none."""
    path = str(FLOORS.relative_to(ROOT))
    now = read_floors(FLOORS.read_text())
    log = subprocess.run(["git", "log", "--format=%H", "--", path], cwd=ROOT, capture_output=True, text=True)
    for commit in log.stdout.split():
        shown = subprocess.run(["git", "show", f"{commit}:{path}"], cwd=ROOT, capture_output=True, text=True)
        for room, floor in read_floors(shown.stdout or "{}").items():
            if room in now:
                assert (now[room].lines >= floor.lines, now[room].branches >= floor.branches) == (True, True), room


def test_what_is_too_low_is_told_by_room() -> None:
    summary = {"covered_lines": 9, "num_statements": 12, "covered_branches": 0, "num_branches": 0}
    reached = rooms({"agent_core/wire/a.py": {"summary": summary}, "agent_core/wire/b/c.py": {"summary": summary}})
    assert reached == {"agent_core/wire": Reached(75.0, 100.0)}
    lines, core = too_low(reached, {"agent_core/wire": Reached(80, 90)})
    assert lines == "agent_core/wire: lines 75.0 % < 80 %, its floor" and core.startswith("agent_core/wire: lines")
    assert "no floor" in too_low({"new": Reached(1, 1)}, {})[0]
    assert raised(reached, {"agent_core/wire": Reached(80, 90), "gone": Reached(1, 1)}) == {
        "agent_core/wire": Reached(80, 100)
    }


def test_runs_that_are_recorded_are_not_run_again_and_a_cut_off_line_is_no_run(tmp_path: Path) -> None:
    results = tmp_path / "runs.jsonl"
    good = flakes.RunResult("c", 1, 1, 10, (), 0, 5.0, 4.0)
    bad = msgspec.structs.replace(good, seed=3, failed=("tests/x.py::test_a",))
    lines = [msgspec.json.encode(each) for each in (good, bad, msgspec.structs.replace(good, commit="old", seed=2))]
    results.write_bytes(b"\n".join(lines) + b'\n{"commit":"c","lo')
    done = flakes.recorded(results, "c", 1)
    assert done == [good, bad]
    assert list(flakes.seeds(done, 4)) == [2, 4]
    assert flakes.report(done) == [
        "2 runs, 1 green, the last 0 in a row", "  failed 1 of 2: tests/x.py::test_a (seed 3)"
    ]  # fmt: skip


def test_a_run_beside_other_work_says_what_failed_and_one_without_results_is_told(tmp_path: Path) -> None:
    xml = "<r><testcase classname='tests.unit.test_x' name='test_a'><failure/></testcase><testcase name='test_b'/></r>"
    write = f"import sys; open(sys.argv[-1].partition('=')[2], 'w').write({xml!r}); sys.exit(1)"
    one = flakes.run_once([sys.executable, "-c", write], "c", load=1, seed=7)
    assert (one.tests, one.failed, one.load, one.seed) == (2, ("tests/unit/test_x::test_a",), 1, 7)
    assert flakes.run_once([sys.executable, "-c", "import sys; sys.exit(3)"], "c", 0, 1).failed == ("the run itself",)


def test_the_most_direct_tests_of_a_change_come_first() -> None:
    found = list(quick.chosen(["agent_core/wire/sse.py", "tests/property/test_wire.py"], quick.graph()))
    assert found[0] == "tests/property/test_wire.py"
    assert {"tests/unit/wire/test_sse.py", "tests/property/test_wire_sse.py"} <= set(found[:8])
    assert len(found) == len(set(found))
    assert list(quick.chosen(["README.md"], quick.graph())) == []
