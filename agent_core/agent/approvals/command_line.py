"""What a command line would really start: wrappers taken off, code inside arguments found. Pure.

Each segment gives one or more invocations. Wrappers (`env`, `timeout`, `xargs`, `bash -c`, …) give the command that
they start; `find -exec` gives both. What no rule may cover (code in an argument or on the input of an interpreter,
options that come out of a variable) is named in `CommandLine.unclear`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import msgspec

from agent_core.agent.approvals.builtins import builtin_reason, settings_reason
from agent_core.agent.approvals.invocations import INLINE_CODE, PLACEHOLDER, Invocation, unwrap
from agent_core.agent.approvals.programs import (
    FIND_ACTS,
    FIND_STARTS,
    LIKE_BASH,
    SHELL_OPTIONS,
    SHELLS,
    STARTS_OTHERS,
    has_code,
)
from agent_core.agent.approvals.reading import TOO_LONG, Reading, Redirect, Segment, read_shell
from agent_core.agent.approvals.words import Word

EVAL = "eval"
OPEN_PROGRAM = "a program that is not named"
OPEN_OPTIONS = "options that are not written out"
ACTING_FIND = "find that changes files"

_MAX_DEPTH = 8
_ALWAYS_CODE = frozenset({"eval", "trap", "alias"})


class Part(msgspec.Struct, frozen=True):
    """A segment as a whole: `written` as it stands, `steps` what it starts. `key` as in `CommandLine`, for it alone;
    "" for what `find` starts."""

    written: Invocation
    steps: tuple[Invocation, ...]
    key: str = ""


class CommandLine(msgspec.Struct, frozen=True):
    """`parts` must all be covered by rules. `hidden` are invocations inside substitutions and code: deny rules see
    them. `moves`: the folder changes on the way."""

    parts: tuple[Part, ...]
    hidden: tuple[Invocation, ...]
    redirects: tuple[Redirect, ...]
    unclear: tuple[str, ...]
    moves: bool
    key: str

    def steps(self) -> Iterable[Invocation]:
        for part in self.parts:
            yield part.written
            yield from part.steps
        yield from self.hidden


@lru_cache(maxsize=32)
def command_line_of(command: str) -> CommandLine:
    """Never raises. `key` is the command in one normal form: equal for commands that differ in quotes and blanks."""
    reading = read_shell(command)
    finder = _Finder()
    finder.unclear |= dict.fromkeys(reading.unclear)
    parts = [finder.part(segment) for segment in reading.segments]
    finder.hide(reading.inner)
    parts = [part for part in (*parts, *finder.found) if part.steps]
    names = {step.words[0].text for part in parts for step in part.steps if step.words}
    return CommandLine(
        parts=tuple(parts),
        hidden=tuple(finder.hidden),
        redirects=tuple(finder.redirects),
        unclear=tuple(finder.unclear),
        moves=finder.moves or bool(names & {"cd", "pushd", "popd"}),
        key=_key(command, reading),
    )


def _key(command: str, reading: Reading) -> str:
    """What could not be read is never kept, and is its own key."""
    if reading.unclear:
        return command
    shape = [_shape(item) if isinstance(item, Segment) else item for item in reading.shape]
    return msgspec.json.encode(shape).decode()


def _shape(segment: Segment) -> list[object]:
    """Words that only a shell would fill in differ from the same text in quotes."""
    return [
        [[word.text, word.open, word.glob] for word in segment.settings],
        [[word.text, word.open, word.glob] for word in segment.words],
        [[r.operator, r.target.text, r.target.open, r.body] for r in segment.redirects],
    ]


class _Finder:
    def __init__(self) -> None:
        self.unclear: dict[str, None] = {}
        self.hidden: list[Invocation] = []
        self.found: list[Part] = []
        self.redirects: list[Redirect] = []
        self.moves = False
        self._code_depth = 0

    def note(self, reason: str | None) -> None:
        if reason is not None:
            self.unclear[reason] = None

    def part(self, segment: Segment, *, raised: bool = False) -> Part:
        written = _written(segment, raised=raised)
        steps: list[Invocation] = []
        self.redirects += segment.redirects
        self._start(written, steps, 0)
        if written.name in SHELLS:
            for redirect in segment.redirects:
                if redirect.body is not None:
                    self._code(redirect.body)
        return Part(written, tuple(steps), msgspec.json.encode([_shape(segment)]).decode())

    def hide(self, segments: Iterable[Segment]) -> None:
        for segment in segments:
            found: list[Invocation] = []
            written = _written(segment)
            self._start(written, found, 0)
            self.hidden += [written, *found]

    def _code(self, text: str, *, raised: bool = False, parts: bool = False) -> None:
        """Shell code in an argument. `parts`: it runs as it stands, so rules may cover it; else deny rules look."""
        if self._code_depth >= _MAX_DEPTH or TOO_LONG in self.unclear:
            self.note(TOO_LONG)
            return
        self._code_depth += 1
        reading = read_shell(text)
        if parts:
            self.found += [
                msgspec.structs.replace(self.part(segment, raised=raised), key="") for segment in reading.segments
            ]
            self.hide(reading.inner)
        else:
            self.hide((*reading.segments, *reading.inner))
        self._code_depth -= 1
        for reason in reading.unclear:
            self.note(reason)

    def _refuse(self, reason: str, texts: Iterable[str]) -> None:
        """What the shell would evaluate later is read for deny rules."""
        self.note(reason)
        for text in texts:
            if "$(" in text or "`" in text:
                self._code(text)

    def _start(self, step: Invocation, steps: list[Invocation], depth: int) -> None:
        if (reason := settings_reason(step.settings)) is not None:
            self._refuse(reason, step.settings)
        if not step.words:
            steps.append(step)
            return
        program, name = step.words[0], step.name
        if program.open or program.glob or depth > _MAX_DEPTH:
            self.note(OPEN_PROGRAM)
        if name in _ALWAYS_CODE:
            self.note(EVAL if name == "eval" else INLINE_CODE)
            self._code(" ".join(word.text for word in step.words[1:]))
        if (reason := builtin_reason(step.words)) is not None:
            self._refuse(reason, [word.text for word in step.words[1:]])
        unwrapped = unwrap(step) if depth <= _MAX_DEPTH else None
        if unwrapped is not None:
            for reason in unwrapped.unclear:
                self.note(reason)
            for code in unwrapped.code:
                self._code(code)
            self.moves = self.moves or unwrapped.moves
            if unwrapped.inner is not None:
                self._start(unwrapped.inner, steps, depth + 1)
                return
        if name in SHELLS and self._shell(step):
            return
        if name not in SHELLS and has_code(name, step.words[1:]):
            self.note(INLINE_CODE)
        if name in STARTS_OTHERS and any(word.open for word in step.words[1:]):
            self.note(OPEN_OPTIONS)
        steps.append(step)
        if name in ("find", "fd", "fdfind"):
            self._found(step, depth)

    def _shell(self, step: Invocation) -> bool:
        """`sh -c CODE`: the commands of a code that is written out are parts of their own, then True. What a shell
        without a file reads from its input is code that can't be covered."""
        words = iter(step.words[1:])
        for word in words:
            text = word.text
            if word.open or word.glob or text == "-":
                break
            if not text.startswith(("-", "+")) or text in ("--version", "--help"):
                return False
            letters = text[1:]
            if letters.endswith("o") and letters != "o" and "c" in letters:
                break
            if not set(letters) <= SHELL_OPTIONS and text not in ("--norc", "--noprofile", "--posix"):
                break
            if not text.startswith("--") and "c" in letters:
                code = next(words, Word(""))
                if code.open:
                    break
                if step.name not in LIKE_BASH or (step.name != "bash" and ("$'" in code.text or '$"' in code.text)):
                    self.note(INLINE_CODE)
                self._code(code.text, raised=step.raised, parts=True)
                self.hidden.append(step)
                return True
            if letters == "o" and next(words, Word("")).text not in ("pipefail", "errexit", "nounset", "xtrace"):
                break
        self.note(INLINE_CODE)
        return False

    def _found(self, step: Invocation, depth: int) -> None:
        """Commands that `find` starts, each a part of its own, and what it does by itself."""
        words = step.words
        for index, word in enumerate(words):
            if word.text in FIND_ACTS:
                self.note(ACTING_FIND)
            if word.text in FIND_STARTS:
                stop = next((i for i in range(index + 1, len(words)) if words[i].text in (";", "+")), len(words))
                self.moves = self.moves or word.text.endswith("dir")
                started = words[index + 1 : stop]
                if started:
                    inner = Invocation((*started, Word(PLACEHOLDER, open=True, splits=True)), raised=step.raised)
                    steps: list[Invocation] = []
                    self._start(inner, steps, depth + 1)
                    self.found.append(Part(inner, tuple(steps)))


def _written(segment: Segment, *, raised: bool = False) -> Invocation:
    return Invocation(segment.words, tuple(word.text for word in segment.settings), raised)
