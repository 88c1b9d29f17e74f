"""Long outputs of tools: the model is shown both ends of one, and may read the rest by its name."""

from __future__ import annotations

import re

import msgspec

from agent_core.errors import ToolError

MAX_SHOWN_CHARACTERS = 32_000
"""Of one output, in a conversation that every later call carries along."""
SLACK_CHARACTERS = 1_000
"""What is longer by less than this is shown whole: the remark would cost nearly as much."""
MAX_KEPT, MAX_KEPT_CHARACTERS = 16, 1_000_000
"""The latest outputs that can be read on in, and how much of each."""
_NAME = re.compile(r"output:(\d{1,9})\Z")


class Outputs:
    """Owned by one toolbox. What is kept is gone with it; the conversation then still has both ends."""

    def __init__(self, max_shown_characters: int = MAX_SHOWN_CHARACTERS) -> None:
        self._max_shown = max_shown_characters
        self._kept: dict[int, list[str]] = {}
        self._count = 0

    def shown(self, text: str) -> str:
        """`text`, or where it is too long its ends with a remark that names what is left out, in whole lines where it
        has such."""
        if len(text) <= self._max_shown + SLACK_CHARACTERS:
            return text
        lines = _parts(_bounded(text), self._max_shown // 8)
        head = _fitting(lines, self._max_shown // 2)
        tail = _fitting(lines[::-1], self._max_shown // 2)
        first, last = head + 1, len(lines) - tail
        name = self._keep(lines)
        remark = f"[lines {first}-{last} of {len(lines)} left out; read them with path={name!r} and start, end]"
        return "\n".join([*lines[:head], remark, *lines[last:]])

    def lines(self, path: str) -> list[str] | None:
        """The lines of the output that `path` names; None: it names none. Raises ToolError (`not_found`) for one that
        is not kept any more."""
        found = _NAME.match(path)
        if found is None:
            return None
        lines = self._kept.get(int(found[1]))
        if lines is None:
            text = f"{path} is not kept any more; run the tool again"
            raise ToolError(text, code="not_found")
        return lines

    def _keep(self, lines: list[str]) -> str:
        self._count += 1
        self._kept[self._count] = lines
        while len(self._kept) > MAX_KEPT:
            del self._kept[next(iter(self._kept))]
        return f"output:{self._count}"


class Shown(msgspec.Struct, frozen=True):
    """Lines `start` to `last` of an output, counted from 1."""

    last: int
    body: list[str]


def page(lines: list[str], start: int, end: int, max_characters: int) -> Shown:
    """As many of the lines as fit, at least one."""
    body: list[str] = []
    room, last = max_characters, start - 1
    for number in range(start, end + 1):
        room -= len(lines[number - 1]) + 8
        if room < 0 and body:
            break
        body.append(f"{number}\t{lines[number - 1]}")
        last = number
    return Shown(last, body)


def _bounded(text: str) -> str:
    """As much as is kept; of more, both ends."""
    lost, half = len(text) - MAX_KEPT_CHARACTERS, MAX_KEPT_CHARACTERS // 2
    return text if lost <= 0 else f"{text[:half]}\n[{lost:,} characters are not kept]\n{text[-half:]}"


def _parts(text: str, max_line: int) -> list[str]:
    """Lines, the very long ones in pieces."""
    found: list[str] = []
    for line in text.split("\n"):
        found += [line[at : at + max_line] for at in range(0, max(len(line), 1), max_line)]
    return found


def _fitting(lines: list[str], room: int) -> int:
    """How many of the first lines fit, one at least."""
    for count, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            return max(count, 1)
    return len(lines)
