"""What bash's own commands do besides what they are told: which of them a rule may cover, and with what. Data.

A builtin that evaluates its arguments (a subscript is arithmetic, and that may hold a command), that reads commands
from elsewhere, or that changes what later words mean is never covered: `eval`, `source`, `read`, `let`, `mapfile`, …
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from agent_core.agent.approvals.options import may_be_option, names
from agent_core.agent.approvals.words import Word

SHELL = "a builtin that changes the shell or evaluates what it is given"
VARIABLE = "a variable that changes what runs"

_NEVER = frozenset(
    [
        "source",
        ".",
        "read",
        "readarray",
        "mapfile",
        "declare",
        "typeset",
        "local",
        "readonly",
        "unset",
        "let",
        "getopts",
        "enable",
        "bind",
        "complete",
        "compgen",
        "compopt",
        "fc",
        "history",
        "shopt",
        "hash",
        "coproc",
        "caller",
        "suspend",
    ]
)
_RISKY = re.compile(
    r"PATH|IFS|ENV|BASH_ENV|BASH_FUNC.*|BASH_.*|SHELLOPTS|BASHOPTS|SHELL|CDPATH|GLOBIGNORE|HIST.*|PROMPT_.*|PS[0-4]|"
    r"LD_.*|DYLD_.*|GCONV_PATH|LOCPATH|NLSPATH|MALLOC_.*|TMPDIR|HOME|XDG_.*|(?:.*_)?PAGER|(?:.*_)?EDITOR|VISUAL|BROWSER|"
    r"LESS.*|MANOPT|MANROFFOPT|GIT_.*|SSH_.*|PYTHON.*|PERL.*|RUBY.*|NODE_.*|npm_.*|NPM_.*|LUA_.*|JAVA_TOOL_OPTIONS|"
    r"_JAVA_OPTIONS|CLASSPATH|AWK.*|GREP_.*|TAR_OPTIONS|RSYNC_.*|CC|CXX|LD|AR|MAKE.*|CARGO_.*|RUSTC.*|GOFLAGS|"
    r"PYTEST_.*|DOCKER_.*|HTTP_PROXY|HTTPS_PROXY|ALL_PROXY|http_proxy|https_proxy|all_proxy|POSIXLY_CORRECT|FCEDIT|"
    r"EXECIGNORE|RIPGREP_CONFIG_PATH|WGETRC|CURL_HOME|TERMINFO.*|OPENSSL_.*|SSL.*|LOOPLINE_.*"
)
_SAFE_SET = re.compile(r"[-+][euxCf]+")
_SAFE_SET_NAMES = frozenset({"pipefail", "errexit", "nounset", "xtrace", "noglob", "noclobber"})
_UNARY = frozenset(
    [
        "-b",
        "-c",
        "-d",
        "-e",
        "-f",
        "-g",
        "-h",
        "-k",
        "-n",
        "-p",
        "-r",
        "-s",
        "-t",
        "-u",
        "-w",
        "-x",
        "-z",
        "-G",
        "-L",
        "-N",
        "-O",
        "-S",
        "!",
    ]
)
_BINARY = names("""= == != -eq -ne -lt -le -gt -ge -nt -ot -ef""")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?=.*)?", re.ASCII | re.DOTALL)
_COUNTS = re.compile(r"%[-+ #0*'.\d]*[hlLjztq]*n")


def builtin_reason(words: Sequence[Word]) -> str | None:
    """Why no rule may cover this command, if its program is a builtin that does more than it shows."""
    if not words:
        return None
    name = words[0].text
    if name in _NEVER:
        return SHELL
    check = _CHECKED.get(name)
    return None if check is None or check(words[1:]) else SHELL


def settings_reason(settings: Sequence[str]) -> str | None:
    """Why no rule may cover a command with these assignments before it."""
    names = (re.split(r"\+?=|\[", setting, maxsplit=1)[0] for setting in settings)
    return VARIABLE if any(_RISKY.fullmatch(name) for name in names) else None


def _export(words: Sequence[Word]) -> bool:
    for word in words:
        match = _ASSIGNMENT.fullmatch(word.text)
        if word.splits or word.glob or match is None or _RISKY.fullmatch(match.group(1)):
            return False
    return bool(words)


def _set(words: Sequence[Word]) -> bool:
    """Only how strict the shell is: `set -euo pipefail`."""
    texts = [word.text for word in words]
    while texts:
        option = texts.pop(0)
        if option[1:].endswith("o") and texts and texts[0] in _SAFE_SET_NAMES:
            texts.pop(0)
            option = option[:-1]
        if not _SAFE_SET.fullmatch(option) and option not in ("-", "+"):
            return False
    return bool(words)


def _test(words: Sequence[Word]) -> bool:
    """Tests of one or two words that are written out; `-v` and `-R` evaluate a subscript."""
    given = list(words)
    while given and given[0].text == "!" and not given[0].open and len(given) > 1:
        given = given[1:]
    if any(word.splits or word.glob for word in given):
        return False
    match [word.text for word in given]:
        case [] | [_]:
            return True
        case [operator, _]:
            return operator in _UNARY and not given[0].open
        case [_, operator, _]:
            return operator in _BINARY and not given[1].open
    return False


def _bracket(words: Sequence[Word]) -> bool:
    return bool(words) and words[-1].text == "]" and _test(words[:-1])


def _printf(words: Sequence[Word]) -> bool:
    """Without `-v` and without `%n`, which put a value into a variable."""
    if words and words[0].text == "--":
        words = words[1:]
    if not words or words[0].open or words[0].glob or words[0].text.startswith("-"):
        return False
    return not _COUNTS.search(words[0].text)


def _no_options(words: Sequence[Word]) -> bool:
    return not any(word.text.startswith(("-", "+")) or may_be_option(word) for word in words)


_CHECKED: Mapping[str, Callable[[Sequence[Word]], bool]] = {
    "export": _export,
    "set": _set,
    "test": _test,
    "[": _bracket,
    "printf": _printf,
    "wait": _no_options,
    "jobs": _no_options,
}
