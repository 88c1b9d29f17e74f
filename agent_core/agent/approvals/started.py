"""What a command line would really start: wrappers taken off, code inside arguments found. Pure.

Each segment gives one or more `Step`s. Wrappers (`env`, `timeout`, `xargs`, `bash -c`, …) give the command that they
start; `find -exec` gives both. What no rule may cover (code in an argument or on the input of an interpreter, options
that come out of a variable) is named in `Plan.unclear`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from agent_core.agent.approvals.command_line import Redirect, Segment, Word, is_assignment, read_script
from agent_core.agent.approvals.programs import FIND_ACTS, FIND_STARTS, INTERPRETER, SHELLS, STARTS_OTHERS, has_code

INLINE_CODE = "code on the command line"
EVAL = "eval"
OPEN_PROGRAM = "a program that is not named"
OPEN_OPTIONS = "options that are not written out"
ACTING_FIND = "find that changes files"
PLACEHOLDER = "<from input>"

RUNNERS = frozenset({"uv", "poetry", "pdm", "pipenv", "hatch"})
"""`uv run PROGRAM`: they start programs of the project; a rule for them need not name which."""

_MAX_DEPTH = 8
_SUDO_LONG = frozenset({"--user", "--group", "--host", "--chdir", "--prompt", "--close-from", "--role", "--chroot"})
_XARGS_LONG = frozenset({"--max-args", "--max-procs", "--delimiter", "--arg-file", "--max-lines", "--max-chars"})
_ALWAYS_CODE = frozenset({"eval", "trap", "alias"})


class Step(msgspec.Struct, frozen=True):
    """A program with its arguments; `settings` are the variables set for it. `raised`: with another user's rights."""

    words: tuple[Word, ...]
    settings: tuple[str, ...] = ()
    raised: bool = False

    @property
    def argv(self) -> tuple[str, ...]:
        return (*self.settings, *(word.text for word in self.words))


class Part(msgspec.Struct, frozen=True):
    """A segment as a whole: `written` as it stands, `steps` what it starts. `key` as in `Plan`, for it alone;
    "" for what `find` starts."""

    written: Step
    steps: tuple[Step, ...]
    key: str = ""


class Plan(msgspec.Struct, frozen=True):
    """`parts` must all be covered by rules. `hidden` are steps inside substitutions and code: deny rules see them.
    `moves`: the folder changes on the way."""

    parts: tuple[Part, ...]
    hidden: tuple[Step, ...]
    redirects: tuple[Redirect, ...]
    unclear: tuple[str, ...]
    moves: bool
    key: str

    def steps(self) -> Iterable[Step]:
        for part in self.parts:
            yield part.written
            yield from part.steps
        yield from self.hidden


def plan_of(command: str) -> Plan:
    """Never raises. `key` is the command in one normal form: equal for commands that differ in quotes and blanks."""
    script = read_script(command)
    finder = _Finder()
    finder.unclear |= dict.fromkeys(script.unclear)
    parts = [finder.part(segment) for segment in script.segments]
    finder.hide(script.inner)
    parts = [part for part in (*parts, *finder.found) if part.steps]
    names = {step.words[0].text for part in parts for step in part.steps if step.words}
    return Plan(
        parts=tuple(parts),
        hidden=tuple(finder.hidden),
        redirects=tuple(finder.redirects),
        unclear=tuple(finder.unclear),
        moves=finder.moves or bool(names & {"cd", "pushd", "popd"}),
        key=_key(script.segments),
    )


def _key(segments: Sequence[Segment]) -> str:
    """Words that only a shell would fill in differ from the same text in quotes."""
    return msgspec.json.encode(
        [
            [
                [[word.text, word.open, word.glob] for word in segment.words],
                [[r.operator, r.target.text, r.target.open, r.body] for r in segment.redirects],
                segment.after,
            ]
            for segment in segments
        ]
    ).decode("utf-8", "replace")


