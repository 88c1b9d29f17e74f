"""The command line `loopline`.

app.py        the commands and their options; loads nothing heavy until a command runs
manage.py     commands for what is kept: sessions, settings, keys, telemetry, doctor (one module each)
start.py      whether a command line means the conversation; errors to exit codes
agents.py     `agents`: sessions that go on without a terminal
plugins.py    commands of the other packages, by entry points
run.py        `run`: a session on a terminal or as JSON lines, and its exit code
interrupts.py what a signal does to a run
demo.py       `demo`: the same on the sample, twice
serve.py      `serve`: options of the Responses service
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
        from agent_core.cli.start import run_command_line
        from agent_core.variables import take_keys

        take_keys()
        run_command_line()
    except KeyboardInterrupt:
        sys.exit(130)
