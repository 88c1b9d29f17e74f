"""`loopline` without a command: the interactive session. The parser of options takes a quarter of the time to the
prompt, so it is loaded only where there are options to parse."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from dashboard.agent.sessions.options import AgentOptions


def main(arguments: list[str]) -> None:
    """Entry point."""
    options = read_plain(arguments)
    if options is None:
        from dashboard.agent.command_line import parse

        parse(arguments)
        return
    from dashboard.agent.command import agent_command

    sys.exit(agent_command(options))


def read_plain(arguments: Sequence[str]) -> AgentOptions | None:
    """What a command line means that needs no parser: a task alone, `-c` or `-r` alone, nothing. None: another one."""
    match list(arguments):
        case []:
            return AgentOptions()
        case ["-c" | "--continue"]:
            return AgentOptions(latest=True)
        case ["-r" | "--resume"]:
            return AgentOptions(resume="")
        case [task] if not task.startswith("-"):
            return AgentOptions(task=task)
    return None
