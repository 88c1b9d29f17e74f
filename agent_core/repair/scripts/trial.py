"""Tries candidate edits in a scratch copy against the failing tests, then the survivors against the whole suite."""

# Sent as text to interpreters that may be older: short beats modern.
# ruff: noqa: B905, PTH118, PTH120, PTH123

from __future__ import annotations

import gc
import json
import os
import select
import shutil
import time
import zlib
from collections.abc import Callable
from typing import Any

from agent_core.repair.scripts import common
from agent_core.repair.scripts.common import (
    JOB,
    LOAD_S,
    WAIT_S,
    changed_text,
    fork,
    main,
    messages,
    read_text,
    say,
    stop,
    stretch,
    write_edits,
)
from agent_core.repair.scripts.runners import Tests, preload
from agent_core.repair.scripts.swap import Swapper

Verdict = dict[str, Any]
WORKERS = max(1, min(4, os.cpu_count() or 1))


def meant(tests: Tests, name: str) -> list[str]:
    """The tests of an id; those of the whole file where the id is that of a file that could not be loaded."""
    if name in tests.items:
        return [name]
    prefix = name.replace("unittest.loader._FailedTest.", "") + ("." if JOB["runner"] == "unittest" else "::")
    return [item for item in tests.items if item.startswith(prefix)]


def outcome(tests: Tests, ids: list[str], limit_s: float) -> Callable[[Callable[[Verdict], None]], None]:
    """Work for a child: runs the tests, reports which pass and what the failures look like."""

    def work(report: Callable[[Verdict], None]) -> None:
        groups = [meant(tests, name) for name in ids]
        ends: list[Verdict] = []
        wanted = list(dict.fromkeys(name for group in groups for name in group))
        told = lambda message: ends.append(message) if "end" in message else None  # noqa: E731
        tests.run(wanted, limit_s, told, stop_at_hang=True)
        passed = {end["end"] for end in ends if end["outcome"] != "failed"}
        failures = [end["failure"] for end in ends if end["failure"]]
        seen = {item["id"]: (item["type"], item["message"], item["frames"][-1:]) for item in failures}
        report(
            {
                "passed": [bool(group) and passed.issuperset(group) for group in groups],
                "looks": [zlib.crc32(repr([seen.get(name) for name in group]).encode()) & 0xFFFF for group in groups],
                "slow": any(item["type"] == "TimeIsUp" for item in failures),
            }
        )

    return work


def in_parallel(
    jobs: list[int],
    start: Callable[[int, int], Any],
    quiet_s: float,
    deadline: float,
    note: Callable[[int, Verdict], bool],
) -> None:
    """Runs one child per job, `WORKERS` at a time, in order; `note` gets each verdict and says whether to go on."""
    running: dict[int, tuple[int, int, int, float, bytes]] = {}
    idle: dict[int, tuple[str, float]] = {}
    free = list(range(WORKERS))
    queue = list(reversed(jobs))
    going = True
    while running or (queue and going and time.monotonic() < deadline):
        while queue and free and going and time.monotonic() < deadline:
            job, slot = queue.pop(), free.pop()
            child = start(job, slot)
            if not isinstance(child, tuple):
                free.append(slot)
                going = note(job, child) and going
                continue
            running[child[1]] = (job, slot, child[0], time.monotonic() + quiet_s, b"")
        if not running:
            continue
        ready, _, _ = select.select(list(running), [], [], 0.05)
        now = time.monotonic()
        for pipe in list(running):
            job, slot, pid, until, data = running[pipe]
            ended = False
            if pipe in ready:
                piece = os.read(pipe, 1 << 16)
                ended = not piece
                running[pipe] = (job, slot, pid, until, data + piece)
            if not ended and pid in idle and not working(pid, idle, now):
                until = 0.0
            idle.setdefault(pid, ("", now))
            if ended or now > until:
                del running[pipe]
                del idle[pid]
                stop(pid)
                os.close(pipe)
                free.append(slot)
                lines = data.decode().splitlines()
                verdict = json.loads(lines[-1]) if lines and ended else {"slow": not ended, "broken": "ended early"}
                going = note(job, verdict) and going


