"""The search itself: single edits, then what is left after a partial fix, then pairs. Yields steps. Pure.

Every trial runs many candidates in one command, each against the failing tests only; survivors face the whole suite.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from agent_core.repair import localise, rank, report, scratch
from agent_core.repair.actions import Interpreter, Observation, PlanStep, RunScript, ScriptOutput, TestRun
from agent_core.repair.failures import Failure
from agent_core.repair.limits import SearchLimits
from agent_core.repair.operators.base import Candidate
from agent_core.repair.project import Project
from agent_core.repair.scratch import Patch, Survey, Verdicts
from agent_core.repair.source import Replacement, Source

Steps = Generator[PlanStep, tuple[Observation, ...], None]

BATCHES = (70, 220, 400, 600)
"""Candidates per command; the last size repeats."""
FIRST_SINGLES = 900
"""Single edits that are tried before pairs are; the less likely ones follow after those."""
PAIRS_FROM = 40
MAX_PAIRS = 600
MAX_TEXT = 60_000
"""Characters of candidates in one command; a shell takes no argument above 128 KiB."""
MAX_STAGES = 3
MAX_TESTS, MAX_HANGING = 8, 2
"""Failing tests that every edit is tried against; of those that hang, each costs its whole limit."""
LEAST_S, LEAST_HANGING_S = 0.1, 0.3
"""Processor time that a test gets at least, in seconds. What one that hangs would take, nobody knows."""
LEAST_PATIENCE_S = 1.5
"""What a test may sleep at a stretch, at least."""


@dataclass
class Bench:
    """How tests are run in this workspace."""

    interpreter: Interpreter
    runner: str
    args: tuple[str, ...]


@dataclass
class SearchResult:
    fix: Patch | None = None
    left: tuple[str, ...] = ()
    """Tests of the goal that fail with the fix as they did without it."""
    tried: int = 0
    mended: tuple[str, ...] = ()
    """Those that pass with it."""
    others: list[Patch] = field(default_factory=list)
    nearest: list[str] = field(default_factory=list)
    run: TestRun | None = None
    """The whole suite with the fix in place, where the search itself put it there."""
    trouble: str | None = None
    """Why trials in a copy are not possible here; then the search has to go on in the workspace itself."""


@dataclass(frozen=True)
class Partial:
    """An edit that makes some of the failing tests pass and breaks none. `sound`: those left fail as before, so that
    another cause explains them, and they are not the most."""

    patch: Patch
    left: int
    sound: bool


class Trials:
    """The search for one goal in a scratch copy: `survey` tells of its tests alone."""

    def __init__(
        self,
        bench: Bench,
        project: Project,
        survey: Survey,
        limits: SearchLimits,
        *,
        known: Sequence[str],
        search_s: float,
        rejected: Sequence[Patch] = (),
    ) -> None:
        """`known`: all tests that fail anyway; `search_s`: seconds of trials; `rejected`: fixes that turned out to be
        none."""
        self.bench, self.project, self.survey, self.limits = bench, project, survey, limits
        self.known = self.all_known = tuple(known)
        self.search_s, self.rejected = search_s, frozenset(rejected)
        self.result = SearchResult()
        self.seconds = 0.0
        self.promising: list[Candidate] = []
        self.partial: Partial | None = None

    def run(self, base: Patch = ()) -> Generator[PlanStep, tuple[Observation, ...], SearchResult]:
        """Looks for edits on top of `base`, which mends other goals and stays part of the fix."""
        given, whole, rest = base, self.survey, list[Patch]()
        kept: tuple[Patch, tuple[str, ...]] | None = None
        for _ in range(MAX_STAGES):
            self._forget()
            singles: list[Patch] = [(item,) for item in self._ranked(base)]
            until_s = self.seconds + self.search_s / (MAX_STAGES + 1)
            tried = yield from self._batches(singles[:FIRST_SINGLES], base, "single edits", until_s)
            if self.partial is None:
                yield from self._batches(self._pairs(), base, "pairs of edits", until_s)
            tried += yield from self._batches(singles[FIRST_SINGLES:], base, "single edits", until_s)
            rest = rest if base != given else singles[tried:]
            if self._over() or self.partial is None:
                break
            grown = rebased(base, self.partial.patch)
            if grown is None:
                break
            left = _still_fail(self.partial.left)
            self.result.nearest.append(f"{report.reason(self.partial.patch)}, after which {left}")
            sound, base = self.partial.sound, grown
            yield from self._survey_again(base)
            if sound and self.result.trouble is None:
                kept = base, tuple(failure.test for failure in self.survey.failures)
        if base != given and not self._over():  # what was built upon may be no part of the fix
            self._forget()
            self.survey, self.known = whole, self.all_known
            yield from self._batches(rest, given, "single edits", self.search_s)
        if self.result.fix is None and kept is not None:
            self.result.fix, self.result.left = kept
        elif self.result.fix is not None and len(self.result.fix) > len(given) + 1:
            self.survey, self.known = whole, self.all_known
            yield from self._one_instead(given, rest, self.result.fix)
        return self.result

    def _one_instead(self, given: Patch, singles: Sequence[Patch], fix: Patch) -> Steps:
        """Several edits can be made to pass almost any test. Where one edit does, that one is meant, though it be less
        likely than the first of the several."""
        self._forget()
        self.result.fix = None
        until_s = self.seconds + self.search_s / (MAX_STAGES + 1)
        yield from self._batches(singles[:FIRST_SINGLES], given, "single edits", until_s, build=False)
        if self.result.fix is None:
            self.result.fix, self.result.trouble = fix, None
            yield from self._minimise(given, fix)

    def _forget(self) -> None:
        self.promising, self.partial = [], None

    def _over(self) -> bool:
        return self.result.fix is not None or self.result.trouble is not None or self.seconds >= self.search_s

    def sources(self, base: Patch = ()) -> dict[str, Source]:
        found = {path: self.project.source(path, base) for path in self.project.texts}
        return {path: source for path, source in found.items() if source is not None}

    def weights(self) -> dict[str, localise.Weights]:
        return localise.by_coverage(self.survey.coverage, self.survey.failures, self.survey.failed)

    def _ranked(self, base: Patch) -> list[Candidate]:
        failures = self.survey.failures
        return rank.candidates(self.sources(base), self.weights(), failures, self.project.clues(failures))

    def _pairs(self) -> list[Patch]:
        """Two promising edits together: the same fault made twice first, then the most likely ones."""
        chosen = self.promising[:PAIRS_FROM]
        scored: list[tuple[float, Patch]] = []
        for (first, one), (second, two) in combinations(enumerate(chosen), 2):
            if not _overlap(one, two):
                alike = one.kind == two.kind and one.path == two.path and abs(one.line - two.line) <= 12
                scored.append((first + second - (PAIRS_FROM if alike else 0), (one, two)))
        scored.sort(key=lambda pair: pair[0])
        return [pair for _, pair in scored[:MAX_PAIRS]]

    def _batches(
        self, patches: Sequence[Patch], base: Patch, what: str, until_s: float, *, build: bool = True
    ) -> Generator[PlanStep, tuple[Observation, ...], int]:
        """Tries patches in order; returns how many. Past `until_s` seconds of search it leaves off if something else is
        left to do: build on a partial fix, or go back to before one. Without `build` it leaves off then."""
        at, size = 0, 0
        while at < len(patches) and not self._over():
            if build and self.partial is not None and (self.partial.sound or self.seconds > until_s):
                break
            if self.seconds > until_s and (base or not build):
                break
            batch = _that_fit(patches[at : at + BATCHES[min(size, len(BATCHES) - 1)]])
            count = report.number(len(batch), "candidate")
            text = f"I try {count} ({what}) in a scratch copy against the failing tests, the most likely first."
            verdicts = yield from self._trial(text, batch, base, survivors=1 if self._hangs() else 3)
            if isinstance(verdicts, str):
                self.result.trouble = verdicts
                break
            if verdicts.baseline[0] == verdicts.baseline[1]:
                self.result.trouble = "the failing tests pass in a copy of the project"
                break
            self._take(batch, base, verdicts)
            if verdicts.tried == 0:
                break
            at, size = at + verdicts.tried, size + 1
        return at

    def _trial(
        self, text: str, batch: Sequence[Patch], base: Patch, *, survivors: int, all_suites: bool = False
    ) -> Generator[PlanStep, tuple[Observation, ...], Verdicts | str]:
        survey = self.survey
        tests = self._tests()
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
            known=self.known, sources={path: source.text for path, source in sources.items()},
            base=base, patches=batch, cold=cold,
            limit_s=self._limit_s(), suite_limit_s=round(2 + 4 * survey.slowest_s, 3),
            patience_s=self._patience_s(), near=survey.near, paths=survey.paths,
            budget_s=min(self.limits.trial_s, max(self.search_s - self.seconds, 3.0)),
            survivors=survivors, all_suites=all_suites,
        )  # fmt: skip
        purpose = f"tries {report.number(len(batch), 'edit')} in a temporary copy; the project itself stays as it is"
        (observed,) = yield PlanStep(text, (RunScript(self.bench.interpreter, script, purpose),))
        if not isinstance(observed, ScriptOutput):
            return getattr(observed, "why", "the command could not be run")
        verdicts = scratch.read_trial(observed.text)
        if isinstance(verdicts, Verdicts):
            self.seconds += verdicts.seconds
            self.result.tried += verdicts.tried
        return verdicts

    def _tests(self) -> list[str]:
        """Those that every edit is tried against: the quick ones, and few of those that hang."""
        hanging = [failure.test for failure in self.survey.failures if failure.hangs][:MAX_HANGING]
        ending = sorted((item for item in self.survey.failures if not item.hangs), key=lambda item: item.seconds)
        return [*(failure.test for failure in ending[: MAX_TESTS - len(hanging)]), *hanging]

    def _hangs(self) -> bool:
        return any(failure.hangs for failure in self.survey.failures)

    def _slowest_s(self) -> float:
        return max((failure.seconds for failure in self.survey.failures if not failure.hangs), default=0.0)

    def _limit_s(self) -> float:
        """Processor time per test: ample against what tests take here, short against endless loops."""
        least_s = LEAST_HANGING_S if self._hangs() else LEAST_S
        return round(least_s + min(10 * self.survey.usual_s + 5 * self._slowest_s(), 10.0), 3)

    def _patience_s(self) -> float:
        return round(max(LEAST_PATIENCE_S, 3 * self._slowest_s()), 3)

    def _take(self, batch: Sequence[Patch], base: Patch, verdicts: Verdicts) -> None:
        whole = [at for at, broke in sorted(verdicts.suites.items()) if broke == ()]
        passing = [at for at in whole if at in verdicts.members("pass")]
        if passing:
            fixes = [rebased(base, batch[at]) for at in passing]
            usable = [fix for fix in fixes if fix is not None and fix not in self.rejected]
            if usable:
                self.result.fix = usable[0]
            rest = [at for at in verdicts.members("pass") if at not in passing and at not in verdicts.suites]
            self.result.others = [*usable[1:], *(batch[at] for at in rest)]
            return
        for at, broke in verdicts.suites.items():
            if broke and at in verdicts.members("pass"):
                self.result.nearest.append(f"{report.reason(batch[at])}, which breaks `{broke[0]}`")
        half = [at for at in whole if verdicts.gained.get(at, 0) > 0]
        if half and len(batch[half[0]]) == 1:
            best = max(half, key=lambda at: (verdicts.gained[at], -at))
            left = self.survey.failed - verdicts.gained[best]
            sound = not verdicts.moved.get(best) and 2 * verdicts.gained[best] >= len(self._tests())
            if self.partial is None or left < self.partial.left:
                self.partial = Partial(batch[best], left, sound)
        for word in ("partial", "changed"):
            self.promising += [batch[at][0] for at in verdicts.members(word) if len(batch[at]) == 1]

    def _survey_again(self, base: Patch) -> Steps:
        """Looks anew once part of the failing tests pass."""
        goal = [failure.test for failure in self.survey.failures]
        only = [*goal, *self.survey.near] if self.survey.near else ()
        script = scratch.survey_script(
            self.bench.runner, self.bench.args, base=base, wanted=goal, only=only, budget_s=self.limits.survey_s
        )
        text = f"With this, some of the failing tests pass: {report.reason(base)}. I look again at the others."
        purpose = "measures which lines the failing tests run, in a temporary copy"
        (observed,) = yield PlanStep(text, (RunScript(self.bench.interpreter, script, purpose),))
        survey: Survey | str = "the command could not be run"
        if isinstance(observed, ScriptOutput):
            survey = scratch.read_survey(observed.text)
        if isinstance(survey, str):
            self.result.trouble = survey
            return
        members = [at for at, failure in enumerate(survey.failures) if failure.test in goal]
        if not members:
            self.result.fix = base
            return
        self.survey = replace(survey.part(members), near=self.survey.near, paths=self.survey.paths)
        failing = {failure.test for failure in self.survey.failures}
        self.known = tuple(test for test in self.known if test in failing or test not in goal)

    def _minimise(self, given: Patch, fix: Patch) -> Steps:
        """Leaves out what the fix does not need."""
        added = fix[len(given) :]
        smaller = [(*given, *subset) for size in range(1, len(added)) for subset in combinations(added, size)]
        text = f"{report.number(len(fix), 'edit')} together pass all tests. I check whether fewer are enough."
        verdicts = yield from self._trial(text, smaller, (), survivors=1)
        if isinstance(verdicts, Verdicts):
            enough = [at for at, broke in verdicts.suites.items() if broke == () and at in verdicts.members("pass")]
            if enough:
                self.result.fix = smaller[min(enough)]


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
    counts = {item.path: item.counts() for item in survey.coverage} if survey else {}
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
