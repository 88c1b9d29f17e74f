"""Which failing tests belong together, and which are the goal."""

from __future__ import annotations

from agent_core.repair import causes, scratch
from agent_core.repair.failures import Failure
from agent_core.repair.scratch import Coverage, Survey


def survey(failures: list[Failure], coverage: list[Coverage]) -> Survey:
    return Survey(
        "pytest", (), "/usr/bin/python3", 20, 20, True, False, True, 10, 1.0, 1.0, 0.0, 0.0, tuple(failures), (),
        tuple(coverage), (),
    )  # fmt: skip


def failing(name: str, error: str = "AssertionError", named: bool = False) -> Failure:
    return Failure(f"tests/test_a.py::{name}", error, "assert 1 == 2", (("tests/test_a.py", 3, name),), 0.1, named)


def test_tests_that_run_lines_which_no_passing_test_runs_belong_together() -> None:
    found = survey(
        [failing("test_a"), failing("test_b"), failing("test_version", "PackageNotFoundError")],
        [
            Coverage("a.py", {1: (0b011, 0), 2: (0b001, 0), 3: (0b010, 0)}),
            Coverage("b.py", dict.fromkeys(range(9), (4, 0))),
        ],
    )
    assert causes.groups(found) == [(0, 1), (2,)]
    assert causes.goals(found) == [(0, 1)]


def test_what_tells_of_the_machine_is_no_goal_beside_others() -> None:
    lines = [Coverage("a.py", {1: (0b01, 0)}), Coverage("b.py", {1: (0b10, 0)})]
    found = survey([failing("test_version", "PackageNotFoundError"), failing("test_a")], lines)
    assert causes.goals(found) == [(1,)]
    assert causes.goals(found.part((0,))) == [(0,)]


def test_only_what_the_task_names_is_the_goal() -> None:
    lines = [Coverage("a.py", {1: (0b01, 0)}), Coverage("b.py", {1: (0b10, 0)})]
    found = survey([failing("test_a"), failing("test_b", named=True)], lines)
    assert causes.goals(found) == [(1,)]


def test_words_of_a_task_that_may_name_tests() -> None:
    task = "Please make tests/test_a.py and `test_b` pass; LimitsTest too (see tests/unit/)."
    assert causes.wanted(task) == ("tests/test_a.py", "test_b", "LimitsTest", "tests/unit/")
    assert causes.wanted("make the failing tests pass") == ()


def test_a_part_of_a_survey_tells_of_its_failures_alone() -> None:
    lines = [Coverage("a.py", {1: (0b101, 4), 2: (0b010, 0)}), Coverage("b.py", {1: (0b010, 0)})]
    found = survey([failing("test_a"), failing("test_b"), failing("test_c")], lines).part((0, 2))
    assert [failure.test[-6:] for failure in found.failures] == ["test_a", "test_c"]
    assert [(item.path, item.counts()) for item in found.coverage] == [("a.py", {1: (2, 4)})]
    assert found.failed == 2
    assert len(found.failures) <= scratch.MAX_TRACED
