"""Rules for commands: patterns that allow or deny what a command line would start. Pure.

A pattern is written like a command: `git diff *`, `npm run test:*`, `rm *`. In a word, `*` and `?` stand for
characters; a last `*` stands for any further arguments, none too. Other tools are named `tool:checks *`. An allow rule
must name the program as the command does; a deny rule also finds it under another path, behind wrappers, and inside
code that can be read. Deny rules keep an honest model from what the user does not want; they can't hold code that means
to hide.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Sequence

import msgspec

from agent_core.agent.approvals.command_line import OPEN_PROGRAM, CommandLine, Part
from agent_core.agent.approvals.invocations import Invocation
from agent_core.agent.approvals.option_tables import foreign_options
from agent_core.agent.approvals.programs import RUNNERS
from agent_core.agent.approvals.reading import COMPOUND, FUNCTION, SUBSCRIPT, UNREAD, Redirect
from agent_core.agent.approvals.words import Word

OUTSIDE = "a redirect to outside the workspace"
OPEN_TARGET = "a redirect that is not written out"
OPAQUE = frozenset({OPEN_PROGRAM, *UNREAD} - {COMPOUND, FUNCTION, SUBSCRIPT})
"""Where these hold it can't be told what runs, so deny rules can't be checked."""

_NO_FILE = frozenset({"<<", "<<-", "<<<"})
_DEVICES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/zero"})
_CHUNK = re.compile(r"[;&|\n(){}`]+|\$\(")
_QUOTES = re.compile(r"\\\n|['\"\\]")
_MAX_TRIED = 400


class Rule(msgspec.Struct, frozen=True):
    """`words` are patterns, one per argument; `rest`: more arguments may follow."""

    pattern: str
    words: tuple[str, ...]
    rest: bool


def read_rule(pattern: str) -> Rule:
    """A pattern whose quotes do not close is taken at its blanks."""
    try:
        words = shlex.split(pattern)
    except ValueError:
        words = pattern.split()
    rest = bool(words) and words[-1] == "*"
    return Rule(pattern, tuple(words[:-1] if rest else words), rest)


def covers(rule: Rule, step: Invocation) -> bool:
    """Whether the rule allows this program with these arguments."""
    return fits(rule, step) and not _unnamed_options(rule, step, step)


def fits(rule: Rule, step: Invocation) -> bool:
    """Whether the rule is for this program with these arguments, whatever its options do."""
    words = (*(Word(text, open=True) for text in step.settings), *step.words)
    return _fits(rule, words) and not (step.settings and not rule.words)


def _unnamed_options(rule: Rule, written: Invocation, step: Invocation) -> list[Word]:
    """Options of `step` that may write or start something and are not written out in the rule for `written`."""
    words = written.words
    patterns = rule.words[len(written.settings) :]
    named = {id(word) for pattern, word in zip(patterns, words, strict=False) if pattern == word.text}
    return [word for word in foreign_options(step.name, step.words[1:]) if id(word) not in named]


def option_reason(rules: Sequence[Rule], line: CommandLine) -> str | None:
    """Why rules that are for a program in this line do not cover it, if its options are why."""
    for step in line.steps():
        for rule in rules:
            if fits(rule, step) and (words := _unnamed_options(rule, step, step)):
                return f"{words[0].text[:40]} of {step.name}, which may write or start something"
    return None


def allowing(rules: Sequence[Rule], part: Part) -> list[Rule] | None:
    """The rules that cover a part: one for it as written, or one for each program that it starts; None if none do.

    A rule for a wrapper must name the program behind it, and what runs with another user's rights is covered only so.
    """
    place = _place_of_program(part)
    for rule in rules:
        if len(rule.words) <= place or not fits(rule, part.written) or part.written.raised:
            continue
        if not any(_unnamed_options(rule, part.written, step) for step in (part.written, *part.steps)):
            return [rule]
    found: list[Rule] = []
    for step in part.steps:
        match = None if step.raised else next((rule for rule in rules if covers(rule, step)), None)
        if match is None:
            return None
        found.append(match)
    return found or None


def _place_of_program(part: Part) -> int:
    """Where in the part, as written, the program stands that it starts in the end."""
    programs = [step.words[0] for step in part.steps if step.words]
    words = part.written.words
    if words and words[0].text in RUNNERS:
        return 0
    at = next((at for at, word in enumerate(words) if programs and word is programs[-1]), 0)
    return len(part.written.settings) + at


def denying(rules: Iterable[Rule], line: CommandLine, command: str) -> Rule | None:
    """The first deny rule that finds something in the command."""
    texts = {" ".join(line.split()) for line in (command, *command.splitlines())}
    for step in line.steps():
        words = [word.text for word in step.words]
        named = [posixpath.basename(words[0]), *words[1:]] if words else []
        texts |= {" ".join(step.argv), " ".join(words), " ".join(named)}
        if len(named) == 1:
            texts.add(f"{named[0]} ")
    if not UNREAD.isdisjoint(line.unclear):
        for chunk in (*_CHUNK.split(command), *_CHUNK.split(_QUOTES.sub("", command))):
            loose = chunk.split()
            texts |= {" ".join(loose[at:]) for at in range(min(len(loose), _MAX_TRIED))}
            texts |= {f"{word} " for word in loose[-1:]}
    for rule in rules:
        if any(fnmatch.fnmatchcase(text, rule.pattern) for text in texts):
            return rule
        for step in line.steps():
            if step.words and rule.words and _fits(rule, _renamed(step.words), lenient=True):
                return rule
    return None


def redirect_reason(line: CommandLine, roots: Sequence[str], inside: Callable[[str], bool]) -> str | None:
    """Why a redirect needs a person's look, if one does. `inside` tells whether a path, absolute or relative to the
    first root, really lies in the workspace and may be written."""
    for redirect in line.redirects:
        if reason := _redirect_reason(redirect, line.moves, roots, inside):
            return reason
    return None


def _redirect_reason(
    redirect: Redirect, moves: bool, roots: Sequence[str], inside: Callable[[str], bool]
) -> str | None:
    target = redirect.target
    if redirect.operator in _NO_FILE or target.text in _DEVICES:
        return None
    if redirect.operator in (">&", "<&") and (target.text.isdigit() or target.text == "-"):
        return None
    if target.open or target.glob:
        return OPEN_TARGET
    path = posixpath.normpath(target.text)
    if not path.startswith("/") and moves:
        return OPEN_TARGET
    within = not path.startswith(("/", "../")) and path != ".."
    if path.startswith("/"):
        within = any(path.startswith(root.rstrip("/") + "/") for root in roots)
    if not within or ".git" in path.lower().split("/") or not inside(path):
        return OUTSIDE
    return None


def _fits(rule: Rule, words: Sequence[Word], *, lenient: bool = False) -> bool:
    """`lenient`: an argument that the shell fills in may be anything (for deny rules)."""
    if len(words) < len(rule.words) or (len(words) > len(rule.words) and not rule.rest):
        return False
    pairs = enumerate(zip(rule.words, words, strict=False))
    return all(_word_fits(pattern, word, lenient and at > 0) for at, (pattern, word) in pairs)


def _word_fits(pattern: str, word: Word, lenient: bool) -> bool:
    if word.open and word.text != pattern:
        return lenient or pattern == "*"
    return fnmatch.fnmatchcase(word.text, pattern)


def _renamed(words: tuple[Word, ...]) -> tuple[Word, ...]:
    return (msgspec.structs.replace(words[0], text=posixpath.basename(words[0].text)), *words[1:])