class _Finder:
    def __init__(self) -> None:
        self.unclear: dict[str, None] = {}
        self.hidden: list[Step] = []
        self.found: list[Part] = []
        self.redirects: list[Redirect] = []
        self.moves = False
        self._code_depth = 0

    def note(self, reason: str) -> None:
        self.unclear[reason] = None

    def part(self, segment: Segment, *, raised: bool = False) -> Part:
        settings, words = _split(segment.words)
        steps: list[Step] = []
        written = Step(words, settings, raised)
        self.redirects += segment.redirects
        self._unwrap(written, steps, 0)
        if words and _name(words[0]) in SHELLS:
            for redirect in segment.redirects:
                if redirect.body is not None:
                    self._code(redirect.body)
        return Part(written, tuple(steps), _key([msgspec.structs.replace(segment, after="")]))

    def hide(self, segments: Iterable[Segment]) -> None:
        for segment in segments:
            settings, words = _split(segment.words)
            found: list[Step] = []
            self._unwrap(Step(words, settings), found, 0)
            self.hidden += [Step(words, settings), *found]

    def _code(self, text: str, *, raised: bool = False, parts: bool = False) -> None:
        """Shell code in an argument. `parts`: it runs as it stands, so rules may cover it; else deny rules look."""
        if self._code_depth >= _MAX_DEPTH:
            self.note(OPEN_PROGRAM)
            return
        self._code_depth += 1
        script = read_script(text)
        if parts:
            self.found += [
                msgspec.structs.replace(self.part(segment, raised=raised), key="") for segment in script.segments
            ]
            self.hide(script.inner)
        else:
            self.hide((*script.segments, *script.inner))
        self._code_depth -= 1
        for reason in script.unclear:
            self.note(reason)

    def _unwrap(self, step: Step, steps: list[Step], depth: int) -> None:
        if not step.words:
            steps.append(step)
            return
        program = step.words[0]
        name = _name(program)
        if program.open or program.glob or depth > _MAX_DEPTH:
            self.note(OPEN_PROGRAM)
        if name in _ALWAYS_CODE:
            self.note(EVAL if name == "eval" else INLINE_CODE)
            self._code(" ".join(word.text for word in step.words[1:]))
        wrapper = _WRAPPERS.get(name)
        if wrapper is not None and depth <= _MAX_DEPTH and (inner := wrapper(self, step)) is not None:
            self._unwrap(inner, steps, depth + 1)
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

    def _shell(self, step: Step) -> bool:
        """`sh -c CODE`: the commands of a code that is written out are parts of their own, then True. What a shell
        without a file reads from its input is code that can't be covered."""
        words = iter(step.words[1:])
        for word in words:
            text = word.text
            if text == "-" or text.startswith(("--rcfile", "--init-file")):
                break
            if not text.startswith(("-", "+")) or text in ("--version", "--help"):
                return False
            if not text.startswith("--") and "c" in text[1:]:
                code = next(words, Word(""))
                if code.open:
                    break
                self._code(code.text, raised=step.raised, parts=True)
                self.hidden.append(step)
                return True
            if text in ("-o", "+o", "-O", "+O"):
                next(words, None)
        self.note(INLINE_CODE)
        return False

    def _found(self, step: Step, depth: int) -> None:
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
                    inner = Step((*started, Word(PLACEHOLDER, open=True)), raised=step.raised)
                    steps: list[Step] = []
                    self._unwrap(inner, steps, depth + 1)
                    self.found.append(Part(inner, tuple(steps)))


def _split(words: Sequence[Word]) -> tuple[tuple[str, ...], tuple[Word, ...]]:
    count = next((i for i, word in enumerate(words) if not is_assignment(word)), len(words))
    return tuple(word.text for word in words[:count]), tuple(words[count:])


def _name(program: Word) -> str:
    return program.text.rsplit("/", 1)[-1]


def _after_options(words: Sequence[Word], *, value: str = "", long_value: frozenset[str] = frozenset()) -> int:
    """Where a wrapper's options end. `value`: letters of short options that take the next word."""
    at = 1
    while at < len(words):
        text = words[at].text
        if text == "--":
            return at + 1
        if not text.startswith("-") or text == "-":
            return at
        if text.startswith("--"):
            at += 2 if text in long_value else 1
        else:
            at += 2 if text[-1] in value and not any(letter in value for letter in text[1:-1]) else 1
    return at


