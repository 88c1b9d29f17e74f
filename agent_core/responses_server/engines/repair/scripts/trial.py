"""Tries candidate edits in a scratch copy against the failing tests, then the survivors against the whole suite."""

from __future__ import annotations

import gc
import select
import shutil
import time
import types
import zlib
from collections.abc import Callable
from typing import Any

from agent_core.responses_server.engines.repair.scripts import common
from agent_core.responses_server.engines.repair.scripts.common import (
    JOB,
    Tests,
    changed_text,
    fork,
    json,
    main,
    messages,
    os,
    read_text,
    say,
    stop,
    write_edits,
)

Verdict = dict[str, Any]
WORKERS = max(1, min(4, os.cpu_count() or 1))


def code_tree(code: types.CodeType, path: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], types.CodeType]:
    """Code objects by their place: names from the module inwards, with a count among namesakes."""
    found = {path: code}
    seen = {}  # type: Dict[str, int]
    for item in code.co_consts:
        if isinstance(item, types.CodeType):
            seen[item.co_name] = seen.get(item.co_name, 0) + 1
            found.update(code_tree(item, path + ((item.co_name, seen[item.co_name]),)))
    return found


class Swapper:
    """Puts new code into functions that are loaded already, so that an edit of a body needs no new import."""

    def __init__(self, paths: list[str]) -> None:
        self.texts = {path: read_text(os.path.join(common.BASE, path))[0] for path in paths}
        self.trees = {path: code_tree(self._compiled(path, text)) for path, text in self.texts.items()}
        self.functions = {}  # type: Dict[Tuple[str, Tuple[Any, ...]], List[Any]]
        places = {}  # type: Dict[Tuple[str, str, int], Tuple[str, Tuple[Any, ...]]]
        for path, tree in self.trees.items():
            for place, code in tree.items():
                places[(os.path.join(common.BASE, path), code.co_name, code.co_firstlineno)] = (path, place)
        for function in gc.get_objects():
            if isinstance(function, types.FunctionType):
                code = function.__code__
                key = places.get((os.path.realpath(code.co_filename), code.co_name, code.co_firstlineno))
                if key is not None:
                    self.functions.setdefault(key, []).append(function)

    def _compiled(self, path: str, text: str) -> types.CodeType:
        return compile(text, os.path.join(common.BASE, path), "exec", dont_inherit=True)

    def swap(self, edits: list[Any]) -> bool:
        """Whether the edits could be put in place."""
        for path in {edit[0] for edit in edits}:
            text = changed_text(self.texts[path], [edit[1:] for edit in edits if edit[0] == path])
            new = code_tree(self._compiled(path, text))
            for place in self.trees[path]:
                for function in self.functions.get((path, place), ()):
                    code = new.get(place)
                    if code is None or len(code.co_freevars) != len(function.__code__.co_freevars):
                        return False
                    function.__code__ = code
        return True


def outcome(tests: Tests, ids: list[str], limit_s: float) -> Callable[[Callable[[Verdict], None]], None]:
    """Work for a child: runs the tests, reports how many pass and what the failures look like."""

    def work(report: Callable[[Verdict], None]) -> None:
        ends = []  # type: List[Verdict]
        tests.run(
            [name for name in ids if name in tests.items],
            limit_s,
            lambda message: ends.append(message) if "end" in message else None,
        )
        report(summary(ends, ids))

    return work


def summary(ends: list[Verdict], ids: list[str]) -> Verdict:
    passed = {end["end"] for end in ends if end["outcome"] != "failed"}
    failures = [end["failure"] for end in ends if end["failure"]]
    looks = [(item["id"], item["type"], item["message"], item["frames"][-1:]) for item in failures]
    slow = any(item["type"] == "TimeIsUp" for item in failures)
    return {"passed": [name in passed for name in ids], "look": zlib.crc32(repr(looks).encode()) & 0xFFFF, "slow": slow}


def in_parallel(
    jobs: list[int],
    start: Callable[[int, int], Any],
    quiet_s: float,
    deadline: float,
    note: Callable[[int, Verdict], bool],
) -> None:
    """Runs one child per job, `WORKERS` at a time, in order; `note` gets each verdict and says whether to go on."""
    running = {}  # type: Dict[int, Tuple[int, int, int, float, bytes]]
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
            if ended or now > until:
                del running[pipe]
                stop(pid)
                os.close(pipe)
                free.append(slot)
                lines = data.decode().splitlines()
                verdict = json.loads(lines[-1]) if lines and ended else {"slow": not ended, "broken": "ended early"}
                going = note(job, verdict) and going


