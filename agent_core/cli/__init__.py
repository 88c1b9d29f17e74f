"""The command line `loopline`.

app.py        the commands and their options; loads nothing heavy until a command runs
manage.py     commands for what is kept: sessions, settings, keys, telemetry, doctor (one module each)
start.py      whether a command line means the conversation
agents.py     `agents`: sessions that go on without a terminal
plugins.py    commands of the other packages, by entry points
run.py        `run`: a session on a terminal or as JSON lines, and its exit code
interrupts.py what a signal does to a run
demo.py       `demo`: the same on the sample, twice
serving/      `serve`: options of the Responses service, and its keys
console.py    the console commands print on: everything on it is cleaned, nothing is markup
terminal.py   how a session looks in a terminal
jsonl.py      the same as JSON lines
table.py      the table of calls at the end
approver.py   approvals asked on the terminal
"""

from __future__ import annotations


def main() -> None:
    """Entry point of the console script."""
    import sys

    try:
        from agent_core.variables import take_keys

        take_keys()
        run_command_line(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)


def run_command_line(arguments: list[str]) -> None:
    """Run what was said; every error of ours becomes one line, a hint and its exit code."""
    import sys

    from agent_core.cli.start import converse, is_interactive
    from agent_core.errors import LooplineError
    from agent_core.telemetry.screen import guard_streams, say

    guard_streams()
    try:
        if is_interactive(arguments) and sys.stdin.isatty() and sys.stdout.isatty():
            converse(arguments)
        else:
            from agent_core.cli.app import app

            app(arguments)
    except LooplineError as error:
        say(f"loopline: {error.message}")
        if error.hint:
            say(f"  hint: {error.hint}")
        sys.exit(error.exit_code)
