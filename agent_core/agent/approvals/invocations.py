"""What starts what: a program with its arguments, and the wrappers (`env`, `timeout`, `xargs`, …) that start the
command in their arguments. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import msgspec

from agent_core.agent.approvals.options import Options, options, scan
from agent_core.agent.approvals.programs import INTERPRETER, RUNNERS, SHELLS
from agent_core.agent.approvals.words import Word

INLINE_CODE = "code on the command line"
UNKNOWN_OPTION = "an option of a wrapper that is not known"
PLACEHOLDER = "<from input>"

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=", re.ASCII)


class Invocation(msgspec.Struct, frozen=True):
    """A program with its arguments; `settings` are the variables set for it. `raised`: with another user's rights."""

    words: tuple[Word, ...]
    settings: tuple[str, ...] = ()
    raised: bool = False

    @property
    def argv(self) -> tuple[str, ...]:
        return (*self.settings, *(word.text for word in self.words))

    @property
    def name(self) -> str:
        """The program without its folder; "" if there is none."""
        return self.words[0].text.rsplit("/", 1)[-1] if self.words else ""


class Unwrapped(msgspec.Struct, frozen=True):
    """What a wrapper starts: `inner`, None if nothing. `code`: texts that a shell is handed; `unclear`: what no rule
    covers; `moves`: in another folder."""

    inner: Invocation | None = None
    unclear: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    moves: bool = False


def unwrap(step: Invocation) -> Unwrapped | None:
    """None if the program is no wrapper."""
    wrapper = _WRAPPERS.get(step.name)
    return None if wrapper is None else wrapper(step)


def _plain(table: Options, operands: int = 0) -> Callable[[Invocation], Unwrapped]:
    """A wrapper with options, `operands` words of its own, and a command behind them."""

    def wrapper(step: Invocation) -> Unwrapped:
        found = scan(table, step.words[1:], stop=True)
        rest = step.words[1 + found.end + operands :]
        unclear = (UNKNOWN_OPTION,) if found.foreign else ()
        if rest and rest[0].text.startswith("-"):
            code = " ".join(word.text for word in rest[1:])
            return Unwrapped(_inside(step, rest), (*unclear, INLINE_CODE), (code,))
        return Unwrapped(_inside(step, rest), unclear)

    return wrapper


def _inside(step: Invocation, words: Sequence[Word], *, sets: bool = False, raised: bool = False) -> Invocation | None:
    """`sets`: variables may be set before the program."""
    if not words:
        return None
    count = next((at for at, word in enumerate(words) if not _ASSIGNMENT.match(word.text)), len(words)) if sets else 0
    settings = (*step.settings, *(word.text for word in words[:count]))
    return Invocation(tuple(words[count:]), settings, step.raised or raised)


_SUDO = options("nHkKbAES", "ugpCrtTDh", "non-interactive set-home background askpass preserve-env stdin login",
                "user group prompt close-from role type command-timeout chdir host chroot")  # fmt: skip


def _sudo(step: Invocation) -> Unwrapped:
    shell = any(re.fullmatch(r"-[a-zA-Z]*[sie]|--(shell|login|edit)", word.text) for word in step.words[1:3])
    found = scan(_SUDO, step.words[1:], stop=True)
    unclear = (INLINE_CODE,) if shell else (UNKNOWN_OPTION,) if found.foreign else ()
    return Unwrapped(_inside(step, step.words[1 + found.end :], sets=True, raised=True), unclear)


_ENV = options("i0v", "uC", "ignore-environment null debug", "unset chdir")


