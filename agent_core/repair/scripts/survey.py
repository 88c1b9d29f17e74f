"""Runs tests in a scratch copy, the most telling first, and tells which lines the failing and passing ones ran."""

# Sent as text to interpreters that may be older: short beats modern.
# ruff: noqa: PTH110, PTH112, PTH118

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from agent_core.repair.scripts import choice, common
from agent_core.repair.scripts.common import JOB, LOAD_S, WAIT_S, fork, main, messages, say, stretch
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
    """Outcome per test. A test that hangs is ended and the rest goes on, in a new child where the old one is lost. Once
    one hangs, the others get less: the same loop stops many, and what it stops takes all that it is given."""
    outcomes: dict[str, dict[str, Any]] = {}
    left = list(ids)
    while left and time.monotonic() < deadline:
        running = left[0]
        quiet_s = min(limit_s * 3 + WAIT_S, max(deadline - time.monotonic(), 0.1))
        for message in messages(*fork(running_all(tests, left, limit_s, traced)), quiet_s=quiet_s):
            if time.monotonic() > deadline:
                running = ""
                break
            running = message.get("begin", running)
            if "end" in message and message["end"] in tests.items:
                outcomes[message["end"]] = message
                running = ""
                if message["failure"] and message["failure"]["type"] == "TimeIsUp" and not traced:
                    break
        if running and time.monotonic() < deadline:
            failure = {"id": running, "type": "TimeIsUp", "message": "hangs or ends the process", "frames": []}
            outcomes[running] = {
                "end": running, "outcome": "failed", "s": limit_s, "cpu_s": limit_s, "failure": failure,
            }  # fmt: skip
        remaining = [name for name in left if name not in outcomes]
        if len(remaining) == len(left):
            break
        left, hung = remaining, any(is_hanging(item) for item in outcomes.values())
        limit_s = min(limit_s, max(HANGING_S, _ample(outcomes))) if hung and not traced else limit_s
    return outcomes


def is_hanging(outcome: dict[str, Any]) -> bool:
    return bool(outcome["failure"] and outcome["failure"]["type"] == "TimeIsUp")


def _ample(outcomes: dict[str, dict[str, Any]]) -> float:
    """Five times what the slowest of the tests took that came to an end."""
    return 5.0 * max([float(item["cpu_s"]) for item in outcomes.values() if not is_hanging(item)] or [0.0])


def ranges(lines: dict[int, tuple[int, int]]) -> list[list[int]]:
    """[first, last, failing tests, passing tests] for runs of lines with equal counts; failing ones as bits."""
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
    if not JOB["runner"]:
        JOB["runner"], JOB["args"] = choice.choose()
    bare_src = os.path.isdir("src") and not os.path.exists(os.path.join("src", "__init__.py"))
    if JOB["runner"] == "unittest" and bare_src:
        sys.path.insert(1, os.path.join(common.BASE, "src"))
    say("runner", {"runner": JOB["runner"], "args": JOB["args"], "python": sys.executable})
    order = choice.Order(JOB["wanted"], root)
    files = order.telling_files() if JOB["quick"] and JOB["runner"] == "pytest" else []
    preload()

    def work(report: Report) -> None:
        tests = Tests(common.BASE)
        at_import = Recorder()

        def ready() -> None:
            at_import.__exit__()
            report({"loaded": True})
            look(tests, at_import.lines, root, started, order, bool(files))

        sys.settrace(at_import._call)
        tests.load([*JOB["args"], *files], ready)
        sys.settrace(None)
        if tests.session is None and JOB["runner"] != "unittest":
            say("survey", {"tests": 0, "failed": 0, "passed": 0, "s": 0})

    JOB["budget_s"] *= stretch()
    for _ in messages(*fork(work), quiet_s=JOB["budget_s"] + LOAD_S):
        pass


