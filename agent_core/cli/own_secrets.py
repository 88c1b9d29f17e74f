"""Keys do not stay where other processes of the user could read them: in the environment as the kernel shows it.

Python has its own copy of the variables by then, which the settings and keys are read from; what the kernel shows
(`/proc/PID/environ`, proc_pid_environ(5)) is the memory that the process was started with, and it is ours to clear.
"""

from __future__ import annotations

import os
from contextlib import suppress

_ENV_START = 49
"""Field 50 of proc_pid_stat(5): where the variables begin."""


def clear_shown_secrets() -> None:
    """Blank the values of variables that hold keys, by their names. Nothing where there is none, or no Linux."""
    from agent_core.tools.workspace.secret_names import without_secrets

    secret = os.environ.keys() - without_secrets(os.environ).keys()
    if not secret:
        return
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
                if equals and value and os.fsdecode(name) in secret:
                    memory.seek(begin + at + len(name) + 1)
                    memory.write(b"\0" * len(value))
                at += len(entry) + 1
