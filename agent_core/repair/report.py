"""What the engine says: plain sentences that a reviewer can check. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from agent_core.repair.actions import TestRun
from agent_core.repair.failures import Failure
from agent_core.repair.scratch import Patch

INTRODUCTION = (
    "I am `repair`: a search engine over program edits, not a language model. I run the tests, look for the code that "
    "the failing ones depend on, try small edits with the tests as judge, and tell you plainly if none of them works."
)
NO_TOOLS = (
    "I am `repair`: a search engine over program edits, not a language model. I can do nothing but mend Python code "
    "whose tests fail, and for that I need tools that read and edit files and run the tests (or a shell tool). This "
    "request offers none that I understand."
)
NO_TESTS = (
    "I cannot fix anything: there are no tests here that I could run, and tests are my only judge. Nothing was changed."
)


def number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def failing(run: TestRun, failures: Sequence[Failure]) -> str:
    shown = "; ".join(f"`{item.test}` ({item.error}{_first(item.message)})" for item in failures[:3])
    more = f" and {len(failures) - 3} more" if len(failures) > 3 else ""
    if not shown:
        return "The test run fails."
    bad = max(run.failed, len(failures))
    if run.passed is None:
        return f"{number(bad, 'failing test')}: {shown}{more}."
    return f"{bad} of {number(bad + run.passed, 'test')} fail{'s' if bad == 1 else ''}: {shown}{more}."


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


def fixed(patch: Patch, run: TestRun, tried: int, also: Sequence[Patch]) -> str:
    lines = [f"Fixed: {reason(patch)}."]
    lines.append(f"{all_pass(run)} now. I tried {number(tried, 'edit')} and changed nothing else.")
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