def _env(step: Invocation) -> Unwrapped:
    unclear, code, moves = [], [], False
    for at, word in enumerate(step.words[1:], 1):
        if re.match(r"-[a-zA-Z]*S|--s", word.text):
            unclear.append(INLINE_CODE)
            given = re.split(r"=|S", word.text, maxsplit=1)[-1]
            code.append(" ".join([given, *(each.text for each in step.words[at + 1 :])]))
        if word.text.startswith(("-C", "--chdir")):
            moves = True
        if not word.text.startswith("-") and not _ASSIGNMENT.match(word.text):
            break
    words = step.words[1:]
    while words and words[0].text in ("-", "-i"):
        words = words[1:]
    found = scan(_ENV, words, stop=True)
    if found.foreign and not unclear:
        unclear.append(UNKNOWN_OPTION)
    return Unwrapped(_inside(step, words[found.end :], sets=True), tuple(unclear), tuple(code), moves)


_XARGS = options("0rtpoxi", "IndPLsEa", "null no-run-if-empty verbose interactive open-tty exit", "max-args max-procs "
                 "delimiter arg-file max-lines max-chars replace eof")  # fmt: skip


def _xargs(step: Invocation) -> Unwrapped:
    found = scan(_XARGS, step.words[1:], stop=True)
    words = step.words[1 + found.end :] or (Word("echo"),)
    inner = _inside(step, (*words, Word(PLACEHOLDER, open=True, splits=True)))
    return Unwrapped(inner, (UNKNOWN_OPTION,) if found.foreign else ())


def _joined(step: Invocation) -> Unwrapped:
    """Programs that hand their arguments to a shell as one text."""
    at = scan(options("tdebcgpwx", "njN", "", "interval jobs"), step.words[1:], stop=True).end
    return Unwrapped(None, (INLINE_CODE,), (" ".join(word.text for word in step.words[1 + at :]),))


def _runner(step: Invocation) -> Unwrapped:
    """`uv run PROGRAM`. Its options may take values, so a known program among the words counts first."""
    if not step.words[1:] or step.words[1].text != "run":
        return Unwrapped()
    words = step.words[1:]
    for index, word in enumerate(words[1:], 1):
        name = word.text.rsplit("/", 1)[-1]
        if name in SHELLS or name in _WRAPPERS or INTERPRETER.fullmatch(name):
            return Unwrapped(_inside(step, words[index:]))
    return Unwrapped(_inside(step, words[next((i for i, w in enumerate(words[1:], 1) if w.text[:1] != "-"), 1) :]))


def _command(step: Invocation) -> Unwrapped:
    """`command -v NAME` only looks a program up."""
    if any(re.fullmatch(r"-[vV]+", word.text) for word in step.words[1:2]):
        return Unwrapped()
    return _plain(options())(step)


_WRAPPERS: Mapping[str, Callable[[Invocation], Unwrapped]] = {
    "sudo": _sudo,
    "doas": _sudo,
    "env": _env,
    "xargs": _xargs,
    "command": _command,
    "builtin": _plain(options()),
    "exec": _plain(options("cl", "a")),
    "nohup": _plain(options()),
    "setsid": _plain(options("cfw", "", "ctty fork wait")),
    "time": _plain(options("pvqa", "f", "portability verbose quiet", "format")),
    "timeout": _plain(options("v", "ks", "preserve-status foreground verbose", "kill-after signal"), 1),
    "nice": _plain(options("", "n", "", "adjustment", number=True)),
    "ionice": _plain(options("t", "cn", "ignore", "class classdata")),
    "chrt": _plain(options("abdfoirRv", "TPD"), 1),
    "taskset": _plain(options("ac", "", "all-tasks cpu-list"), 1),
    "stdbuf": _plain(options("", "ioe", "", "input output error")),
    "flock": _plain(
        options(
            "nsxeuFo", "wE", "nonblock shared exclusive unlock no-fork close verbose", "timeout wait conflict-exit-code"
        ),
        1,
    ),  # fmt: skip
    "strace": _plain(options("fcqvxyTtrikC", "esSabI")),
    "unbuffer": _plain(options("p")),
    "busybox": _plain(options()),
    "caffeinate": _plain(options("dimsu", "tw")),
    "watch": _joined,
    "parallel": _joined,
    **dict.fromkeys(RUNNERS, _runner),
}
"""Programs that start the command in their arguments, and how to find it there."""
