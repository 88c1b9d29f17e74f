"""The search without commands: edit the file, run the tests, take it back, one call at a time. Yields steps. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from pathlib import PurePosixPath

from agent_core.repair import rank, report
from agent_core.repair.actions import Edited, Observation, PlanStep, RunTests, TestRun
from agent_core.repair.failures import Failure, read_failures
from agent_core.repair.localise import Weights
from agent_core.repair.operators.base import Candidate
from agent_core.repair.project import Project, edits_between, patched
from agent_core.repair.search import SearchResult
from agent_core.repair.source import Source


def search(
    project: Project,
    command: str | None,
    sources: Mapping[str, Source],
    weights: Mapping[str, Weights],
    failures: Sequence[Failure],
    most: int,
) -> Generator[PlanStep, tuple[Observation, ...], SearchResult]:
    """Leaves the fix in place, or the files as they were. `most` tries, each two calls and a run of the tests.

    The goal is the file in which most tests fail, of those that name a file that is edited; tests elsewhere may fail on
    as they did before.
    """
    outcome = SearchResult()
    placed: Candidate | None = None
    target = _goal(project, sources, failures)
    for candidate in rank.candidates(sources, weights, failures, project.clues(failures)):
        if outcome.tried >= most:
            outcome.trouble = f"none of the {most} most likely edits makes the tests pass, and I stop there"
            break
        if not _parses(project, candidate):
            continue
        refusal = yield from _move(project, placed, candidate)
        if refusal is not None:
            outcome.trouble = refusal
            return outcome
        placed = candidate
        outcome.tried += 1
        (run,) = yield PlanStep("", (RunTests(target, command),))
        if isinstance(run, TestRun) and run.status == "passed" and target is not None:
            (run,) = yield PlanStep("The tests that failed pass. Now the whole suite.", (RunTests(None, command),))
        left = _left(run, failures, target) if isinstance(run, TestRun) else None
        if isinstance(run, TestRun) and left is not None:
            outcome.fix, outcome.run, outcome.left = (candidate,), run, left
            return outcome
        if not isinstance(run, TestRun):
            outcome.trouble = "the tests could not be run again"
            break
    trouble = yield from _move(project, placed, None)
    outcome.trouble = trouble or outcome.trouble
    return outcome


def _goal(project: Project, sources: Mapping[str, Source], failures: Sequence[Failure]) -> str | None:
    names = {PurePosixPath(path).stem for path in sources} - {"__init__"}
    count = Counter(failure.file for failure in failures if failure.file)

    def likely(path: str) -> tuple[bool, int]:
        return any(name in project.texts.get(path, "") for name in names), count[path]

    return max(count, default=None, key=likely)


def _left(run: TestRun, before: Sequence[Failure], target: str | None) -> tuple[str, ...] | None:
    """The tests that fail as they did before, outside of the goal; None where the run shows that more is wrong."""
    if run.status == "passed":
        return ()
    found = read_failures(run.runner, run.output)
    known = {failure.test for failure in before if failure.file != target}
    if target is None or run.status != "failed" or len(found) != run.failed:
        return None
    return tuple(failure.test for failure in found) if all(failure.test in known for failure in found) else None


def _parses(project: Project, candidate: Candidate) -> bool:
    return project.source(candidate.path, (candidate,)) is not None


def _move(
    project: Project, old: Candidate | None, new: Candidate | None
) -> Generator[PlanStep, tuple[Observation, ...], str | None]:
    """From one edit in place to another, in one call where both are in one file. The reason where a tool refused."""
    paths = dict.fromkeys(edit.path for edit in (old, new) if edit is not None)
    for path in paths:
        text = project.texts[path]
        before = patched(text, path, (old,) if old else ())
        after = patched(text, path, (new,) if new else ())
        for edit in edits_between(path, before, after):
            say = (
                f"I try: {report.reason((new,))}." if new is not None and path == new.path else "I take the edit back."
            )
            (observed,) = yield PlanStep(say, (edit,))
            if not isinstance(observed, Edited):
                return f"an edit was refused ({getattr(observed, 'why', 'no reason given')})"
    return None


def last_run(outcome: SearchResult, first: TestRun) -> TestRun:
    return outcome.run or first
