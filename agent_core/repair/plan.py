"""The way of work, as a generator: it yields steps and is sent what came of them. Deterministic."""

from __future__ import annotations

import re
import shlex
from collections.abc import Generator, Sequence

from agent_core.repair import causes, in_place, localise, report, scratch, search
from agent_core.repair.actions import (
    Edited,
    EditFile,
    Interpreter,
    ListFiles,
    Listing,
    Observation,
    PlanStep,
    Refused,
    RunScript,
    RunTests,
    ScriptOutput,
    TestRun,
)
from agent_core.repair.failures import is_test_path, read_failures
from agent_core.repair.limits import SearchLimits
from agent_core.repair.project import edits_between, patched
from agent_core.repair.reading import MAX_READS, Reader
from agent_core.repair.scratch import Patch, Survey
from agent_core.repair.search import Bench, SearchResult, Steps, Trials
from agent_core.repair.source import Source
from agent_core.repair.tools_adapter import Toolset

DEFAULTS = SearchLimits()
MAX_LOOKS = 5
"""Looks at a suite that is slow before one that fails is found."""
MAX_WHOLE = 2
"""Fixes that the whole suite may turn down where only a part of it was run before."""
CONFIRM_S = 4.0
"""Processor time after which a test that seemed to hang in the first look is taken to do so."""
LATER_GOALS_S = 12.0
"""What goals after the first that is reached get, in seconds of trials."""


def plan(
    task: str, tools: Toolset, *, introduce: bool, leftovers: Sequence[EditFile] = (), limits: SearchLimits = DEFAULTS
) -> Steps:
    """Mends what the failing tests show. `leftovers` are edits of an earlier run that was cut off before its end."""
    if not tools.can_work:
        yield PlanStep(report.NO_TOOLS)
        return
    yield from Repair(task, tools, limits).run(introduce, leftovers)


