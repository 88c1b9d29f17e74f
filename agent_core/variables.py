"""The variables that this process was started with, and the owner of those among them that hold keys.

`take_keys` moves these out of `os.environ` when a command starts, and blanks them where the kernel shows them: from
then on neither a library, nor a process that one starts with what it inherits, nor another process of the user finds
them there. Who needs them asks `variables`, which is also how the rest of the environment is read
(`tests/architecture/test_variables.py` finds whoever looks elsewhere). What a child gets is made from a list:
`launch.own_environment` for processes of ours, `tools/commands/environment.py` for those of the agent.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress

_KEY = re.compile(
    r"(?:^|_)(?:API_?KEYS?|ACCESS_?KEYS?|PRIVATE_?KEYS?|SECRETS?(?:_?KEY)?|(?:AUTH)?TOKENS?|PASSWORDS?|PASSWD|PASSPHRASE|"
    r"CREDENTIALS?)(?:_|$)|^LOOPLINE_.*KEY$|^PGPASSWORD$|^OTEL_.*HEADERS$",
    re.IGNORECASE,
)
_ENV_START = 49
"""Field 50 of proc_pid_stat(5): where the variables begin."""

_taken: dict[str, str] = {}


def holds_key(name: str) -> bool:
    """Whether a variable holds a key, by its name alone."""
    return _KEY.search(name) is not None


def variables() -> dict[str, str]:
    """All variables, keys among them: a copy, which is the caller's."""
    return {**os.environ, **_taken}


def take_keys() -> None:
    """Take the keys out of this process's environment, at the start of a command."""
    found = [name for name in os.environ if holds_key(name)]
    for name in found:
        _taken[name] = os.environ.pop(name)
    if found:
        _blank(found)


def _blank(names: Iterable[str]) -> None:
    """Blank the values where the kernel shows them: `/proc/PID/environ` (proc_pid_environ(5)) is the memory that the
    process was started with, and it is ours to clear. Nothing where there is no Linux."""
    wanted = frozenset(names)
    with suppress(OSError, ValueError, IndexError):
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123
            text = file.read()
        # The name may hold anything, so count from its closing bracket: the state is field 3.
        begin = int(text[text.rindex(b")") + 2 :].split()[_ENV_START - 2])
        with open("/proc/self/environ", "rb") as file:  # noqa: PTH123
            shown = file.read()
        with open("/proc/self/mem", "r+b", buffering=0) as memory:  # noqa: PTH123
            at = 0
            for entry in shown.split(b"\0"):
                name, equals, value = entry.partition(b"=")
                if equals and value and os.fsdecode(name) in wanted:
                    memory.seek(begin + at + len(name) + 1)
                    memory.write(b"\0" * len(value))
                at += len(entry) + 1
