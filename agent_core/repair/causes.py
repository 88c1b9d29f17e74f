"""Which failing tests one cause explains, and which of them are the goal. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from agent_core.repair.failures import Failure, is_test_path
from agent_core.repair.scratch import Survey

ALIKE = 0.1
"""Share of common lines from which two tests are taken to fail for one reason."""
_SURROUNDINGS = (
    "PackageNotFoundError", "ModuleNotFoundError", "PermissionError", "FileNotFoundError",
    "ConnectionError", "ConnectionRefusedError", "gaierror", "URLError", "SSLError", "FixtureLookupError",
)  # fmt: skip
"""Errors that tell of the machine rather than of the code."""


def goals(survey: Survey) -> list[tuple[int, ...]]:
    """Groups of failures, by position, the first to be mended first.

    Where the task names tests, those groups alone. What tells of the machine is no goal beside others: an edit that
    makes such a test pass only hides it.
    """
    found = groups(survey)
    failures = survey.failures
    named = [group for group in found if any(failures[at].named for at in group)]
    ours = [group for group in found if any(failures[at].error.rpartition(".")[2] not in _SURROUNDINGS for at in group)]
    return sorted(
        named or ours or found, key=lambda group: (all(failures[at].hangs for at in group), -len(group), group)
    )


def groups(survey: Survey) -> list[tuple[int, ...]]:
    """Failures that belong together: the same error at the same place, or the same lines run by them and by no test
    that passes, or much the same lines."""
    lines: list[set[tuple[str, int]]] = [set() for _ in survey.failures]
    only: list[set[tuple[str, int]]] = [set() for _ in survey.failures]
    for item in survey.coverage:
        if is_test_path(item.path):
            continue
        for line, (bits, good) in item.lines.items():
            for at in range(len(lines)):
                if bits >> at & 1:
                    lines[at].add((item.path, line))
                    if not good:
                        only[at].add((item.path, line))
    root = list(range(len(lines)))
    for one, two in combinations(range(len(lines)), 2):
        shared, every = len(lines[one] & lines[two]), len(lines[one] | lines[two])
        alike = _look(survey.failures[one]) == _look(survey.failures[two])
        if alike or only[one] & only[two] or (every and shared / every >= ALIKE):
            old, new = root[two], root[one]
            root = [new if each == old else each for each in root]
    return [tuple(at for at, each in enumerate(root) if each == first) for first in dict.fromkeys(root)]


def _look(failure: Failure) -> tuple[object, ...]:
    """What a failure looks like, numbers aside. An assertion of a test says nothing of a common cause."""
    own = [frame for frame in failure.frames if not is_test_path(frame[0])]
    if not own and not failure.hangs:
        return (failure.test,)
    return failure.error, re.sub(r"\d+", "0", failure.message), tuple(own[-1:])


def wanted(task: str) -> tuple[str, ...]:
    """Words of a task that may name tests: paths, ids, names with an underscore or capitals inside."""
    words = [word.strip("`'\",;:()!?.") for word in task.split()]
    return tuple(dict.fromkeys(word for word in words if re.search(r"[/_]|::|\.py$|[a-z][A-Z]", word)))


def still_failing(known: Sequence[str], mended: Sequence[str]) -> tuple[str, ...]:
    return tuple(test for test in known if test not in set(mended))
