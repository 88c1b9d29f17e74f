"""What the engine says: plain sentences that a reviewer can check. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_core.repair.actions import TestRun
from agent_core.repair.failures import Failure
from agent_core.repair.scratch import Patch, Survey

INTRODUCTION = (
    "I am `repair`: a search engine over program edits, not a language model. I run the tests, look for the code that "
    "the failing ones depend on, try small edits with the tests as oracle, and tell you plainly if none of them works."
)
NO_TOOLS = (
    "I am `repair`: a search engine over program edits, not a language model. I can do nothing but mend Python code "
    "whose tests fail, and for that I need tools that read and edit files and run the tests (or a shell tool). This "
    "request offers none that I understand."
)
NO_TESTS = (
    "I cannot fix anything: there are no tests here that I could run, and tests are my only oracle. "
    "Nothing was changed."
)


LIKELY = 0.15
"""Prior below which an edit is a guess: faults of its kind are rare, so tests that pass by it say less."""


def number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


ANOTHER_PYTHON = (
    "name another with `loopline run --python PATH`, the setting `python` or LOOPLINE_PYTHON, or activate the "
    "project's environment"
)


def interpreter(path: str) -> str:
    return f"the interpreter `{path}`"


def failing(run: TestRun | Survey, failures: Sequence[Failure] = ()) -> str:
    """Which tests fail, of how many."""
    passed = run.passed
    bad, so_far = max(run.failed, len(failures)), ""
    if isinstance(run, Survey):
        failures = run.failures
        so_far = "" if run.whole else f" of the {bad + run.passed} run so far"
    shown = "; ".join(f"`{item.test}` ({item.error}{_first(item.message)})" for item in failures[:3])
    more = f" and {bad - 3} more" if bad > 3 else ""
    if not shown:
        return "The test run fails."
    if so_far:
        return f"{number(bad, 'test')}{so_far} fail{'s' if bad == 1 else ''}: {shown}{more}."
    if passed is None:
        return f"{number(bad, 'failing test')}: {shown}{more}."
    return f"{bad} of {number(bad + passed, 'test')} fail{'s' if bad == 1 else ''}: {shown}{more}."


def looking(weights: Mapping[str, Mapping[int, float]], order: Sequence[str], survey: Survey) -> str:
    """Where it looks: the lines that failing tests run most and passing ones least."""
    if not order:
        return "No line of the project's own code was seen to run; I read the tests."
    path = order[0]
    top = max(weights[path].values())
    lines = sorted(line for line, weight in weights[path].items() if weight >= 0.99 * top)
    last = lines[0]
    for line in lines:
        last = line if line - last <= 3 else last
    counts = next((item.counts() for item in survey.coverage if item.path == path), {})
    bad, good = counts.get(lines[0], (0, 0))
    place = f"line {lines[0]}" if last == lines[0] else f"lines {lines[0]}-{last}"
    ran = f", run by {number(bad, 'failing test')} and {number(good, 'passing one')}" if bad else ""
    others = f" and at {', '.join(f'`{other}`' for other in order[1:3])}" if order[1:] else ""
    return f"I look at `{path}` {place}{ran}{others}."


def _first(message: str) -> str:
    lines = message.strip().splitlines()
    return f": {lines[0][:120]}" if lines and lines[0] else ""


def all_pass(run: TestRun) -> str:
    if run.passed is None:
        return "All tests pass"
    return "The one test passes" if run.passed == 1 else f"All {run.passed} tests pass"


def suspicion(path: str, name: str, first: int, last: int, bad: int, good: int) -> str:
    tests = f"{number(bad, 'failing test')} and {number(good, 'passing one')}"
    return f"`{path}` lines {first}-{last} (`{name}`), run by {tests}"


def reason(patch: Patch) -> str:
    """Why, in one clause per edit, with its place."""
    return "; ".join(f"`{edit.path}` line {edit.line}: {edit.reason}" for edit in patch)


def fixed(patch: Patch, run: TestRun, tried: int, also: Sequence[Patch], left: Sequence[str] = ()) -> str:
    """`left`: tests that fail as they did before."""
    lines = [f"Fixed: {reason(patch)}."]
    if run.status == "passed":
        lines.append(f"{all_pass(run)} now. I tried {number(tried, 'edit')} and changed nothing else.")
    else:
        passed = "" if run.passed is None else f"{number(run.passed, 'test')} pass now. "
        lines.append(f"{passed}I tried {number(tried, 'edit')} and changed nothing else.")
        shown = ", ".join(f"`{test}`" for test in left[:5]) + (f" and {len(left) - 5} more" if len(left) > 5 else "")
        lines.append(f"As before, {number(run.failed, 'test')} fail{'s' if run.failed == 1 else ''}: {shown}.")
    guesses = [edit for edit in patch if edit.prior < LIKELY]
    if guesses:
        lines.append(f"Please review line {guesses[0].line}: nothing but the tests speaks for this edit.")
    if also:
        count = number(len(also), "other edit")
        lines.append(f"Please review: {count} made the failing tests pass as well, e.g. {reason(also[0])}.")
    return "\n".join(lines)


def cannot_fix(why: str, tried: int, places: Sequence[str], nearest: Sequence[str]) -> str:
    lines = [f"I cannot fix this: {why}."]
    if tried:
        lines.append(f"I tried {number(tried, 'edit')}; the tests reject all of them.")
    if places:
        lines.append("Most suspected: " + "; ".join(places[:3]) + ".")
    if nearest:
        lines.append("Nearest to a fix: " + "; ".join(nearest[:3]) + ".")
    lines.append("The files are as I found them.")
    return "\n".join(lines)
