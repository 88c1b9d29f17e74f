"""What the search makes of verdicts: one edit that mends all is preferred to several that do."""

from __future__ import annotations

import json

import pytest

from agent_core.repair.actions import FileText, Interpreter, Observation, RunScript, ScriptOutput
from agent_core.repair.failures import Failure
from agent_core.repair.limits import SearchLimits
from agent_core.repair.project import Project
from agent_core.repair.scratch import Coverage, Survey
from agent_core.repair.search import Bench, SearchResult, Trials

TEXT = "def place(at, count):\n    if at <= count:\n        return count, at + 1\n    return at - 1, count\n"
TESTS = ("tests/test_a.py::test_one", "tests/test_a.py::test_two")


def survey(*failing: str) -> Survey:
    failures = tuple(Failure(test, "AssertionError", "assert 1 == 2", (), 0.01) for test in failing)
    lines = {line: ((1 << len(failing)) - 1, 1) for line in (2, 3, 4)}
    return Survey(
        "pytest", (), "/usr/bin/python3", 9, 9, True, False, True, 9 - len(failing), 1.0, 1.0, 0.0, 0.0, failures, (),
        (Coverage("place.py", lines),), (),
    )  # fmt: skip


def told(survey: Survey) -> str:
    facts = {"tests": survey.tests, "ran": survey.ran, "failed": survey.failed, "passed": survey.passed, "s": 1.0}
    lines = ['runner {"runner": "pytest", "args": [], "python": "python3"}', f"survey {json.dumps(facts)}"]
    for failure in survey.failures:
        fail = {"id": failure.test, "type": failure.error, "message": failure.message, "frames": [], "s": 0.01}
        lines.append(f"fail {json.dumps(fail)}")
    runs = [[line, line, bad, good] for line, (bad, good) in survey.coverage[0].lines.items()]
    return "\n".join([*lines, f"cover {json.dumps({'file': 'place.py', 'lines': runs, 'import': []})}"])


def trial(tried: int, *verdicts: str, seconds: float = 1.0) -> str:
    facts = {"candidates": 70, "tried": tried, "s": seconds}
    return "\n".join([f"trial {json.dumps(facts)}", 'baseline {"passed": 0, "of": 2}', *verdicts])


PARTIAL = trial(3, "partial 1", "gained [[1, 1, 0]]", 'suite {"candidate": 1, "broke": []}')
PASSES = trial(40, "pass 0-39", *(f'suite {{"candidate": {at}, "broke": []}}' for at in range(40)))
"""Some of them touch what the partial fix changed, and can't be put on top of it."""
NONE = trial(70, "same 0-69", seconds=60.0)


def searched(*outputs: str) -> tuple[SearchResult, list[str]]:
    """The result of a search whose commands print `outputs`, and what it said before each."""
    project = Project()
    project.add(FileText("place.py", 1, 4, 4, TEXT))
    bench = Bench(Interpreter(runner="pytest"), "pytest", ())
    trials = Trials(bench, project, survey(*TESTS), SearchLimits(), known=TESTS, search_s=42.0)
    steps, said = trials.run(), list[str]()
    answers: tuple[Observation, ...] | None = None
    left = list(outputs)
    while True:
        try:
            step = next(steps) if answers is None else steps.send(answers)
        except StopIteration as end:
            assert not left
            return end.value, said
        said.append(step.say)
        assert [type(action) for action in step.actions] == [RunScript]
        answers = (ScriptOutput(left.pop(0)),)


def test_one_edit_further_down_is_preferred_to_two() -> None:
    result, said = searched(PARTIAL, told(survey(TESTS[1])), PASSES, PASSES)
    assert result.fix is not None and len(result.fix) == 1, said


@pytest.mark.parametrize("looked", [NONE, "nonsense"])
def test_two_edits_stay_where_no_single_one_does(looked: str) -> None:
    result, said = searched(PARTIAL, told(survey(TESTS[1])), PASSES, looked, trial(2, "same 0-1"))
    assert result.fix is not None and len(result.fix) == 2, said
    assert result.trouble is None
    assert said[-1] == "2 edits together pass all tests. I check whether fewer are enough."
