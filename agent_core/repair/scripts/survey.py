"""Runs every test in a scratch copy, each with a time limit, and tells which lines the failing and passing ones ran."""

# Sent as text to interpreters that may be older: short beats modern.

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from agent_core.repair.scripts import common
from agent_core.repair.scripts.common import JOB, LOAD_S, WAIT_S, fork, main, messages, say
from agent_core.repair.scripts.runners import Tests, preload

HANGING_S = 0.5
"""What a test that does not end is traced for, in seconds of processor time: it goes round the same lines."""
Line = tuple[str, int]
Report = Callable[[dict[str, Any]], None]


class Recorder:
    """Records the project's lines that run between `__enter__` and `__exit__`."""

    def __init__(self) -> None:
        self.lines: set[Line] = set()
        self.known: dict[str, str] = {}

    def __enter__(self) -> None:
        self.lines = set()
        sys.settrace(self._call)

    def __exit__(self, *ignored: Any) -> None:
        sys.settrace(None)

    def _call(self, frame: Any, event: str, argument: Any) -> Any:
        name = frame.f_code.co_filename
        place = self.known.get(name)
        if place is None:
            path = os.path.realpath(name)
            inside = not name.startswith("<") and path.startswith(common.BASE + os.sep)
            place = os.path.relpath(path, common.BASE) if inside else ""
            self.known[name] = place
        if not place:
            return None
        lines = self.lines

        def step(frame: Any, event: str, argument: Any) -> Any:
            if event == "line":
                lines.add((place, frame.f_lineno))
            return step

        return step


def running_all(tests: Tests, ids: list[str], limit_s: float, traced: bool) -> Callable[[Report], None]:
    """Work for a child: runs the tests and reports each, with the lines that it ran."""
    recorder = Recorder()

    def work(report: Report) -> None:
        def extended(message: dict[str, Any]) -> None:
            if traced and "end" in message:
                message["lines"] = sorted(recorder.lines)
            report(message)

        tests.run(ids, limit_s, extended, (lambda name: recorder) if traced else None)

    return work


def run_each(tests: Tests, ids: list[str], limit_s: float, deadline: float, traced: bool) -> dict[str, dict[str, Any]]:
    """Outcome per test. A test that hangs is killed and the rest goes on in a new child."""
    outcomes: dict[str, dict[str, Any]] = {}
    left = list(ids)
    while left and time.monotonic() < deadline:
        running = left[0]
        for message in messages(*fork(running_all(tests, left, limit_s, traced)), quiet_s=limit_s * 3 + WAIT_S):
            if time.monotonic() > deadline:
                break
            running = message.get("begin", running)
            if "end" in message and message["end"] in tests.items:
                outcomes[message["end"]] = message
        if running not in outcomes:
            failure = {"id": running, "type": "TimeIsUp", "message": "hangs or ends the process", "frames": []}
            outcomes[running] = {"end": running, "outcome": "failed", "s": limit_s, "failure": failure}
        remaining = [name for name in left if name not in outcomes]
        left = remaining if len(remaining) < len(left) else []
    return outcomes


def ranges(lines: dict[int, tuple[int, int]]) -> list[list[int]]:
    """[first, last, failing tests, passing tests] for runs of lines with equal counts."""
    found: list[list[int]] = []
    for line in sorted(lines):
        failing, passing = lines[line]
        if found and found[-1][1] == line - 1 and found[-1][2:] == [failing, passing]:
            found[-1][1] = line
        else:
            found.append([line, line, failing, passing])
    return found


def survey(root: str) -> None:
    started = time.monotonic()
    deadline = started + JOB["budget_s"]
    preload()

    def work(report: Report) -> None:
        tests = Tests(common.BASE)
        at_import = Recorder()

        def ready() -> None:
            at_import.__exit__()
            look(tests, at_import.lines, root, started, deadline)

        sys.settrace(at_import._call)
        tests.load(JOB["args"], ready)
        sys.settrace(None)
        if tests.session is None and JOB["runner"] != "unittest":
            say("survey", {"tests": 0, "failed": 0, "passed": 0, "s": 0})

    for _ in messages(*fork(work), quiet_s=JOB["budget_s"] + LOAD_S):
        pass


def look(tests: Tests, at_import: set[Line], root: str, started: float, deadline: float) -> None:
    names = list(tests.items)
    plain = run_each(tests, names, JOB["limit_s"], deadline - 2, traced=False)
    failed = [name for name in names if name in plain and plain[name]["outcome"] == "failed"]
    passed = sorted(
        (name for name in plain if plain[name]["outcome"] == "passed"), key=lambda name: (plain[name]["s"], name)
    )
    quick = [name for name in passed if plain[name]["s"] < 1.0]
    outside = sorted(
        name
        for name, module in list(sys.modules.items())
        if str(getattr(module, "__file__", None) or "").startswith(root + os.sep)
        and "site-packages" not in str(module.__file__)
    )
    usual = sorted(plain[name]["cpu_s"] for name in passed) or [0]
    say(
        "survey",
        {
            "tests": len(names) + len(tests.broken),
            "failed": len(failed) + len(tests.broken),
            "passed": len(passed),
            "s": round(time.monotonic() - started, 2),
            "usual_s": usual[len(passed) * 3 // 4 - (len(passed) > 3)],
            "slowest_s": max([plain[name]["s"] for name in passed] or [0]),
            "outside": outside[:5],
        },
    )
    for failure in [*tests.broken, *(plain[name]["failure"] for name in failed)][: JOB["max_failures"]]:
        say("fail", dict(failure, s=plain.get(failure["id"], {"s": 0})["s"]))
    if not failed:
        return
    chosen = failed[: JOB["max_traced"]]
    hanging = [name for name in chosen if plain[name]["failure"]["type"] == "TimeIsUp"]
    ending = [name for name in chosen if name not in hanging]
    traced = run_each(tests, ending, JOB["limit_s"] * 2, deadline, traced=True)
    traced.update(run_each(tests, hanging, HANGING_S, deadline, traced=True))
    share = quick[: JOB["max_passing"]]
    traced.update(run_each(tests, share, JOB["limit_s"] * 2, deadline, traced=True))
    counts: dict[str, dict[int, list[int]]] = {}
    for name, outcome in traced.items():
        for path, line in outcome.get("lines", ()):
            counts.setdefault(path, {}).setdefault(line, [0, 0])[0 if name in failed else 1] += 1
    weight = {
        path: (
            max(bad * bad / (bad + good) for bad, good in lines.values()),
            sum(1 for bad, _ in lines.values() if bad),
        )
        for path, lines in counts.items()
    }
    for path in sorted(weight, key=lambda path: (-weight[path][0], -weight[path][1], path))[: JOB["max_files"]]:
        if weight[path][1]:
            lines = {line: (pair[0], pair[1]) for line, pair in counts[path].items() if pair[0]}
            imported = {line: (1, 0) for place, line in at_import if place == path}
            say("cover", {"file": path, "lines": ranges(lines), "import": [item[:2] for item in ranges(imported)]})
    say("traced", {"failing": sum(name in traced for name in failed), "passing": sum(name in traced for name in share)})


if JOB:
    main(survey)