class Trial:
    def __init__(self, root: str) -> None:
        self.deadline = time.monotonic() + JOB["budget_s"]
        self.started = time.monotonic()
        self.ids = JOB["tests"]  # type: List[str]
        self.candidates = [[[JOB["files"][edit[0]], *edit[1:]] for edit in item] for item in JOB["candidates"]]
        self.verdicts = {}  # type: Dict[int, Verdict]
        self.baseline = {}  # type: Verdict
        self.survivors = 0

    def run(self) -> None:
        for path, crc in zip(JOB["files"], JOB["crcs"]):
            if zlib.crc32(read_text(os.path.join(common.BASE, path))[0].encode()) != crc:
                say("stale", path)
                return
        warm = [at for at in range(len(self.candidates)) if at not in set(JOB["cold"])]
        child = fork(lambda report: self.warm(warm, report))
        for message in messages(*child, quiet_s=JOB["limit_s"] * 4 + 60):
            if "baseline" in message:
                self.baseline = message["baseline"]
            elif "at" in message:
                self.verdicts[message["at"]] = message["verdict"]
                self.survivors += bool(message["verdict"].get("passed")) and all(message["verdict"]["passed"])
        again = [at for at in range(len(self.candidates)) if self.verdicts.get(at, {"cold": True}).get("cold")]
        if self.survivors == 0 or any(at < min(self.passing()) for at in again):
            again = [at for at in again if not self.passing() or at < min(self.passing())]
            self.cold(again)
        self.tell()

    def passing(self) -> list[int]:
        return [
            at for at in sorted(self.verdicts) if self.verdicts[at].get("passed") and all(self.verdicts[at]["passed"])
        ]

    def enough(self, at: int, verdict: Verdict) -> bool:
        self.survivors += bool(verdict.get("passed")) and all(verdict["passed"])
        return self.survivors < JOB["survivors"]

    def warm(self, jobs: list[int], report: Callable[[Verdict], None]) -> None:
        tests = Tests(common.BASE)

        def ready() -> None:
            for message in messages(*fork(outcome(tests, self.ids, JOB["limit_s"])), quiet_s=JOB["limit_s"] * 4 + 5):
                report({"baseline": message})
            swapper = Swapper(JOB["files"])
            gc.freeze()

            def start(at: int, slot: int) -> Any:
                def work(tell: Callable[[Verdict], None]) -> None:
                    try:
                        swapped = swapper.swap(self.candidates[at])
                    except (SyntaxError, ValueError):
                        tell({"wrong": True})
                        return
                    outcome(tests, self.ids, JOB["limit_s"])(tell) if swapped else tell({"cold": True})

                return fork(work, JOB["limit_s"] * len(self.ids))

            def note(at: int, verdict: Verdict) -> bool:
                report({"at": at, "verdict": verdict})
                return self.enough(at, verdict)

            in_parallel(jobs, start, JOB["limit_s"] * 3 + 1, self.deadline, note)

        tests.load(JOB["test_args"], ready)

    def cold(self, jobs: list[int]) -> None:
        """Candidates that need a new import: written to a copy of their own, tests loaded anew."""
        copies = {}  # type: Dict[int, str]

        def start(at: int, slot: int) -> Any:
            if slot not in copies:
                copies[slot] = fresh_copy("slot%d" % slot)
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

        in_parallel(jobs, start, JOB["limit_s"] * 3 + 5, self.deadline, note)

    def afresh(self, copy: str, args: list[str], report: Callable[[Verdict], None]) -> None:
        move_to(copy)
        tests = Tests(copy)
        tests.load(args, lambda: outcome(tests, self.ids, JOB["limit_s"])(report))

    def whole_suite(self, at: int) -> list[str] | None:
        """Ids of tests that fail with the candidate in place and are not known to fail; None if it took too long."""
        copy = fresh_copy("suite")
        write_edits(copy, self.candidates[at] if at >= 0 else [])
        ends = {}  # type: Dict[str, str]
        broken = []  # type: List[str]

        def work(report: Callable[[Verdict], None]) -> None:
            move_to(copy)
            tests = Tests(copy)

            def ready() -> None:
                report({"all": list(tests.items), "collect": [item["id"] for item in tests.broken]})
                tests.run(list(tests.items), JOB["suite_limit_s"], report)
                report({"finished": True})

            tests.load(JOB["args"], ready)

        finished = False
        for message in messages(*fork(work), quiet_s=JOB["suite_limit_s"] * 3 + 10):
            broken += message.get("collect", [])
            finished = finished or "finished" in message
            if "end" in message:
                ends[message["end"]] = message["outcome"]
        shutil.rmtree(copy, ignore_errors=True)
        if not finished:
            return None
        return broken + [name for name, result in ends.items() if result == "failed" and name not in JOB["known"]]

    def tell(self) -> None:
        groups = {}  # type: Dict[str, List[int]]
        partial = []  # type: List[List[int]]
        for at in sorted(self.verdicts):
            verdict = self.verdicts[at]
            passed = verdict.get("passed", [])
            gained = sum(now and not before for now, before in zip(passed, self.baseline.get("passed", [])))
            if passed and all(passed):
                word = "pass"
            elif gained:
                word = "partial"
                partial.append([at, gained])
            elif verdict.get("wrong"):
                word = "no_python"
            elif verdict.get("slow"):
                word = "too_slow"
            elif not passed:
                word = "crashed"
            else:
                word = "same" if verdict["look"] == self.baseline.get("look") else "changed"
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
        best += [
            at
            for at, _ in sorted(partial, key=lambda pair: (-pair[1], pair[0]))[: JOB["max_suites"] if not best else 0]
        ]
        for at in best:
            broke = self.whole_suite(at)
            say("suite", {"candidate": at, "broke": broke if broke is None else broke[:20]})
            if broke == [] and at in groups.get("pass", []) and not JOB["all_suites"]:
                break


def shortened(numbers: list[int]) -> list[str]:
    """`1-4 7` for 1 2 3 4 7."""
    found = []  # type: List[List[int]]
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return [str(first) if first == last else "%d-%d" % (first, last) for first, last in found]


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
