"""The comparison of the rules with bash: whatever a command line starts or writes, its reading must have named."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from random import Random

import msgspec

from agent_core.agent.approvals.command_line import CommandLine, command_line_of
from agent_core.agent.approvals.words import Word
from tests.support.agent.shell_commands import command
from tests.support.system.bash_trace import TracedBash


class Comparison(msgspec.Struct, frozen=True):
    """`covered`: commands that rules may cover, so that they were run; `unseen`: what bash did that no rule saw."""

    commands: int
    covered: int
    started: int
    unseen: tuple[str, ...]


def compare(bash: TracedBash, seed: int, count: int) -> Comparison:
    """Generate, judge and run `count` commands. One that is `unclear` asks a person, and is not run."""
    random = Random(seed)
    covered = started = 0
    unseen: list[str] = []
    for _ in range(count):
        text = command(random)
        line = command_line_of(text)
        if line.unclear or not line.parts:
            continue
        covered += 1
        trace = bash.run(text)
        started += len(trace.started)
        unseen += [f"{text!r} started {argv!r}" for argv in trace.started if not _seen(line, argv)]
        targets = {posixpath.normpath(redirect.target.text) for redirect in line.redirects}
        moved = any(redirect.target.open or redirect.target.glob for redirect in line.redirects) or line.moves
        unseen += [f"{text!r} wrote {path!r}" for path in trace.written if path not in targets and not moved]
    return Comparison(commands=count, covered=covered, started=started, unseen=tuple(unseen))


def _seen(line: CommandLine, argv: Sequence[str]) -> bool:
    return any(_fits(step.words, argv) for step in line.steps())


def _fits(words: Sequence[Word], argv: Sequence[str]) -> bool:
    """Words that the shell fills in may be any, and those that split any number."""
    if not words:
        return not argv
    first, rest = words[0], words[1:]
    if first.splits or first.glob:
        return any(_fits(rest, argv[at:]) for at in range(len(argv) + 1))
    return bool(argv) and (first.open or first.text == argv[0]) and _fits(rest, argv[1:])
