"""`make flakes`: the suite again and again, in another order each time and beside other work, and what failed once.

One line of JSON per run goes to the file of results as soon as it is known, so a sitting that ends early goes on where
it stopped. Runs are counted for one commit: a change begins anew.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[3]
RUN_S = 2 * 3600.0
"""A run that takes longer hangs."""
SPIN = "while True: pass"


class RunResult(msgspec.Struct, frozen=True):
    """One run. `load`: processes that did nothing but compute beside it. `cpu_s`: what the run and all that it waited
    for computed. `failed`: ids of tests, or `the run itself` where no results came of it."""

    commit: str
    load: int
    seed: int
    tests: int
    failed: tuple[str, ...]
    skipped: int
    wall_s: float
    cpu_s: float


def recorded(file: Path, commit: str, load: int) -> list[RunResult]:
    """Runs of this commit at this load. A line that was cut off, as by a full disk, is no run."""
    found = []
    for line in file.read_bytes().splitlines() if file.exists() else ():
        with contextlib.suppress(msgspec.DecodeError):
            found.append(msgspec.json.decode(line, type=RunResult))
    return [each for each in found if (each.commit, each.load) == (commit, load)]


def seeds(done: Sequence[RunResult], runs: int) -> Iterator[int]:
    """Those of the runs that are left."""
    had = {each.seed for each in done}
    yield from (seed for seed in range(1, runs + 1) if seed not in had)


def report(done: Iterable[RunResult]) -> list[str]:
    """How many runs were green in a row at the end, and every test that failed, with the seeds of those runs."""
    done = list(done)
    row = 0
    for each in reversed(done):
        if each.failed:
            break
        row += 1
    lines = [f"{len(done)} runs, {sum(not each.failed for each in done)} green, the last {row} in a row"]
    counts = Counter(test for each in done for test in each.failed)
    for test, count in counts.most_common():
        where = ", ".join(str(each.seed) for each in done if test in each.failed)
        lines.append(f"  failed {count} of {len(done)}: {test} (seed {where})")
    return lines


def outcome(junit: Path) -> tuple[int, tuple[str, ...], int]:
    """Tests, ids of those that failed, and how many were skipped, of pytest's XML."""
    try:
        cases = list(ElementTree.parse(junit).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return 0, ("the run itself",), 0
    failed = tuple(
        f"{case.get('classname', '').replace('.', '/')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    )
    return len(cases), failed, sum(case.find("skipped") is not None for case in cases)


@contextlib.contextmanager
def busy(processes: int) -> Iterator[None]:
    """While this holds, so many processes compute."""
    spinning = [subprocess.Popen([sys.executable, "-S", "-c", SPIN]) for _ in range(processes)]
    try:
        yield
    finally:
        for each in spinning:
            each.kill()
            each.wait()


def run_once(command: Sequence[str], commit: str, load: int, seed: int) -> RunResult:
    with tempfile.TemporaryDirectory() as folder, busy(load):
        junit = Path(folder) / "junit.xml"
        before, started = os.times(), time.monotonic()
        process = subprocess.Popen([*command, f"--order-seed={seed}", f"--junit-xml={junit}"], cwd=ROOT)
        try:
            code = process.wait(RUN_S)
        except BaseException:
            process.kill()
            process.wait()
            raise
        wall_s, after = time.monotonic() - started, os.times()
        tests, failed, skipped = outcome(junit)
        if code and not failed:
            failed = ("the run itself",)
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    return RunResult(commit, load, seed, tests, failed, skipped, round(wall_s), round(cpu_s))


def state() -> str:
    """The commit, and whether anything differs from it."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout.strip()

    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain") else "")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="flakes", description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--load", type=int, default=0, help="processes that compute beside the suite")
    parser.add_argument("--results", type=Path, required=True, help="file of results, one line a run")
    parser.add_argument("command", nargs="+", help="how pytest is run")
    given = parser.parse_args(arguments)
    commit = state()
    given.results.parent.mkdir(parents=True, exist_ok=True)
    for seed in seeds(recorded(given.results, commit, given.load), given.runs):
        one = run_once(given.command, commit, given.load, seed)
        with given.results.open("ab") as file:
            file.write(msgspec.json.encode(one) + b"\n")
        print(json.dumps(msgspec.to_builtins(one)), flush=True)
    done = recorded(given.results, commit, given.load)
    print("\n".join(report(done)))
    return int(any(each.failed for each in done))


if __name__ == "__main__":
    sys.exit(main())
