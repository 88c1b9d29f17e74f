"""The way of work, as a generator: it yields steps and is sent what came of them. Deterministic."""

from __future__ import annotations

import re
import shlex
from collections.abc import Generator, Sequence

from agent_core.repair import in_place, localise, report, scratch, search
from agent_core.repair.actions import (
    Edited,
    EditFile,
    FileText,
    Hits,
    Interpreter,
    ListFiles,
    Listing,
    Observation,
    ReadFile,
    Refused,
    RunScript,
    RunTests,
    ScriptOutput,
    Search,
    Step,
    TestRun,
)
from agent_core.repair.failures import Failure, is_test_path, read_failures
from agent_core.repair.limits import Limits
from agent_core.repair.project import Project, edits_between, patched
from agent_core.repair.scratch import Patch, Survey
from agent_core.repair.search import Bench, Outcome, Steps, Trials
from agent_core.repair.tools_adapter import Toolset

DEFAULTS = Limits()
MAX_READS = 4
"""Files read side by side in one step."""
_SHOWN_ONLY = re.compile(
    r"^(-[qvxsl]+|-r\w*|--tb=.*|--maxfail=.*|--color=.*|--quiet|--verbose|--exitfirst|--failfast|-b|--buffer|-f|--no-header)$"
)


def plan(
    task: str, tools: Toolset, *, introduce: bool, leftovers: Sequence[EditFile] = (), limits: Limits = DEFAULTS
) -> Steps:
    """Mends what the failing tests show. `leftovers` are edits of an earlier run that was cut off before its end."""
    if not tools.can_work:
        yield Step(report.NO_TOOLS)
        return
    yield from Repair(task, tools, limits).run(introduce, leftovers)


