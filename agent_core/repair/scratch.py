"""The programs that try edits in a scratch copy: their text, their job, and the reading of what they print. Pure."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent_core.repair.failures import Failure
from agent_core.repair.operators.base import Candidate
from agent_core.repair.programs import program
from agent_core.repair.source import Replacement

Patch = tuple[Candidate, ...]
"""Edits that are applied together."""

MAX_FAILURES = 8
MAX_TRACED = 40
MAX_PASSING = 80
MAX_FILES = 8
MAX_KNOWN = 100
"""Ids of tests that are told without anything else."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Lines of one file that failing tests ran: line -> (failing, passing tests), the failing ones as bits by their
    position among the survey's failures. `at_import` ran while loading."""

    path: str
    lines: Mapping[int, tuple[int, int]]
    at_import: frozenset[int] = frozenset()

    def counts(self) -> dict[int, tuple[int, int]]:
        """Line -> how many failing and passing tests run it."""
        return {line: (bits.bit_count(), good) for line, (bits, good) in self.lines.items()}


@dataclass(frozen=True, slots=True)
class Survey:
    """What a look at the tests found. Times: by the clock, but for `usual_s`."""

    runner: str
    args: tuple[str, ...]
    python: str
    """The interpreter's path."""
    tests: int
    ran: int
    """How many were run; the next look goes on behind them."""
    whole: bool
    """Whether all were."""
    partly: bool
    """Whether only some files were loaded, those that say most."""
    traced: bool
    """Whether the lines of all tests that matter were recorded."""
    passed: int
    """How many of those that ran."""
    seconds: float
    """The whole look, what starts the tests included."""
    all_s: float
    """What the tests took."""
    usual_s: float
    """Processor time that three quarters of the passing tests stay below."""
    slowest_s: float
    failures: tuple[Failure, ...]
    also: tuple[str, ...]
    """Ids of further failing tests."""
    coverage: tuple[Coverage, ...]
    outside: tuple[str, ...]
    """Modules that the copy still loads from the workspace itself: then edits can't be tried in a copy."""
    passing: tuple[str, ...] = ()
    """Tests that pass, where only some were run."""
    near: tuple[str, ...] = ()
    """Passing tests of the files of failing ones, where the suite takes too long to be run for every edit."""
    paths: tuple[str, ...] = ()
    """Folders of the project in the import path once its tests were loaded."""

    @property
    def failed(self) -> int:
        return len(self.failures) + len(self.also)

    @property
    def known(self) -> tuple[str, ...]:
        """Ids of all tests that fail as things are."""
        return (*(failure.test for failure in self.failures), *self.also)

    def part(self, members: Sequence[int]) -> Survey:
        """What it says of some of its failures alone, by position."""
        mask = sum(1 << at for at in members)
        kept = {at: 1 << new for new, at in enumerate(members)}

        def bits(of: int) -> int:
            return sum(bit for at, bit in kept.items() if of >> at & 1)

        coverage = tuple(
            replace(item, lines={line: (bits(bad), good) for line, (bad, good) in item.lines.items() if bad & mask})
            for item in self.coverage
        )
        return replace(
            self, failures=tuple(self.failures[at] for at in members), also=(),
            coverage=tuple(item for item in coverage if item.lines),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What became of the candidates of one trial, by index."""

    tried: int
    seconds: float
    """By the clock; less where the machine did other things meanwhile, but at least a quarter of it."""
    baseline: tuple[int, int]
    groups: Mapping[str, tuple[int, ...]]
    gained: Mapping[int, int]
    moved: Mapping[int, int]
    """Of those that gained: how many of the tests that still fail do so in another way than before."""
    suites: Mapping[int, tuple[str, ...] | None]
    """Candidate -> tests that it broke; None where the suite did not end in time."""

    def members(self, word: str) -> tuple[int, ...]:
        return self.groups.get(word, ())


def survey_script(
    runner: str = "",
    args: Sequence[str] = (),
    *,
    base: Patch = (),
    limit_s: float = 3.0,
    budget_s: float = 25.0,
    wanted: Sequence[str] = (),
    start: int = 0,
    only: Sequence[str] = (),
    first: Sequence[str] = (),
    quick: bool = False,
    quick_s: float = 6.0,
) -> str:
    """Runs tests with `base` in place for `budget_s` and measures what they run.

    `runner` "": it is found out. `limit_s` is processor time per test. Tests of the list `first` come first, then those
    that `wanted` names; the first `start` ones are left out, and all but `only` where that is given. `quick`: of a
    large suite only the files that say most. A suite above `quick_s` is too slow to be run for every edit.
    """
    job = {
        "runner": runner, "args": list(args), "base": _base(base), "limit_s": limit_s, "budget_s": budget_s,
        "wanted": list(wanted), "start": start, "only": list(only), "first": list(first), "quick": quick,
        "quick_s": quick_s, "max_failures": MAX_FAILURES,
        "max_traced": MAX_TRACED, "max_passing": MAX_PASSING, "max_files": MAX_FILES, "max_known": MAX_KNOWN,
    }  # fmt: skip
    return program(("common", "choice", "runners", "survey"), job)


def trial_script(
    runner: str,
    args: Sequence[str],
    *,
    tests: Sequence[str],
    test_args: Sequence[str],
    known: Sequence[str],
    sources: Mapping[str, str],
    base: Patch,
    patches: Sequence[Patch],
    cold: Sequence[int],
    limit_s: float,
    suite_limit_s: float,
    patience_s: float,
    near: Sequence[str],
    paths: Sequence[str],
    budget_s: float,
    survivors: int,
    all_suites: bool = False,
) -> str:
    """Tries `patches` on top of `base`. `sources` are the texts with `base` applied; `cold` need a new import; `known`
    tests may fail in the suite, which is that of `near` tests where any are given; `survivors` is the number of passing
    patches after which it stops, `patience_s` what a test may sleep at a stretch. `paths`: as the survey found them."""
    files = sorted({edit.path for patch in patches for edit in patch})
    number = {path: at for at, path in enumerate(files)}
    job = {
        "runner": runner, "args": list(args), "tests": list(tests), "test_args": list(test_args), "known": list(known),
        "files": files, "crcs": [zlib.crc32(sources[path].encode()) for path in files],
        "base": _base(base),
        "cold": list(cold), "limit_s": limit_s, "suite_limit_s": suite_limit_s, "budget_s": budget_s,
        "patience_s": patience_s, "near": list(near), "paths": list(paths),
        "survivors": survivors, "max_suites": 4, "all_suites": all_suites,
        "candidates": [
            [[number[edit.path], *_plain(item)] for edit in patch for item in edit.replacements] for patch in patches
        ],
    }  # fmt: skip
    return program(("common", "runners", "swap", "trial"), job)


def _base(patch: Patch) -> list[list[Any]]:
    return [[edit.path, *_plain(item)] for edit in patch for item in edit.replacements]


def _plain(item: Replacement) -> list[Any]:
    return [item.start, item.end, item.text]


def read_survey(output: str) -> Survey | str:
    """The survey that a program printed; a text with the reason where it printed none."""
    words = _words(output)
    facts, chosen = _facts(words, "survey"), _facts(words, "runner")
    if facts is None or chosen is None:
        return _trouble(words, output)
    failures = tuple(
        Failure(
            item["id"],
            item["type"],
            item["message"],
            tuple((path, line, name) for path, line, name in item["frames"]),
            item["s"],
            item.get("named", False),
        )
        for item in words.get("fail", [])
    )
    coverage = tuple(
        Coverage(
            item["file"],
            {line: (bad, good) for first, last, bad, good in item["lines"] for line in range(first, last + 1)},
            frozenset(line for first, last in item["import"] for line in range(first, last + 1)),
        )
        for item in words.get("cover", [])
    )
    return Survey(
        chosen["runner"], tuple(chosen["args"]), chosen["python"], facts["tests"], facts.get("ran", 0),
        facts.get("whole", True), facts.get("partly", False), facts.get("traced", True), facts["passed"],
        facts["s"], facts.get("all_s", 0.0),
        facts.get("usual_s", 0.0), facts.get("slowest_s", 0.0), failures, tuple((words.get("also") or [()])[0]),
        coverage, tuple(facts.get("outside", ())), tuple((words.get("passing") or [()])[0]),
        tuple((words.get("near") or [()])[0]), tuple(facts.get("paths", ())),
    )  # fmt: skip


def read_trial(output: str) -> Verdicts | str:
    words = _words(output)
    facts, base = _facts(words, "trial"), _facts(words, "baseline")
    if facts is None or base is None:
        return _trouble(words, output)
    names = ("pass", "partial", "same", "changed", "too_slow", "crashed", "no_python")
    clock_s, done = facts["s"], _facts(words, "done") or {}
    worked_s = min(clock_s, max(done.get("cpu_s", clock_s), clock_s / 4))
    groups = {name: tuple(_numbers(words[name][0])) for name in names if name in words}
    return Verdicts(
        facts["tried"], worked_s, (base["passed"], base["of"]), groups,
        {at: count for at, count, _ in (words.get("gained") or [[]])[0]},
        {at: count for at, _, count in (words.get("gained") or [[]])[0]},
        {item["candidate"]: None if item["broke"] is None else tuple(item["broke"]) for item in words.get("suite", [])},
    )  # fmt: skip


def _facts(words: Mapping[str, list[Any]], word: str) -> dict[str, Any] | None:
    return next((value for value in words.get(word, []) if isinstance(value, dict)), None)


def _words(output: str) -> dict[str, list[Any]]:
    """Lines `word value` by word; lines of anything else are left out."""
    found: dict[str, list[Any]] = {}
    for line in output.splitlines():
        word, _, rest = line.partition(" ")
        if not word.isidentifier() or not rest:
            continue
        try:
            value: Any = json.loads(rest)
        except ValueError:
            value = rest
        found.setdefault(word, []).append(value)
    return found


def _numbers(value: object) -> list[int]:
    found: list[int] = []
    for part in str(value).split():
        first, _, last = part.partition("-")
        if first.isdigit():
            found.extend(range(int(first), int(last or first) + 1))
    return found


def _trouble(words: Mapping[str, list[Any]], output: str) -> str:
    if words.get("stale"):
        return f"{words['stale'][0]} changed on disk meanwhile"
    done = words.get("done")
    if done and isinstance(done[0], dict) and done[0].get("why"):
        return str(done[0]["why"])
    lines = [line for line in output.strip().splitlines() if line.strip()]
    return lines[-1][:200] if lines else "the program printed nothing"
