"""The programs that try edits in a scratch copy: their text, their job, and the reading of what they print. Pure."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Coverage:
    """Lines of one file that failing tests ran: line -> (failing, passing tests). `at_import` ran while loading."""

    path: str
    lines: Mapping[int, tuple[int, int]]
    at_import: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Survey:
    tests: int
    failed: int
    passed: int
    seconds: float
    usual_s: float
    """Processor time that three quarters of the passing tests stay below."""
    slowest_s: float
    failures: tuple[Failure, ...]
    coverage: tuple[Coverage, ...]
    outside: tuple[str, ...]
    """Modules that the copy still loads from the workspace itself: then edits can't be tried in a copy."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What became of the candidates of one trial, by index."""

    tried: int
    seconds: float
    """By the clock; less where the machine did other things meanwhile, but at least half of it."""
    baseline: tuple[int, int]
    groups: Mapping[str, tuple[int, ...]]
    gained: Mapping[int, int]
    suites: Mapping[int, tuple[str, ...] | None]
    """Candidate -> tests that it broke; None where the suite did not end in time."""

    def members(self, word: str) -> tuple[int, ...]:
        return self.groups.get(word, ())


def survey_script(
    runner: str, args: Sequence[str], *, base: Patch = (), limit_s: float = 3.0, budget_s: float = 25.0
) -> str:
    """Runs every test with `base` in place and measures what they run. `limit_s` is processor time per test."""
    job = {
        "runner": runner, "args": list(args), "base": _base(base), "limit_s": limit_s, "budget_s": budget_s,
        "max_failures": MAX_FAILURES, "max_traced": MAX_TRACED, "max_passing": MAX_PASSING, "max_files": MAX_FILES,
    }  # fmt: skip
    return program(("common", "runners", "survey"), job)


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
    budget_s: float,
    survivors: int,
    all_suites: bool = False,
) -> str:
    """Tries `patches` on top of `base`. `sources` are the texts with `base` applied; `cold` need a new import; `known`
    tests may fail in the whole suite; `survivors` is the number of passing patches after which it stops."""
    files = sorted({edit.path for patch in patches for edit in patch})
    number = {path: at for at, path in enumerate(files)}
    job = {
        "runner": runner, "args": list(args), "tests": list(tests), "test_args": list(test_args), "known": list(known),
        "files": files, "crcs": [zlib.crc32(sources[path].encode()) for path in files],
        "base": _base(base),
        "cold": list(cold), "limit_s": limit_s, "suite_limit_s": suite_limit_s, "budget_s": budget_s,
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
    facts = _facts(words, "survey")
    if facts is None:
        return _trouble(words, output)
    failures = tuple(
        Failure(
            item["id"],
            item["type"],
            item["message"],
            tuple((path, line, name) for path, line, name in item["frames"]),
            item["s"],
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
        facts["tests"], facts["failed"], facts["passed"], facts["s"], facts.get("usual_s", 0.0),
        facts.get("slowest_s", 0.0), failures, coverage, tuple(facts.get("outside", ())),
    )  # fmt: skip


def read_trial(output: str) -> Verdicts | str:
    words = _words(output)
    facts, base = _facts(words, "trial"), _facts(words, "baseline")
    if facts is None or base is None:
        return _trouble(words, output)
    names = ("pass", "partial", "same", "changed", "too_slow", "crashed", "no_python")
    clock_s, done = facts["s"], _facts(words, "done") or {}
    worked_s = min(clock_s, max(done.get("cpu_s", clock_s), clock_s / 2))
    groups = {name: tuple(_numbers(words[name][0])) for name in names if name in words}
    return Verdicts(
        facts["tried"], worked_s, (base["passed"], base["of"]), groups,
        dict((words.get("gained") or [[]])[0]),
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