class Repair:
    """One task, from the first look to the last word."""

    def __init__(self, task: str, tools: Toolset, limits: SearchLimits) -> None:
        self.task, self.tools, self.limits = task, tools, limits
        self.reader = Reader()
        self.command: str | None = None
        self.known: tuple[str, ...] = ()
        """Tests that fail without any fix."""

    def run(self, introduce: bool, leftovers: Sequence[EditFile]) -> Steps:
        looked: Survey | str = "no tool here runs commands"
        if self.tools.can_command:
            looked = yield from self._look(introduce)
            introduce = False
            if isinstance(looked, Survey) and looked.failed and leftovers:
                yield from self._undo(leftovers)
                leftovers = ()
                looked = yield from self._survey("I run the tests on the files as they were.", self.limits.look_s)
        if isinstance(looked, Survey) and looked.failed:
            yield from self._repair(looked)
        else:
            yield from self._without_copy(looked, introduce, leftovers)

    def _look(self, introduce: bool) -> Generator[PlanStep, tuple[Observation, ...], Survey | str]:
        """Runs tests for a few seconds; goes on for as long as none fails."""
        say = (report.INTRODUCTION + "\n\n" if introduce else "") + (
            "First I look at the project and run its tests for a few seconds, those first that are likely to fail."
        )
        observed = yield PlanStep(say, (ListFiles(depth=3), self._script(self.limits.look_s)))
        for item in observed[:1]:
            self.reader.listed = item.paths if isinstance(item, Listing) else ()
        survey = self._read_survey(observed[-1])
        start = 0
        for _ in range(MAX_LOOKS):
            if isinstance(survey, str) or survey.failed or survey.whole:
                break
            if survey.partly:
                say = f"The {survey.ran} tests that I ran first pass. I go on with all."
            elif start + survey.ran >= survey.tests or not survey.ran:
                break
            else:
                start += survey.ran
                say = f"{start} of {survey.tests} tests were run and pass. I go on with the others."
            (item,) = yield PlanStep(say, (self._script(25.0, start=start),))
            survey = self._read_survey(item)
        return survey

    def _script(self, budget_s: float, *, start: int = 0, limit_s: float = 3.0, first: Sequence[str] = ()) -> RunScript:
        quick = budget_s == self.limits.look_s
        script = scratch.survey_script(
            budget_s=budget_s, limit_s=1.0 if quick else limit_s, start=start, wanted=causes.wanted(self.task),
            first=first, quick=quick, quick_s=self.limits.quick_s,
        )  # fmt: skip
        purpose = "runs tests in a temporary copy of the project and measures which lines they run"
        return RunScript(Interpreter(runner="pytest"), script, purpose)

    def _survey(self, say: str, budget_s: float) -> Generator[PlanStep, tuple[Observation, ...], Survey | str]:
        (observed,) = yield PlanStep(say, (self._script(budget_s),))
        return self._read_survey(observed)

    def _read_survey(self, observed: Observation) -> Survey | str:
        if not isinstance(observed, ScriptOutput):
            return getattr(observed, "why", "the command could not be run")
        survey = scratch.read_survey(observed.text)
        if isinstance(survey, str):
            return f"a copy of the project can't be used ({survey})"
        if survey.outside:
            return f"a copy of the project still loads {survey.outside[0]} from the workspace"
        self.command = shlex.join([survey.python, "-m", survey.runner, *survey.args])
        return survey

    def _undo(self, leftovers: Sequence[EditFile]) -> Steps:
        for item in reversed(leftovers):
            say = f"An earlier run was cut off with an edit in `{item.path}`; I take it back."
            yield PlanStep(say, (EditFile(item.path, item.new, item.old),))

    # the way through a copy

    def _repair(self, survey: Survey) -> Steps:
        missing = self.reader.missing_package(survey.failures)
        if missing is not None:
            why = f"the tests need the package `{missing}`, which {report.interpreter(survey.python)} does not have"
            yield PlanStep(report.cannot_fix(f"{why}; {report.ANOTHER_PYTHON}", 0, (), ()))
            return
        understood = yield from self._understand(survey)
        if isinstance(understood, str) or not understood.failed:
            yield from self._without_copy(understood, introduce=False, leftovers=())
            return
        survey = understood
        self.known = survey.known
        rejected: list[Patch] = []
        why, places, result = "", list[str](), SearchResult()
        for _ in range(MAX_WHOLE):
            result = yield from self._search(survey, rejected)
            if result.trouble is not None:
                yield from self._without_copy(result.trouble, introduce=False, leftovers=())
                return
            weights = localise.by_coverage(survey.coverage, survey.failures, len(survey.failures))
            places = search.places(self._sources(), weights, survey.failures, survey)
            if result.fix is None:
                why = "no edit that I know makes the failing tests pass without breaking others"
                yield PlanStep(report.cannot_fix(why, result.tried, places, result.nearest))
                return
            done = yield from self._put_in_place(result, survey)
            if isinstance(done, TestRun):
                left = causes.still_failing(self.known, result.mended)
                yield PlanStep(report.fixed(result.fix, done, result.tried, result.others, left))
                return
            why = done
            rejected.append(result.fix)
            if not survey.near:
                break
        yield PlanStep(report.cannot_fix(why, result.tried, places, [report.reason(rejected[-1])]))

    def _understand(self, survey: Survey) -> Generator[PlanStep, tuple[Observation, ...], Survey | str]:
        """Says what fails and where it looks, reads that, and makes sure that the tests fail outside of a copy too."""
        goal = survey.part(causes.goals(survey)[0])
        first = goal.failures[0]
        weights = localise.by_coverage(goal.coverage, goal.failures, len(goal.failures))
        order = _most_suspected(weights)
        say = report.failing(survey) + " " + report.looking(weights, order, goal)
        files = [failure.file for failure in survey.failures if failure.file][:2]
        beside = () if first.hangs else (RunTests(first.test.partition("[")[0], self.command),)
        again = not (survey.whole and survey.traced)
        limit_s = CONFIRM_S if first.hangs else 3.0
        more = (self._script(self.limits.survey_s, limit_s=limit_s, first=survey.known),) if again else ()
        came = yield from self.reader.read([*files, *order[:MAX_READS]], say, *beside, *more)
        for item in came[: len(beside)]:
            if isinstance(item, TestRun) and item.status == "passed":
                return "a test that fails in a copy of the project passes in the workspace"
        if more:
            second = self._read_survey(came[-1])
            if isinstance(second, str) or not second.failed:
                return second
            survey = second
            weights = localise.by_coverage(survey.coverage, survey.failures, len(survey.failures))
            order = [path for path in _most_suspected(weights) if path not in self.reader.project.texts]
            yield from self.reader.read(order[:MAX_READS], report.failing(survey) + " I read what else they run.")
        files = [failure.file for failure in survey.failures if failure.file]
        yield from self.reader.read(list(dict.fromkeys(files))[:2], "I read the failing tests.")
        return survey

    def _sources(self) -> dict[str, Source]:
        found = {path: self.reader.project.source(path) for path in self.reader.project.texts}
        return {path: source for path, source in found.items() if source is not None}

    def _search(
        self, survey: Survey, rejected: Sequence[Patch]
    ) -> Generator[PlanStep, tuple[Observation, ...], SearchResult]:
        """One goal after the other; the edits of those reached stay in place for the next."""
        bench = Bench(Interpreter(runner=survey.runner), survey.runner, survey.args)
        goals = causes.goals(survey)
        total = SearchResult()
        left_s = self.limits.search_s
        mended: set[str] = set()
        for number, goal in enumerate(goals):
            part = survey.part([at for at in goal if survey.failures[at].test not in mended])
            if not part.failures or left_s <= 0:
                continue
            last = number == len(goals) - 1
            share_s = min(left_s, LATER_GOALS_S) if total.fix else left_s if last else 0.6 * left_s
            known = causes.still_failing(self.known, tuple(mended))
            trials = Trials(
                bench, self.reader.project, part, self.limits, known=known, search_s=share_s, rejected=rejected
            )
            result = yield from trials.run(total.fix or ())
            left_s -= trials.seconds
            total.tried += result.tried
            total.nearest += result.nearest
            if result.trouble is not None:
                total.trouble = None if total.fix else result.trouble
                break
            if result.fix is not None:
                total.fix, total.others = result.fix, [*total.others, *result.others]
                mended |= {failure.test for failure in part.failures} - set(result.left)
                if not last:
                    mended |= yield from self._also_mended(bench, result.fix, mended)
                total.mended = tuple(mended)
        return total

    def _also_mended(
        self, bench: Bench, fix: Patch, mended: set[str]
    ) -> Generator[PlanStep, tuple[Observation, ...], set[str]]:
        """Tests of other goals that a fix makes pass as well."""
        left = causes.still_failing(self.known, tuple(mended))
        script = scratch.survey_script(
            bench.runner, bench.args, base=fix, only=left, budget_s=self.limits.look_s, limit_s=1.0
        )
        say = f"This holds in the copy: {report.reason(fix)}. I look what else it mends."
        purpose = "runs the other failing tests in a temporary copy with the edit"
        (observed,) = yield PlanStep(say, (RunScript(bench.interpreter, script, purpose),))
        found = scratch.read_survey(observed.text) if isinstance(observed, ScriptOutput) else ""
        return set(found.passing) if isinstance(found, Survey) else set()

    def _put_in_place(
        self, result: SearchResult, survey: Survey
    ) -> Generator[PlanStep, tuple[Observation, ...], TestRun | str]:
        """The last run of the whole suite; a reason where the fix is none. Takes the edits back then."""
        assert result.fix is not None
        fix = result.fix
        done: list[EditFile] = []
        trouble: str | None = None
        for path in dict.fromkeys(edit.path for edit in fix):
            text = self.reader.project.texts[path]
            for edit in edits_between(path, text, patched(text, path, fix)):
                say = "And the rest." if done else f"This holds in the copy: {report.reason(fix)}. I put it in place."
                (observed,) = yield PlanStep(say, (edit,))
                if not isinstance(observed, Edited):
                    trouble = f"the edit was refused ({getattr(observed, 'why', 'no reason given')})"
                    break
                done.append(edit)
        if trouble is None:
            (run,) = yield PlanStep("Now the whole suite.", (RunTests(None, self.command),))
            broken = yield from self._broken(run, result, survey)
            if broken is None:
                assert isinstance(run, TestRun)
                return run
            trouble = broken
        for edit in reversed(done):
            yield PlanStep("I take the edit back.", (EditFile(edit.path, edit.new, edit.old),))
        return trouble

    def _broken(
        self, run: Observation, result: SearchResult, survey: Survey
    ) -> Generator[PlanStep, tuple[Observation, ...], str | None]:
        """Why the whole suite turns a fix down; None where all that fails failed before."""
        if not isinstance(run, TestRun) or run.status not in ("passed", "failed"):
            return "the tests could not be run again"
        if run.status == "passed":
            return None
        failing = [failure.test for failure in read_failures(run.runner, run.output)]
        left = causes.still_failing(self.known, result.mended)
        new = [test for test in failing if test not in left]
        if new and not survey.whole:
            script = scratch.survey_script(survey.runner, survey.args, only=new, budget_s=self.limits.survey_s)
            count = report.number(len(new), "test")
            say = f"{count} fail that I had not run. I look whether they did so before the edit."
            purpose = "runs these tests in a temporary copy without the edit"
            (observed,) = yield PlanStep(say, (RunScript(Interpreter(runner=survey.runner), script, purpose),))
            before = self._read_survey(observed)
            if isinstance(before, Survey):
                self.known = tuple(dict.fromkeys([*self.known, *before.known]))
                new = [test for test in new if test not in before.known]
        if new:
            return f"the whole suite turns down an edit that passes the tests near it: `{new[0]}` fails with it"
        if len(failing) < run.failed > len(left):
            return "more tests fail with the edit than without"
        return None

    # the way without a copy

    def _without_copy(self, why: Survey | str, introduce: bool, leftovers: Sequence[EditFile]) -> Steps:
        first = yield from self._first_run(introduce)
        if first is not None and first.status in ("failed", "error") and leftovers:
            yield from self._undo(leftovers)
            (run,) = yield PlanStep("I run the tests on the files as they were.", (RunTests(command=self.command),))
            first = run if isinstance(run, TestRun) else None
            if first is None:
                yield PlanStep("I cannot fix this: the tests could not be run again. The earlier edits are taken back.")
        if first is None:
            return
        if first.status == "none" or (first.status == "passed" and first.passed == 0):
            yield PlanStep(report.NO_TESTS)
        elif first.status == "passed":
            again = " The edit of the earlier run, which was cut off, holds." if leftovers else ""
            yield PlanStep(f"{report.all_pass(first)}: there is nothing to fix.{again}")
        elif first.runner not in ("pytest", "unittest", ""):
            yield PlanStep(report.cannot_fix(f"the tests are run by {first.runner}, and I mend Python only", 0, (), ()))
        else:
            yield from self._try_in_place(first, why if isinstance(why, str) else "the failing tests pass in a copy")

    def _try_in_place(self, first: TestRun, why: str) -> Steps:
        """One edit at a time in the workspace."""
        failures = self.reader.own_paths(read_failures(first.runner, first.output))
        missing = self.reader.missing_package(failures)
        if missing is not None:
            why = f"the tests need the package `{missing}`, which this interpreter does not have"
            yield PlanStep(report.cannot_fix(f"{why}; {report.ANOTHER_PYTHON}", 0, (), ()))
            return
        say = report.failing(first, failures) + " I read the failing tests and the code in their tracebacks."
        yield from self.reader.read(self.reader.named_files(failures), say)
        names = self.reader.project.called(failures)[:4]
        found = yield from self.reader.usages(names)
        defining = [
            path
            for path, _, text in found.found
            if re.match(r"\s*(async\s+)?(def|class)\s", text) and not is_test_path(path)
        ]
        imported = self.reader.imports(failures)
        wanted = [path for path in dict.fromkeys([*defining, *imported]) if path not in self.reader.project.texts]
        yield from self.reader.read(
            wanted[:MAX_READS],
            f"{why[0].upper()}{why[1:]}, so I try edits in the files themselves, one at a time; what fails is undone.",
        )
        sources = {
            path: source
            for path in self.reader.project.texts
            if not is_test_path(path) and (source := self.reader.project.source(path))
        }
        weights = localise.by_traceback(sources, failures, [*names, *self.reader.project.called(failures)])
        result = yield from in_place.search(
            self.reader.project, self.command, sources, weights, failures, self.limits.tries_in_place
        )
        places = search.places(sources, weights, failures, None)
        if result.fix is None:
            yield PlanStep(
                report.cannot_fix(
                    result.trouble or "no edit that I know makes the tests pass",
                    result.tried,
                    places,
                    result.nearest,
                )
            )
        else:
            run = in_place.last_run(result, first)
            yield PlanStep(report.fixed(result.fix, run, result.tried, result.others, result.left))

    def _first_run(self, introduce: bool) -> Generator[PlanStep, tuple[Observation, ...], TestRun | None]:
        say = (report.INTRODUCTION + "\n\n" if introduce else "") + "First I look at the project and run its tests."
        observed = yield PlanStep(say, (ListFiles(depth=3), RunTests()))
        for item in observed:
            if isinstance(item, Listing):
                self.reader.listed = item.paths
            elif isinstance(item, TestRun):
                self.command = item.command or None
                return item
        why = next((item.why for item in observed[1:] if isinstance(item, Refused)), "no answer")
        yield PlanStep(
            f"I cannot fix this: the tests could not be run ({why}), and tests are my only oracle. Nothing was changed."
        )
        return None


def _most_suspected(weights: dict[str, localise.Weights]) -> list[str]:
    top = max((max(lines.values()) for lines in weights.values()), default=0.0)
    order = sorted(weights, key=lambda path: (-max(weights[path].values()), -len(weights[path]), path))
    return [path for path in order if max(weights[path].values()) >= 0.4 * top]