def _plain(value: str = "", operands: int = 0, long_value: str = "") -> Callable[[_Finder, Step], Step | None]:
    def wrapper(finder: _Finder, step: Step) -> Step | None:
        at = _after_options(step.words, value=value, long_value=frozenset(long_value.split())) + operands
        return _inside(step, step.words[at:])

    return wrapper


def _inside(step: Step, words: Sequence[Word], *, raised: bool = False) -> Step | None:
    if not words:
        return None
    settings, rest = _split(words)
    return Step(rest, (*step.settings, *settings), step.raised or raised)


def _sudo(finder: _Finder, step: Step) -> Step | None:
    if any(re.fullmatch(r"-[a-zA-Z]*[sieS]|--(shell|login|edit)", word.text) for word in step.words[1:3]):
        finder.note(INLINE_CODE)
    at = _after_options(step.words, value="ughpCrtTDR", long_value=_SUDO_LONG)
    return _inside(step, step.words[at:], raised=True)


def _env(finder: _Finder, step: Step) -> Step | None:
    for word in step.words[1:]:
        if word.text.startswith(("-S", "--split-string")) or re.match(r"-[a-zA-Z]*S", word.text):
            finder.note(INLINE_CODE)
            finder._code(word.text.split("S", 1)[-1] + " " + " ".join(each.text for each in step.words[2:]))
        if word.text.startswith(("-C", "--chdir")):
            finder.moves = True
        if not word.text.startswith("-") and not is_assignment(word):
            break
    at = _after_options(step.words, value="uC", long_value=frozenset({"--unset", "--chdir"}))
    return _inside(step, step.words[at:])


def _xargs(finder: _Finder, step: Step) -> Step | None:
    at = _after_options(step.words, value="IndPaLsE", long_value=_XARGS_LONG)
    words = step.words[at:] or (Word("echo"),)
    return _inside(step, (*words, Word(PLACEHOLDER, open=True)))


def _joined(finder: _Finder, step: Step) -> Step | None:
    """Programs that hand their arguments to a shell as one text."""
    finder.note(INLINE_CODE)
    at = _after_options(step.words, value="ndjN", long_value=frozenset({"--interval", "--jobs"}))
    finder._code(" ".join(word.text for word in step.words[at:]))
    return None


def _runner(finder: _Finder, step: Step) -> Step | None:
    """`uv run PROGRAM`. Its options may take values, so a known program among the words counts first."""
    if not step.words[1:] or step.words[1].text != "run":
        return None
    words = step.words[1:]
    for index, word in enumerate(words[1:], 1):
        name = _name(word)
        if name in SHELLS or name in _WRAPPERS or INTERPRETER.fullmatch(name):
            return _inside(step, words[index:])
    return _inside(step, words[_after_options(words) :])


def _command(finder: _Finder, step: Step) -> Step | None:
    """`command -v NAME` only looks a program up."""
    if any(re.fullmatch(r"-[pvV]*[vV][pvV]*", word.text) for word in step.words[1:2]):
        return None
    return _inside(step, step.words[_after_options(step.words) :])


_WRAPPERS: Mapping[str, Callable[[_Finder, Step], Step | None]] = {
    "sudo": _sudo,
    "doas": _sudo,
    "env": _env,
    "xargs": _xargs,
    "command": _command,
    "builtin": _plain(),
    "exec": _plain("a"),
    "nohup": _plain(),
    "setsid": _plain(),
    "time": _plain("fo", long_value="--format --output"),
    "timeout": _plain("ks", 1, "--kill-after --signal"),
    "nice": _plain("n", long_value="--adjustment"),
    "ionice": _plain("cnpPu", long_value="--class --classdata"),
    "chrt": _plain("TPD", 1),
    "taskset": _plain("", 1),
    "stdbuf": _plain("ioe", long_value="--input --output --error"),
    "flock": _plain("wE", 1, "--timeout --wait"),
    "strace": _plain("eopuE"),
    "unbuffer": _plain(),
    "busybox": _plain(),
    "caffeinate": _plain("tw"),
    "watch": _joined,
    "parallel": _joined,
    **dict.fromkeys(RUNNERS, _runner),
}
"""Programs that start the command in their arguments, and how to find it there."""