class Repair:
    def __init__(self, task: str, tools: Toolset, limits: Limits) -> None:
        self.task, self.tools, self.limits = task, tools, limits
        self.project = Project()
        self.listed: tuple[str, ...] = ()
        self.command: str | None = None

    def run(self, introduce: bool, leftovers: Sequence[EditFile]) -> Steps:
        first = yield from self._first_run(introduce)
        if first is not None and first.status in ("failed", "error") and leftovers:
            first = yield from self._undo_leftovers(leftovers)
        if first is None:
            return
        if first.status == "none" or (first.status == "passed" and first.passed == 0):
            yield Step(report.NO_TESTS)
        elif first.status == "passed":
            again = " The edit of the earlier run, which was cut off, holds." if leftovers else ""
            yield Step(f"{report.all_pass(first)}: there is nothing to fix.{again}")
        elif first.runner not in ("pytest", "unittest", ""):
            yield Step(report.cannot_fix(f"the tests are run by {first.runner}, and I mend Python only", 0, (), ()))
        else:
            yield from self._repair(first)

    def _first_run(self, introduce: bool) -> Generator[Step, tuple[Observation, ...], TestRun | None]:
        say = (report.INTRODUCTION + "\n\n" if introduce else "") + "First I look at the project and run its tests."
        observed = yield Step(say, (ListFiles(depth=3), RunTests()))
        for item in observed:
            if isinstance(item, Listing):
                self.listed = item.paths
            elif isinstance(item, TestRun):
                self.command = item.command or None
                return item
        why = next((item.why for item in observed[1:] if isinstance(item, Refused)), "no answer")
        yield Step(
            f"I cannot fix this: the tests could not be run ({why}), and tests are my only judge. Nothing was changed."
        )
        return None

    def _undo_leftovers(
        self, leftovers: Sequence[EditFile]
    ) -> Generator[Step, tuple[Observation, ...], TestRun | None]:
        for item in reversed(leftovers):
            yield Step(
                f"An earlier run was cut off with an edit in `{item.path}`; I take it back.",
                (EditFile(item.path, item.new, item.old),),
            )
        (run,) = yield Step("I run the tests on the files as they were.", (RunTests(command=self.command),))
        if isinstance(run, TestRun):
            return run
        yield Step("I cannot fix this: the tests could not be run again. The edits of the earlier run are taken back.")
        return None

    def _repair(self, first: TestRun) -> Steps:
        failures = self._own_paths(read_failures(first.runner, first.output))
        yield from self._read(
            self._named_files(failures),
            report.failing(first, failures) + " I read the failing tests and the code in their tracebacks.",
        )
        names = self.project.called(failures)[:4]
        found = yield from self._usages(names)
        survey = yield from self._survey(first)
        missing = self._missing_package(survey.failures if isinstance(survey, Survey) else failures)
        if missing is not None:
            why = f"the tests need the package `{missing}`, which this interpreter does not have"
            yield Step(report.cannot_fix(why, 0, (), ()))
            return
        if isinstance(survey, Survey):
            failures = survey.failures
            weights = localise.by_coverage(survey.coverage, failures, survey.failed)
            top = max((max(lines.values()) for lines in weights.values()), default=0.0)
            order = sorted(weights, key=lambda path: (-max(weights[path].values()), -len(weights[path]), path))
            order = [path for path in order if max(weights[path].values()) >= 0.4 * top]
            yield from self._read(
                [path for path in order if path not in self.project.texts][:MAX_READS],
                "These files hold the lines that the failing tests run most. I read those I have not seen.",
            )
            yield from self._read(
                [failure.file for failure in failures if failure.file and failure.file not in self.project.texts][:2],
                "I read the failing tests.",
            )
            trials = Trials(self._bench(first), self.project, survey, self.limits)
            outcome = yield from trials.run()
            places = search.places(trials.sources(), weights, failures, survey)
            if outcome.trouble is None:
                yield from self._finish(first, failures, outcome, places)
                return
            survey = outcome.trouble
        yield from self._in_place(first, failures, names, found, survey)

    def _in_place(
        self, first: TestRun, failures: Sequence[Failure], names: Sequence[str], found: Hits, why: str
    ) -> Steps:
        """The way without trials in a copy: one edit at a time in the workspace."""
        defining = [
            path
            for path, _, text in found.found
            if re.match(r"\s*(async\s+)?(def|class)\s", text) and not is_test_path(path)
        ]
        imported = self._imports(failures)
        wanted = [path for path in dict.fromkeys([*defining, *imported]) if path not in self.project.texts]
        yield from self._read(
            wanted[:MAX_READS],
            f"{why[0].upper()}{why[1:]}, so I try edits in the files themselves, one at a time; what fails is undone.",
        )
        sources = {
            path: source
            for path in self.project.texts
            if not is_test_path(path) and (source := self.project.source(path))
        }
        weights = localise.by_traceback(sources, failures, [*names, *self.project.called(failures)])
        outcome = yield from in_place.search(
            self.project, self.command, sources, weights, failures, self.limits.tries_in_place
        )
        places = search.places(sources, weights, failures, None)
        if outcome.fix is None:
            yield Step(
                report.cannot_fix(
                    outcome.trouble or "no edit that I know makes the tests pass",
                    outcome.tried,
                    places,
                    outcome.nearest,
                )
            )
        else:
            yield Step(report.fixed(outcome.fix, in_place.last_run(outcome, first), outcome.tried, outcome.others))

    def _finish(self, first: TestRun, failures: Sequence[Failure], outcome: Outcome, places: Sequence[str]) -> Steps:
        if outcome.fix is None:
            why = "no edit that I know makes the failing tests pass without breaking others"
            yield Step(report.cannot_fix(why, outcome.tried, places, outcome.nearest))
            return
        run = yield from self._put_in_place(outcome.fix)
        if isinstance(run, TestRun) and run.status == "passed":
            yield Step(report.fixed(outcome.fix, run, outcome.tried, outcome.others))
            return
        why = run if isinstance(run, str) else "an edit passes in a copy of the project, but not in the workspace"
        yield Step(report.cannot_fix(why, outcome.tried, places, [report.reason(outcome.fix)]))

    def _put_in_place(self, fix: Patch) -> Generator[Step, tuple[Observation, ...], TestRun | str]:
        """The last run of the whole suite; a reason where the edit was refused. Takes the edit back unless all pass."""
        done: list[EditFile] = []
        trouble: str | None = None
        for path in dict.fromkeys(edit.path for edit in fix):
            text = self.project.texts[path]
            for edit in edits_between(path, text, patched(text, path, fix)):
                say = (
                    f"This passes all tests in the copy: {report.reason(fix)}. I put it in place."
                    if not done
                    else "And the rest of it."
                )
                (observed,) = yield Step(say, (edit,))
                if not isinstance(observed, Edited):
                    trouble = f"the edit was refused ({getattr(observed, 'why', 'no reason given')})"
                    break
                done.append(edit)
        run: Observation | None = None
        if trouble is None:
            (run,) = yield Step("Now the whole suite.", (RunTests(None, self.command),))
        if isinstance(run, TestRun) and run.status == "passed":
            return run
        for edit in reversed(done):
            yield Step("I take the edit back.", (EditFile(edit.path, edit.new, edit.old),))
        return trouble or (run if isinstance(run, TestRun) else "the tests could not be run again")

    def _read(self, paths: Sequence[str], say: str) -> Steps:
        """Reads whole files side by side, in pieces where the tool gives no more at once."""
        left = [ReadFile(path) for path in dict.fromkeys(paths)]
        while left:
            observed = yield Step(say, tuple(left))
            say = "I read on."
            following = [(item.path, self.project.add(item)) for item in observed if isinstance(item, FileText)]
            left = [ReadFile(path, line) for path, line in following if line is not None and line < 4000]

    def _named_files(self, failures: Sequence[Failure]) -> list[str]:
        tests = dict.fromkeys(failure.file for failure in failures if failure.file)
        own = dict.fromkeys(
            path for failure in failures for path, _, _ in reversed(failure.frames) if not is_test_path(path)
        )
        return [*list(tests)[:2], *list(own)[:2]]

    def _usages(self, names: Sequence[str]) -> Generator[Step, tuple[Observation, ...], Hits]:
        if not names:
            return Hits(())
        pattern = rf"\b({'|'.join(map(re.escape, names))})\b"
        (observed,) = yield Step(
            f"I look where {', '.join(f'`{name}`' for name in names)} are defined and used.", (Search(pattern),)
        )
        return observed if isinstance(observed, Hits) else Hits(())

    def _survey(self, first: TestRun) -> Generator[Step, tuple[Observation, ...], Survey | str]:
        if not self.tools.can_command:
            return "no tool here runs commands"
        bench = self._bench(first)
        script = scratch.survey_script(bench.runner, bench.args)
        purpose = "measures which lines the failing and the passing tests run, in a temporary copy of the project"
        (observed,) = yield Step(
            "I measure which lines the failing tests run and the passing ones do not.",
            (RunScript(bench.interpreter, script, purpose),),
        )
        if not isinstance(observed, ScriptOutput):
            return getattr(observed, "why", "the command could not be run")
        survey = scratch.read_survey(observed.text)
        if isinstance(survey, str):
            return f"a copy of the project can't be used ({survey})"
        if survey.outside:
            return f"a copy of the project still loads {survey.outside[0]} from the workspace"
        if first.passed is not None and survey.passed < first.passed:
            return f"in a copy of the project {first.passed - survey.passed} more tests fail than in the workspace"
        return survey if survey.failures else "the failing tests pass in a copy of the project"

    def _bench(self, run: TestRun) -> Bench:
        words = shlex.split(run.command)
        runner = run.runner if run.runner in ("pytest", "unittest") else "unittest" if "unittest" in words else "pytest"
        interpreter = words[: words.index("-m")] if "-m" in words else []
        rest = words[words.index(runner) + 1 :] if runner in words else []
        args = [word for word in rest if not _SHOWN_ONLY.match(word)]
        return Bench(Interpreter(shlex.join(interpreter), runner), runner, tuple(_without_plugins(args)))

    def _own_paths(self, failures: Sequence[Failure]) -> tuple[Failure, ...]:
        """Frames outside of the project are left out; absolute paths become relative to it."""
        known = {path for path in self.listed if path.endswith(".py")}

        def own(path: str) -> str | None:
            if not path.startswith("/"):
                return path if not path.startswith("<") else None
            parts = path.split("/")
            return next((tail for at in range(1, len(parts)) if (tail := "/".join(parts[at:])) in known), None)

        return tuple(
            Failure(
                item.test,
                item.error,
                item.message,
                tuple((place, line, name) for path, line, name in item.frames if (place := own(path))),
            )
            for item in failures
        )

    def _missing_package(self, failures: Sequence[Failure]) -> str | None:
        """The package that all failures miss, if it is none of the project's own."""
        found = [re.search(r"No module named '(\w+)", failure.message) for failure in failures]
        names = {match[1] for match in found if match}
        own = {part.removesuffix(".py") for path in self.listed for part in path.rstrip("/").split("/")}
        return names.pop() if len(names) == 1 and all(found) and not names & own else None

    def _imports(self, failures: Sequence[Failure]) -> list[str]:
        """Files of the project that the failing tests' files import, by what the listing shows."""
        found: dict[str, None] = {}
        for failure in failures:
            source = self.project.source(failure.file or "")
            text = source.text if source else ""
            for module in re.findall(r"^\s*(?:from|import)\s+([\w.]+)", text, re.MULTILINE):
                tail = module.replace(".", "/")
                for path in self.listed:
                    if path.removesuffix(".py").removeprefix("src/") in (tail, f"{tail}/__init__") and not is_test_path(
                        path
                    ):
                        found[path] = None
        return list(found)


def _without_plugins(words: Sequence[str]) -> list[str]:
    """Drops `-p no:…` pairs, which the scripts set themselves."""
    kept: list[str] = []
    skip = False
    for word in words:
        if skip or word == "-p":
            skip = word == "-p" and not skip
            continue
        kept.append(word)
    return kept
