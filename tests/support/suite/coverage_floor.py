"""What units and properties reach of each room, against a floor that only rises.

`make coverage` runs them under coverage and then this. Only the processes of the tests are
measured, not those that they start. Floors are in `tests/coverage_floor.json`, in whole per cent, one for lines and one
for branches a room; `--raise` writes those of rooms that got better, and `tests/architecture/test_coverage_floor.py`
holds that none is lowered.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from coverage import Coverage

ROOT = Path(__file__).resolve().parents[3]
FLOORS = ROOT / "tests" / "coverage_floor.json"
DATA = ROOT / ".cache" / "coverage" / "data"
REPORT = ROOT / ".cache" / "coverage" / "report.json"
CORE = ("agent_core/wire", "agent_core/protocol", "agent_core/model", "agent_core/agent", "agent_core/tools",
        "agent_core/telemetry", "dashboard/hub")  # fmt: skip
CORE_LINES = 90
"""What each core room has to reach, whatever its floor is."""


class Reached(msgspec.Struct, frozen=True):
    """Per cent of lines and of branches; 100 where there are none."""

    lines: float
    branches: float


def rooms(files: Mapping[str, Mapping[str, Any]]) -> dict[str, Reached]:
    """Per room (`agent_core/wire`, or `agent_core` for what lies at a package's root), of coverage's report."""
    sums: dict[str, list[int]] = {}
    for path, file in files.items():
        room = "/".join(Path(path).parts[:2]) if len(Path(path).parts) > 2 else Path(path).parts[0]
        said = file["summary"]
        figures = (said["covered_lines"], said["num_statements"], said["covered_branches"], said["num_branches"])
        for place, figure in enumerate(figures):
            sums.setdefault(room, [0, 0, 0, 0])[place] += figure
    return {room: Reached(share(*each[:2]), share(*each[2:])) for room, each in sorted(sums.items())}


def share(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 100.0


def too_low(reached: Mapping[str, Reached], floors: Mapping[str, Reached]) -> list[str]:
    """What is too low, in words; nothing if all is well."""
    found = [
        f"{room}: {what} {is_:.1f} % < {floor:.0f} %, its floor"
        for room, floors_ in floors.items()
        if room in reached
        for what, is_, floor in (
            ("lines", reached[room].lines, floors_.lines), ("branches", reached[room].branches, floors_.branches)
        )
        if is_ < floor
    ]  # fmt: skip
    found += [
        f"{room}: lines {reached[room].lines:.1f} % < {CORE_LINES} %, which every core room has to reach"
        for room in CORE
        if room in reached and reached[room].lines < CORE_LINES
    ]
    return found + [f"{room} has no floor: --raise gives it one" for room in reached if room not in floors]


def raised(reached: Mapping[str, Reached], floors: Mapping[str, Reached]) -> dict[str, Reached]:
    """The floors that hold from now on: never lower, of rooms that exist."""
    lowest = Reached(0, 0)
    return {
        room: Reached(
            max(floors.get(room, lowest).lines, math.floor(is_.lines)),
            max(floors.get(room, lowest).branches, math.floor(is_.branches)),
        )
        for room, is_ in reached.items()
    }


def read_floors(text: str) -> dict[str, Reached]:
    return msgspec.json.decode(text, type=dict[str, Reached])


def begin() -> Coverage:
    """Measure this process from now on. Each process has a file of its own."""
    found = Coverage(data_file=str(DATA), data_suffix=True, config_file=str(ROOT / "pyproject.toml"))
    found.start()
    return found


def measured() -> dict[str, Reached]:
    """From what the processes of the last run left."""
    coverage = Coverage(data_file=str(DATA), config_file=str(ROOT / "pyproject.toml"))
    if DATA.exists():
        coverage.load()
    coverage.combine()
    coverage.save()
    coverage.json_report(outfile=str(REPORT))
    files = json.loads(REPORT.read_text())["files"]
    return rooms(files)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="coverage_floor", description="what units and properties reach of each room")
    parser.add_argument("--raise", dest="raising", action="store_true", help="write floors that got higher")
    given = parser.parse_args(arguments)
    reached = rooms(json.loads(REPORT.read_text())["files"]) if given.raising else measured()
    floors = read_floors(FLOORS.read_text())
    for room, is_ in reached.items():
        floor = floors.get(room, Reached(0, 0))
        print(f"{room:34} lines {is_.lines:5.1f} % (at least {floor.lines:.0f})   "
              f"branches {is_.branches:5.1f} % (at least {floor.branches:.0f})")  # fmt: skip
    if given.raising:
        FLOORS.write_text(json.dumps(msgspec.to_builtins(raised(reached, floors)), indent=2) + "\n")
        return 0
    problems = too_low(reached, floors)
    print("\n".join(problems))
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
