"""Reads what pytest and unittest print: which tests fail, with what error, through which lines. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import dropwhile, takewhile

_SECTION = re.compile(r"^_{3,} (?:ERROR (?:at \w+ of|collecting) )?(.+?) _{3,}$")
_SUMMARY = re.compile(r"^(FAILED|ERROR) ((?:[^\s:]+\.py)(?:::.*?)?)(?: - (.*))?$")
_PLACE = re.compile(r"^(\S+?\.py):(\d+):(?: in (\S+)| (\w[\w.]*)(?::.*)?)?\s*$")
_FRAME = re.compile(r'^\s*File "([^"]+)", line (\d+)(?:, in (\S+))?')
_UNITTEST = re.compile(r"^(?:FAIL|ERROR): (\S+)(?: \(([^)]*)\))?")
_ERROR_LINE = re.compile(
    r"^([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Iteration|Warning|TimeIsUp|Failed|Timeout)?)(?:: (.*))?$"
)
_COUNT = re.compile(r"(\d+) (failed|passed|error|errors|skipped|xfailed)\b")


@dataclass(frozen=True, slots=True)
class Failure:
    """A failing test: `frames` are (file, line, function) inside the project, the outermost first."""

    test: str
    error: str
    message: str
    frames: tuple[tuple[str, int, str], ...] = ()
    seconds: float = 0.0
    """How long it ran, where that was measured."""
    named: bool = False
    """Whether the task names it."""

    @property
    def hangs(self) -> bool:
        """Whether it was ended by a time limit, ours or the project's own."""
        return ended_by_time(self.error, self.message)

    @property
    def file(self) -> str | None:
        """The test's file, where its id names one."""
        head = self.test.partition("::")[0]
        if head.endswith(".py"):
            return head
        return next((path for path, _, _ in self.frames if is_test_path(path)), None)


def ended_by_time(error: str, message: str) -> bool:
    return error == "TimeIsUp" or "timeout" in error.lower() or message.startswith("Timeout")


def is_test_path(path: str) -> bool:
    """Whether a file belongs to the tests or their configuration, which are never edited."""
    *folders, name = path.split("/")
    inside = any(folder in ("tests", "test", "testing", "held_out") for folder in folders)
    named = name.startswith("test_") or name.endswith(("_test.py", "_tests.py")) or name in ("tests.py", "conftest.py")
    return inside or named or name in ("setup.py", "noxfile.py", "manage.py") or not name.endswith(".py")


def read_failures(runner: str, output: str) -> tuple[Failure, ...]:
    """The failures in a runner's output, in the order in which they are told."""
    found = _unittest(output) if runner == "unittest" else _pytest(output)
    unique: dict[str, Failure] = {}
    for failure in found:
        known = unique.get(failure.test)
        if known is None or not known.frames:
            unique[failure.test] = failure
    return tuple(unique.values())


def count(output: str) -> tuple[int, int] | None:
    """(failed, passed) of a pytest closing line or of unittest's last lines; None where neither is there."""
    for line in reversed(output.splitlines()):
        pairs = {word: int(number) for number, word in _COUNT.findall(line)}
        if pairs and " in " in line:
            return pairs.get("failed", 0) + pairs.get("error", 0) + pairs.get("errors", 0), pairs.get("passed", 0)
    ran = re.search(r"^Ran (\d+) tests? in", output, re.MULTILINE)
    if ran is None:
        return None
    bad = sum(int(number) for number in re.findall(r"(?:failures|errors)=(\d+)", output))
    return bad, int(ran[1]) - bad


def _pytest(output: str) -> Iterator[Failure]:
    lines = output.splitlines()
    sections: dict[str, list[str]] = {}
    summary: list[tuple[str, str]] = []
    current: list[str] | None = None
    for line in lines:
        header, short = _SECTION.match(line), _SUMMARY.match(line)
        if header:
            current = sections.setdefault(header[1], [])
        elif re.match(r"^={3,} ", line):
            current = None
        elif short and current is None:
            summary.append((short[2], short[3] or ""))
        elif current is not None:
            current.append(line)
    told: set[str] = set()
    for test, message in summary:
        path, _, rest = test.partition("::")
        name = rest.replace("::", ".") or path
        told.add(name)
        yield _from_section(test, message, sections.get(name, []))
    for name, body in sections.items():
        if name not in told and not summary:
            failure = _from_section(name, "", body)
            place = next((path for path, _, _ in failure.frames if is_test_path(path)), None)
            test = f"{place}::{name.replace('.', '::')}" if place and not name.endswith(".py") else name
            yield Failure(test, failure.error, failure.message, failure.frames)


def _from_section(test: str, message: str, body: list[str]) -> Failure:
    frames: list[tuple[str, int, str]] = []
    said: list[str] = []
    error = ""
    for line in body:
        place, frame = _PLACE.match(line), _FRAME.match(line)
        if place:
            frames.append((place[1], int(place[2]), place[3] or ""))
            error = place[4] or error
        elif frame:
            frames.append((frame[1], int(frame[2]), frame[3] or ""))
        elif line.startswith("E  "):
            said.append(line[1:].strip())
    known = _ERROR_LINE.match(said[0] if said else message)
    if not error and known:
        error = known[1]
    for text in reversed(said):
        late = _ERROR_LINE.match(text)
        if late and late[1].endswith(("Error", "Exception")):
            error = error or late[1]
            break
    if not error and (said or message).__str__().lstrip("['").startswith("assert"):
        error = "AssertionError"
    return Failure(test, error or "AssertionError", "\n".join(said[:12]) or message, tuple(frames))


def _unittest(output: str) -> Iterator[Failure]:
    for part in re.split(r"^={30,}$", output, flags=re.MULTILINE)[1:]:
        lines = part.strip("\n").splitlines()
        head = _UNITTEST.match(lines[0]) if lines else None
        if head is None:
            continue
        name, place = head[1], head[2] or ""
        test = place if place.endswith("." + name) else f"{place}.{name}" if place else name
        if name.startswith("unittest.loader._FailedTest") or place.startswith("unittest.loader._FailedTest"):
            test = place if place.endswith(name) else f"{place}.{name}"
        places = [(at, found) for at, found in enumerate(map(_FRAME.match, lines)) if found]
        frames = tuple((found[1], int(found[2]), found[3] or "") for _, found in places)
        # the error follows the last frame's lines of code, which are indented
        behind = lines[places[-1][0] + 1 :] if places else lines[1:]
        said = list(dropwhile(lambda line: not line or line[0] in " -", behind))
        known = _ERROR_LINE.match(said[0]) if said else None
        rest = list(takewhile(lambda line: not line.startswith("-----"), said[1:]))
        message = "\n".join([known[2] or "", *rest[:10]]).strip() if known else "\n".join(said[:10])
        yield Failure(test, known[1] if known else "AssertionError", message, frames)