def look(tests: Tests, at_import: set[Line], root: str, started: float, order: choice.Order, partly: bool) -> None:
    """Three fifths of the time are for running tests, the rest for tracing those that fail, and some that pass."""
    begun = time.monotonic()
    first = {name: at - len(JOB["first"]) for at, name in enumerate(JOB["first"])}
    ranks = {name: first.get(name, order.of_test(name, tests.files[name])) for name in tests.items}
    names = sorted(ranks, key=lambda name: ranks[name])[JOB["start"] :]
    if JOB["only"]:
        names = [name for name in names if name in JOB["only"]]
    share = begun + 0.6 * JOB["budget_s"]
    plain = run_each(tests, names, JOB["limit_s"], share, traced=False)
    failed = [name for name in names if name in plain and plain[name]["outcome"] == "failed"]
    passed = sorted(
        (name for name in plain if plain[name]["outcome"] == "passed"), key=lambda name: (plain[name]["s"], name)
    )
    outside = sorted(
        name
        for name, module in list(sys.modules.items())
        if str(getattr(module, "__file__", None) or "").startswith(root + os.sep)
        and "site-packages" not in str(module.__file__)
    )
    usual = sorted(plain[name]["cpu_s"] for name in passed) or [0]
    known = [*tests.broken, *(plain[name]["failure"] for name in failed)]
    deadline = begun + JOB["budget_s"]
    traced, enough = trace(tests, failed, passed, plain, deadline) if failed else ({}, True)
    say(
        "survey",
        {
            "tests": len(tests.items) + len(tests.broken),
            "ran": len(plain) + len(tests.broken),
            "whole": len(plain) == len(names) and not (JOB["start"] or JOB["only"] or partly),
            "partly": partly,
            "traced": enough,
            "failed": len(known),
            "passed": len(passed),
            "s": round(time.monotonic() - started, 2),
            "all_s": round(sum(item["s"] for item in plain.values()), 2),
            "usual_s": usual[len(passed) * 3 // 4 - (len(passed) > 3)],
            "slowest_s": max([plain[name]["s"] for name in passed] or [0]),
            "outside": outside[:5],
            "paths": [os.path.relpath(path, common.BASE) for path in sys.path if path.startswith(common.BASE + os.sep)],
        },
    )
    for at, failure in enumerate(known[: JOB["max_traced"]]):
        brief = dict(failure, message=failure["message"][:120], frames=failure["frames"][-1:])
        told = failure if at < JOB["max_failures"] else brief
        name = failure["id"]
        named = choice.is_named(name, tests.files.get(name, name.partition("::")[0]), JOB["wanted"])
        say("fail", dict(told, s=plain.get(name, {"s": 0})["s"], **({"named": True} if named else {})))
    if len(known) > JOB["max_traced"]:
        say("also", [failure["id"] for failure in known[JOB["max_traced"] :][: JOB["max_known"]]])
    if JOB["only"]:
        say("passing", passed[: JOB["max_known"]])
    tell_lines(tests, traced, [failure["id"] for failure in known], at_import)
    if not enough or len(plain) < len(names) or partly or sum(item["s"] for item in plain.values()) > JOB["quick_s"]:
        files = {tests.files[name] for name in failed}
        say("near", [name for name in passed if tests.files[name] in files][: JOB["max_known"]])


def trace(
    tests: Tests, failed: list[str], passed: list[str], plain: dict[str, dict[str, Any]], deadline: float
) -> tuple[dict[str, dict[str, Any]], bool]:
    """Outcomes with lines, and whether all that was meant to be traced could be."""
    chosen = failed[: JOB["max_traced"]]
    hanging = [name for name in chosen if is_hanging(plain[name])]
    ending = [name for name in chosen if name not in hanging]
    traced = run_each(tests, ending, JOB["limit_s"] * 2, deadline, traced=True)
    traced.update(run_each(tests, hanging[:4], HANGING_S, deadline, traced=True))
    files = {tests.files[name] for name in failed}
    quick = [name for name in passed if plain[name]["s"] < 1.0]
    share = sorted(quick, key=lambda name: tests.files[name] not in files)[: JOB["max_passing"]]
    traced.update(run_each(tests, share, JOB["limit_s"] * 2, deadline, traced=True))
    return traced, all(name in traced for name in [*ending, *hanging[:4], *share])


def tell_lines(tests: Tests, traced: dict[str, dict[str, Any]], known: list[str], at_import: set[Line]) -> None:
    bits = {name: 1 << at for at, name in enumerate(known[: JOB["max_traced"]])}
    counts: dict[str, dict[int, list[int]]] = {}
    for name, outcome in traced.items():
        for path, line in outcome.get("lines", ()):
            pair = counts.setdefault(path, {}).setdefault(line, [0, 0])
            if name in bits:
                pair[0] |= bits[name]
            else:
                pair[1] += 1
    weight = {}
    for path, lines in counts.items():
        bad = [(bin(bits).count("1"), good) for bits, good in lines.values() if bits]
        weight[path] = (max([count * count / (count + good) for count, good in bad] or [0]), len(bad))
    for path in sorted(weight, key=lambda path: (-weight[path][0], -weight[path][1], path))[: JOB["max_files"]]:
        if weight[path][1]:
            told = {line: (pair[0], pair[1]) for line, pair in counts[path].items() if pair[0]}
            imported = {line: (1, 0) for place, line in at_import if place == path}
            say("cover", {"file": path, "lines": ranges(told), "import": [item[:2] for item in ranges(imported)]})


if JOB:
    main(survey)
