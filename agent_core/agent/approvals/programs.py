"""What is known of programs that run code from their arguments or their input. Pure tables and readers of options."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agent_core.agent.approvals.words import Word

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})
LIKE_BASH = frozenset({"sh", "bash", "dash"})
"""Shells whose code means what it means to bash, where bash reads it plainly."""
SHELL_OPTIONS = frozenset("celuxvno")
RUNNERS = frozenset({"uv", "poetry", "pdm", "pipenv", "hatch"})
"""`uv run PROGRAM`: they start programs of the project; a rule for them need not name which."""
INTERPRETER = re.compile(r"(python|pypy|perl|ruby|php|lua|luajit|node|nodejs|deno|bun|Rscript|tclsh|osascript)[\d.]*")
STARTS_OTHERS = frozenset({"find", "fd", "fdfind", "git", "tar", "rsync", "ssh", "scp", "docker", "make", "rg", "sed",
                           "env", "xargs", "npm", "npx", "vim"})  # fmt: skip
"""Programs with options that start other programs: what comes out of a variable could be such an option."""

FIND_ACTS = frozenset({"-delete", "-fprint", "-fprint0", "-fprintf", "-fls"})
FIND_STARTS = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"})

_CODE_LETTERS: Mapping[str, str] = {"python": "c", "pypy": "c", "perl": "eE", "ruby": "e", "php": "rBRE", "lua": "e",
                                    "luajit": "e", "node": "ep", "nodejs": "ep", "deno": "", "bun": "ep",
                                    "Rscript": "e", "tclsh": "", "osascript": "e"}  # fmt: skip
_VALUE_LETTERS: Mapping[str, str] = {"python": "WXm", "pypy": "WXm", "perl": "IMmi", "ruby": "IrE", "node": "rC",
                                     "nodejs": "rC", "php": "cdf"}  # fmt: skip
_CODE_WORDS = frozenset({"--eval", "--print", "--run", "eval", "-"})
_CODE_MODULES = frozenset({"timeit", "trace", "code", "pdb", "cProfile", "profile"})
_ABOUT = frozenset({"--version", "-V", "-v", "--help", "-h"})
_AWK = frozenset({"awk", "gawk", "mawk", "nawk"})
_SAFE_SED = re.compile(r"[\d,$;\spdqn=]*|[\d,$\s]*s(?P<m>[/|,#:@!])(?:(?!(?P=m)|\\).|\\.)*(?P=m)(?:(?!(?P=m)|\\).|\\.)*"
                       r"(?P=m)[gpiI\d]*", re.DOTALL)  # fmt: skip
_GIT_CODE = ("-c", "--config-env", "--exec-path", "--upload-pack", "--receive-pack")
_CODE_OPTIONS: Mapping[str, re.Pattern[str]] = {
    "git": re.compile(r"--(upload|receive)-pack|--(open-files-in-pager|ext-diff)|-O[a-z]"),
    "tar": re.compile(r"--(to-c|checkpoint-a|use-c|rsh|info-s|new-vol)|-[a-zA-Z]*[IF]"),
    "rg": re.compile(r"--(pre|hostname-bin)\b"),
    "rsync": re.compile(r"-[a-zA-Z]*e|--rsh|--rsync-path"),
    "ssh": re.compile(r"-o"),
    "sort": re.compile(r"--compress-program"),
    "make": re.compile(r"--eval|-f-|SHELL="),
    "vim": re.compile(r"-[cS]|--cmd|\+"),
    "vi": re.compile(r"-[cS]|--cmd|\+"),
    "gdb": re.compile(r"-ex|-x|--eval"),
    "sqlite3": re.compile(r".*\.(shell|system)|-cmd"),
    "pip": re.compile(r"--(global|install|build)-option"),
}


def has_code(name: str, words: Sequence[Word]) -> bool:
    """Whether a program (by its bare name, not a shell) runs code that stands in its arguments `words`, or that it
    reads from its input because no file is named."""
    if match := INTERPRETER.fullmatch(name):
        return _interpreter_has_code(match.group(1), words)
    if name in _AWK:
        return not any(word.text.startswith(("-f", "--file")) for word in words)
    if name == "sed":
        return not _sed_is_plain(words)
    if name == "git" and any(word.text.startswith(_GIT_CODE) for word in _before_operands(words)):
        return True
    pattern = _CODE_OPTIONS.get(name)
    return pattern is not None and any(pattern.match(word.text) for word in words)


def _before_operands(words: Sequence[Word]) -> list[Word]:
    """Options before git's own command; two of them take the next word."""
    found: list[Word] = []
    for index, word in enumerate(words):
        if not word.text.startswith("-") and (index == 0 or words[index - 1].text not in ("-C", "--git-dir")):
            break
        found.append(word)
    return found


def _interpreter_has_code(kind: str, words: Sequence[Word]) -> bool:
    letters, taking = _CODE_LETTERS[kind], _VALUE_LETTERS.get(kind, "")
    takes_next = False
    for index, word in enumerate(words):
        text = word.text
        if takes_next:
            takes_next = False
            continue
        if text.split("=", 1)[0] in _CODE_WORDS or word.open:
            return True
        if text in _ABOUT and len(words) == 1:
            return False
        if not text.startswith("-"):
            return False
        for place, letter in enumerate(text[1:], 1) if not text.startswith("--") else ():
            if letter in letters:
                return True
            if letter == "m" and kind in ("python", "pypy"):
                return (text[place + 1 :] or "".join(w.text for w in words[index + 1 : index + 2])) in _CODE_MODULES
            if letter in taking:
                takes_next = place == len(text) - 1
                break
    return True


def _sed_is_plain(words: Sequence[Word]) -> bool:
    """Whether the script only prints, deletes or replaces. sed can start programs (`e`) and write files (`w`)."""
    scripts = []
    wanted = True
    for index, word in enumerate(words):
        if word.text in ("-e", "--expression"):
            scripts += [each.text for each in words[index + 1 : index + 2]]
            wanted = False
        elif word.open or word.text.startswith(("-f", "--file", "--expression=", "-e")):
            return False
        elif wanted and not word.text.startswith("-"):
            scripts.append(word.text)
            wanted = False
    return all(_SAFE_SED.fullmatch(script) is not None for script in scripts)