def working(pid: int, idle: dict[int, tuple[str, float]], now: float) -> bool:
    """False for a child that has slept without a break for as long as a test may wait. `idle` holds, per child, what it
    had used of the processor when it was last seen to use some, and when that was."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return True  # no such files on this system: the clock's limit has to do
    used = " ".join(fields[11:13])
    if fields[0] != "S" or used != idle[pid][0]:
        idle[pid] = (used, now)
    return now - idle[pid][1] < float(JOB["patience_s"])


class Trial:
    def __init__(self, root: str) -> None:
        self.deadline = self.started = time.monotonic()
        self.ids: list[str] = JOB["tests"]
        self.candidates = [[[JOB["files"][edit[0]], *edit[1:]] for edit in item] for item in JOB["candidates"]]
        self.verdicts: dict[int, Verdict] = {}
        self.baseline: Verdict = {}
        self.survivors = 0

    def run(self) -> None:
        for path, crc in zip(JOB["files"], JOB["crcs"]):
            if zlib.crc32(read_text(os.path.join(common.BASE, path))[0].encode()) != crc:
                say("stale", path)
                return
        preload()
        JOB["budget_s"] *= stretch()
        self.deadline = time.monotonic() + JOB["budget_s"]
        everything = list(range(len(self.candidates)))
        for message in messages(*fork(lambda report: self.warm(everything, report)), quiet_s=JOB["limit_s"] * 4 + 60):
            if "baseline" in message:
                self.baseline = message["baseline"]
            elif "at" in message:
                self.verdicts[message["at"]] = message["verdict"]
        if self.baseline:
            again = [at for at, verdict in self.verdicts.items() if verdict.get("cold")]
        else:
            self.baseline, again = {"passed": [False] * len(self.ids), "looks": None}, everything
        self.survivors = len(self.passing())
        first = min(self.passing(), default=len(self.candidates))
        self.cold(sorted(at for at in again if at < first))
        self.tell()

    def passing(self) -> list[int]:
        return [
            at for at in sorted(self.verdicts) if self.verdicts[at].get("passed") and all(self.verdicts[at]["passed"])
        ]

    def enough(self, at: int, verdict: Verdict) -> bool:
        self.survivors += bool(verdict.get("passed")) and all(verdict["passed"])
        return bool(self.survivors < JOB["survivors"])

    def warm(self, jobs: list[int], report: Callable[[Verdict], None]) -> None:
        tests = Tests(common.BASE)

        def ready() -> None:
            if not all(meant(tests, name) for name in self.ids):
                return  # files that can't be loaded need a new import each time
            for message in messages(
                *fork(outcome(tests, self.ids, JOB["limit_s"])), quiet_s=JOB["limit_s"] * 4 + WAIT_S
            ):
                report({"baseline": message})
            self.deadline = time.monotonic() + JOB["budget_s"]  # what loading takes is no time for trials
            swapper, whole = Swapper(JOB["files"]), set(JOB["cold"])
            gc.freeze()

            def start(at: int, slot: int) -> Any:
                def work(tell: Callable[[Verdict], None]) -> None:
                    try:
                        swapped = swapper.swap(self.candidates[at], at in whole)
                    except (SyntaxError, ValueError):
                        tell({"wrong": True})
                        return
                    except (NameError, TypeError, LookupError, AttributeError):
                        swapped = False  # what went wrong may be the exchange itself: a new import knows
                    outcome(tests, self.ids, JOB["limit_s"])(tell) if swapped else tell({"cold": True})

                return fork(work, JOB["limit_s"] * len(self.ids))

            def note(at: int, verdict: Verdict) -> bool:
                report({"at": at, "verdict": verdict})
                return self.enough(at, verdict)

            in_parallel(jobs, start, JOB["limit_s"] * 3 + WAIT_S, self.deadline, note)

        tests.load(JOB["test_args"], ready)

    def cold(self, jobs: list[int]) -> None:
        """Candidates that need a new import: written to a copy of their own, tests loaded anew."""
        self.deadline = max(self.deadline, time.monotonic() + JOB["budget_s"] / 4)
        copies: dict[int, str] = {}

        def start(at: int, slot: int) -> Any:
            if slot not in copies:
                copies[slot] = fresh_copy(f"slot{slot}")
            try:
                for path in {edit[0] for edit in self.candidates[at]}:
                    text = read_text(os.path.join(common.BASE, path))[0]
                    compile(
                        changed_text(text, [edit[1:] for edit in self.candidates[at] if edit[0] == path]), path, "exec"
                    )
            except (SyntaxError, ValueError):
                return {"wrong": True}
            for path in JOB["files"]:
                shutil.copy2(os.path.join(common.BASE, path), os.path.join(copies[slot], path))
            write_edits(copies[slot], self.candidates[at])
            return fork(
                lambda tell: self.afresh(copies[slot], JOB["test_args"], tell), JOB["limit_s"] * len(self.ids) + 5
            )

        def note(at: int, verdict: Verdict) -> bool:
            self.verdicts[at] = verdict
            return self.enough(at, verdict)

        in_parallel(jobs, start, JOB["limit_s"] * 3 + LOAD_S, self.deadline, note)

    def afresh(self, copy: str, args: list[str], report: Callable[[Verdict], None]) -> None:
        move_to(copy)
        tests = Tests(copy)
        tests.load(args, lambda: outcome(tests, self.ids, JOB["limit_s"])(report))

    def whole_suite(self, at: int) -> list[str] | None:
        """Ids of tests that fail with the candidate in place and are not known to fail; None if it took too long. Where
        the suite is slow, only the tests near to those that failed are run."""
        copy, near = fresh_copy("suite"), set(JOB["near"])
        write_edits(copy, self.candidates[at] if at >= 0 else [])
        ends: dict[str, str] = {}
        broken: list[str] = []

        def work(report: Callable[[Verdict], None]) -> None:
            move_to(copy)
            tests = Tests(copy)

            def ready() -> None:
                report({"collect": [item["id"] for item in tests.broken]})
                left = [name for name in tests.items if name not in JOB["known"]]
                tests.run([name for name in left if not near or name in near], JOB["suite_limit_s"], report)
                report({"finished": True})

            tests.load(JOB["args"], ready)

        finished = False
        for message in messages(*fork(work), quiet_s=JOB["suite_limit_s"] * 3 + LOAD_S):
            broken += message.get("collect", [])
            finished = finished or "finished" in message
            if "end" in message:
                ends[message["end"]] = message["outcome"]
        shutil.rmtree(copy, ignore_errors=True)
        if not finished:
            return None
        failed = broken + [name for name, result in ends.items() if result == "failed"]
        return [name for name in failed if name not in JOB["known"]]

    def moved(self, verdict: Verdict) -> int:
        """How many of the tests that still fail do so in another way than before."""
        seen = zip(verdict["passed"], verdict["looks"], self.baseline.get("looks") or verdict["looks"])
        return sum(not passed and look != before for passed, look, before in seen)

    def tell(self) -> None:
        groups: dict[str, list[int]] = {}
        partial: list[list[int]] = []
        for at in sorted(self.verdicts):
            verdict = self.verdicts[at]
            passed = verdict.get("passed", [])
            gained = sum(now and not before for now, before in zip(passed, self.baseline.get("passed", [])))
            if passed and all(passed):
                word = "pass"
            elif gained:
                word = "partial"
                partial.append([at, gained, self.moved(verdict)])
            elif verdict.get("wrong"):
                word = "no_python"
            elif verdict.get("slow"):
                word = "too_slow"
            elif not passed:
                word = "crashed"
            else:
                word = "same" if verdict["looks"] == self.baseline.get("looks") else "changed"
            groups.setdefault(word, []).append(at)
        say(
            "trial",
            {
                "candidates": len(self.candidates),
                "tried": len(self.verdicts),
                "s": round(time.monotonic() - self.started, 2),
            },
        )
        say("baseline", {"passed": sum(self.baseline.get("passed", [])), "of": len(self.ids)})
        for word, members in groups.items():
            say(word, " ".join(shortened(members)))
        if partial:
            say("gained", partial)
        best = groups.get("pass", [])[: JOB["max_suites"]]
        if not best:
            best = [at for at, _, _ in sorted(partial, key=lambda row: (-row[1], row[0]))[: JOB["max_suites"]]]
        for at in best:
            broke = self.whole_suite(at)
            say("suite", {"candidate": at, "broke": broke if broke is None else broke[:20]})
            if broke == [] and at in groups.get("pass", []) and not JOB["all_suites"]:
                break


def shortened(numbers: list[int]) -> list[str]:
    """`1-4 7` for 1 2 3 4 7."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return [str(first) if first == last else f"{first}-{last}" for first, last in found]


def fresh_copy(name: str) -> str:
    target = os.path.join(os.path.dirname(common.BASE), name)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(common.BASE, target, symlinks=True)
    return target


def move_to(copy: str) -> None:
    """This child works in another copy from now on."""
    common.enter(common.BASE, copy)
    common.BASE = copy


def trial(root: str) -> None:
    Trial(root).run()


if JOB:
    main(trial)
