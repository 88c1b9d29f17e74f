"""The search itself: single edits, then what is left after a partial fix, then pairs. Yields steps. Pure.

Every trial runs many candidates in one command, each against the failing tests only; survivors face the whole suite.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from agent_core.repair import localise, rank, report, scratch
from agent_core.repair.actions import Interpreter, Observation, RunScript, ScriptOutput, Step, TestRun
from agent_core.repair.failures import Failure
from agent_core.repair.limits import Limits
from agent_core.repair.operators.base import Candidate
from agent_core.repair.project import Project
from agent_core.repair.scratch import Patch, Survey, Verdicts
from agent_core.repair.source import Replacement, Source

Steps = Generator[Step, tuple[Observation, ...], None]

BATCHES = (70, 220, 400, 600)
"""Candidates per command; the last size repeats."""
FIRST_SINGLES = 900
"""Single edits that are tried before pairs are; the less likely ones follow after those."""
PAIRS_FROM = 40
MAX_PAIRS = 600
MAX_TEXT = 60_000
"""Characters of candidates in one command; a shell takes no argument above 128 KiB."""
MAX_STAGES = 3


@dataclass
class Bench:
    """How tests are run in this workspace."""

    interpreter: Interpreter
    runner: str
    args: tuple[str, ...]


@dataclass
class Outcome:
    fix: Patch | None = None
    tried: int = 0
    others: list[Patch] = field(default_factory=list)
    nearest: list[str] = field(default_factory=list)
    run: TestRun | None = None
    """The whole suite with the fix in place, where the search itself put it there."""
    trouble: str | None = None
    """Why trials in a copy are not possible here; then the search has to go on in the workspace itself."""


class Trials:
    """The search in a scratch copy."""

    def __init__(self, bench: Bench, project: Project, survey: Survey, limits: Limits) -> None:
        self.bench, self.project, self.survey, self.limits = bench, project, survey, limits
        self.outcome = Outcome()
        self.seconds = 0.0
        self.promising: list[Candidate] = []
        self.partial: tuple[Patch, int] | None = None

    def run(self) -> Generator[Step, tuple[Observation, ...], Outcome]:
        base: Patch = ()
        whole, rest = self.survey, list[Patch]()
        for _ in range(MAX_STAGES):
            self._forget()
            singles: list[Patch] = [(item,) for item in self._ranked(base)]
            until_s = self.seconds + self.limits.search_s / (MAX_STAGES + 1)
            tried = yield from self._batches(singles[:FIRST_SINGLES], base, "single edits", until_s)
            if self.partial is None:
                yield from self._batches(self._pairs(), base, "pairs of edits", until_s)
            tried += yield from self._batches(singles[FIRST_SINGLES:], base, "single edits", until_s)
            rest = rest if base else singles[tried:]
            if self._over() or self.partial is None:
                break
            added, left = self.partial
            self.outcome.nearest.append(f"{report.reason(added)}, after which {_still_fail(left)}")
            base = (*base, *added)
            yield from self._survey_again(base)
        if base and not self._over():  # what was built upon seems to be no part of the fix
            self._forget()
            self.survey = whole
            yield from self._batches(rest, (), "single edits", self.limits.search_s)
        if self.outcome.fix is not None and len(self.outcome.fix) > 1:
            yield from self._minimise(self.outcome.fix)
        return self.outcome

    def _forget(self) -> None:
        self.promising, self.partial = [], None

    def _over(self) -> bool:
        return self.outcome.fix is not None or self.outcome.trouble is not None or self.seconds >= self.limits.search_s

    def sources(self, base: Patch = ()) -> dict[str, Source]:
        found = {path: self.project.source(path, base) for path in self.project.texts}
        return {path: source for path, source in found.items() if source is not None}

    def weights(self) -> dict[str, localise.Weights]:
        return localise.by_coverage(self.survey.coverage, self.survey.failures, self.survey.failed)

    def _ranked(self, base: Patch) -> list[Candidate]:
        failures = self.survey.failures
        return rank.candidates(self.sources(base), self.weights(), failures, self.project.clues(failures))

    def _pairs(self) -> list[Patch]:
        """Two promising edits together: the same slip made twice first, then the most likely ones."""
        chosen = self.promising[:PAIRS_FROM]
        scored: list[tuple[float, Patch]] = []
        for (first, one), (second, two) in combinations(enumerate(chosen), 2):
            if not _overlap(one, two):
                alike = one.kind == two.kind and one.path == two.path and abs(one.line - two.line) <= 12
                scored.append((first + second - (PAIRS_FROM if alike else 0), (one, two)))
        scored.sort(key=lambda pair: pair[0])
        return [pair for _, pair in scored[:MAX_PAIRS]]

    def _batches(
        self, patches: Sequence[Patch], base: Patch, what: str, until_s: float
    ) -> Generator[Step, tuple[Observation, ...], int]:
        """Tries patches in order; returns how many. Past `until_s` seconds of search it leaves off if something else is
        left to do: build on a partial fix, or go back to before one."""
        at, size = 0, 0
        while at < len(patches) and not self._over():
            if self.seconds > until_s and (self.partial is not None or base):
                break
            batch = _that_fit(patches[at : at + BATCHES[min(size, len(BATCHES) - 1)]])
            count = report.number(len(batch), "candidate")
            text = f"I try {count} ({what}) in a scratch copy against the failing tests, the most likely first."
            verdicts = yield from self._trial(text, batch, base, survivors=3)
            if isinstance(verdicts, str):
                self.outcome.trouble = verdicts
                break
            if verdicts.baseline[0] == verdicts.baseline[1]:
                self.outcome.trouble = "the failing tests pass in a copy of the project"
                break
            self._take(batch, base, verdicts)
            if verdicts.tried == 0:
                break
            at, size = at + verdicts.tried, size + 1
        return at

    def _trial(
        self, text: str, batch: Sequence[Patch], base: Patch, *, survivors: int, all_suites: bool = False
    ) -> Generator[Step, tuple[Observation, ...], Verdicts | str]:
        survey = self.survey
        tests = [failure.test for failure in survey.failures]
        files = sorted({test.partition("::")[0] for test in tests})
        sources = self.sources(base)
        imported = {item.path: item.at_import for item in survey.coverage}
        cold = [
            at for at, patch in enumerate(batch)
            if any(rank.is_cold(sources[edit.path], edit, imported.get(edit.path, frozenset())) for edit in patch)
        ]  # fmt: skip
        script = scratch.trial_script(
            self.bench.runner, self.bench.args, tests=tests,
            test_args=files if self.bench.runner == "pytest" else self.bench.args,
            known=tests, sources={path: source.text for path, source in sources.items()},
            base=base, patches=batch, cold=cold,
            limit_s=self._limit_s(), suite_limit_s=round(2 + 4 * survey.slowest_s, 3),
            budget_s=min(self.limits.trial_s, max(self.limits.search_s - self.seconds, 3.0)),
            survivors=survivors, all_suites=all_suites,
        )  # fmt: skip
        purpose = f"tries {report.number(len(batch), 'edit')} in a temporary copy; the project itself stays as it is"
        (observed,) = yield Step(text, (RunScript(self.bench.interpreter, script, purpose),))
        if not isinstance(observed, ScriptOutput):
            return getattr(observed, "why", "the command could not be run")
        verdicts = scratch.read_trial(observed.text)
        if isinstance(verdicts, Verdicts):
            self.seconds += verdicts.seconds
            self.outcome.tried += verdicts.tried
        return verdicts

    def _limit_s(self) -> float:
        """Processor time per test: ample against what tests take here, short against endless loops."""
        own = max((failure.seconds for failure in self.survey.failures if not failure.hangs), default=0.0)
        return round(0.1 + min(10 * self.survey.usual_s + 5 * own, 10.0), 3)

    def _take(self, batch: Sequence[Patch], base: Patch, verdicts: Verdicts) -> None:
        whole = [at for at, broke in sorted(verdicts.suites.items()) if broke == ()]
        passing = [at for at in whole if at in verdicts.members("pass")]
        if passing:
            fixes = [rebased(base, batch[at]) for at in passing]
            usable = [fix for fix in fixes if fix is not None]
            if usable:
                self.outcome.fix = usable[0]
            rest = [at for at in verdicts.members("pass") if at not in passing and at not in verdicts.suites]
            self.outcome.others = [*usable[1:], *(batch[at] for at in rest)]
            return
        for at, broke in verdicts.suites.items():
            if broke and at in verdicts.members("pass"):
                self.outcome.nearest.append(f"{report.reason(batch[at])}, which breaks `{broke[0]}`")
        half = [at for at in whole if verdicts.gained.get(at, 0) > 0]
        if half and len(batch[half[0]]) == 1:
            best = max(half, key=lambda at: (verdicts.gained[at], -at))
            left = self.survey.failed - verdicts.gained[best]
            if self.partial is None or left < self.partial[1]:
                self.partial = (batch[best], left)
        for word in ("partial", "changed"):
            self.promising += [batch[at][0] for at in verdicts.members(word) if len(batch[at]) == 1]

    def _survey_again(self, base: Patch) -> Steps:
        """Looks anew once part of the failing tests pass."""
        script = scratch.survey_script(self.bench.runner, self.bench.args, base=base)
        text = f"With this, some of the failing tests pass: {report.reason(base)}. I look again at the others."
        (observed,) = yield Step(
            text,
            (
                RunScript(
                    self.bench.interpreter, script, "measures which lines the failing tests run, in a temporary copy"
                ),
            ),
        )
        survey = (
            scratch.read_survey(observed.text) if isinstance(observed, ScriptOutput) else "the command could not be run"
        )
        if isinstance(survey, str) or not survey.failures:
            self.outcome.trouble = (
                survey if isinstance(survey, str) else "the failing tests pass in a copy of the project"
            )
            return
        self.survey = survey

    def _minimise(self, fix: Patch) -> Steps:
        """Leaves out what the fix does not need."""
        smaller = [subset for size in range(1, len(fix)) for subset in combinations(fix, size)]
        text = f"{report.number(len(fix), 'edit')} together pass all tests. I check whether fewer are enough."
        verdicts = yield from self._trial(text, smaller, (), survivors=1)
        if isinstance(verdicts, Verdicts):
            enough = [at for at, broke in verdicts.suites.items() if broke == () and at in verdicts.members("pass")]
            if enough:
                self.outcome.fix = smaller[min(enough)]


def _still_fail(count: int) -> str:
    return "1 test still fails" if count == 1 else f"{count} tests still fail"


def _that_fit(patches: Sequence[Patch]) -> Sequence[Patch]:
    """The first ones whose text does not exceed `MAX_TEXT`; at least one."""
    total = 0
    for at, patch in enumerate(patches):
        total += sum(len(item.text) + 24 for edit in patch for item in edit.replacements)
        if total > MAX_TEXT and at:
            return patches[:at]
    return patches


def _overlap(first: Candidate, second: Candidate) -> bool:
    if first.path != second.path:
        return False
    return any(a.start <= b.end and b.start <= a.end for a in first.replacements for b in second.replacements)


def rebased(base: Patch, patch: Patch) -> Patch | None:
    """`base` and then `patch` as one patch of the original text; None where they touch each other."""
    moved: list[Candidate] = []
    for edit in patch:
        items: list[Replacement] = []
        for item in edit.replacements:
            start, end = item.start, item.end
            for done in sorted(
                (each for other in base if other.path == edit.path for each in other.replacements),
                key=lambda each: each.start,
            ):
                # what precedes `done` is out of `start` already, so `done` reaches from its own start to its new end
                if start >= done.start + len(done.text):
                    change = len(done.text) - (done.end - done.start)
                    start, end = start - change, end - change
                elif end > done.start:
                    return None
            items.append(Replacement(start, end, item.text))
        moved.append(replace(edit, replacements=tuple(items)))
    return (*base, *moved)


def places(
    sources: Mapping[str, Source],
    weights: Mapping[str, localise.Weights],
    failures: Sequence[Failure],
    survey: Survey | None,
) -> list[str]:
    """The most suspected functions in words."""
    counts = {item.path: item.lines for item in survey.coverage} if survey else {}
    found: list[str] = []
    for region, lines in rank.suspects(sources, weights, failures):
        if region.is_module:
            continue
        seen = [counts.get(region.source.path, {}).get(line, (0, 0)) for line in lines]
        bad, good = max((pair[0] for pair in seen), default=0), max((pair[1] for pair in seen), default=0)
        if survey:
            found.append(report.suspicion(region.source.path, region.qualname, region.first, region.last, bad, good))
        else:
            found.append(f"`{region.source.path}` lines {region.first}-{region.last} (`{region.qualname}`)")
    return found
