"""`loopline run`: one turn in a folder, shown live, then its diff, its table and its exit code."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.text import Text

from agent_core.agent.approvals.policy import Approver
from agent_core.agent.turn import Outcome
from agent_core.cli.approver import approver_for
from agent_core.cli.console import CleanConsole, make_console
from agent_core.cli.interrupts import Cancelled
from agent_core.cli.jsonl import JsonLines
from agent_core.cli.table import call_table, suspect_note
from agent_core.cli.terminal import Terminal, diff_text
from agent_core.config import state_dir
from agent_core.control.lock import SessionHeld
from agent_core.control.messages import ControlError
from agent_core.errors import UsageError
from agent_core.hosting.session import Hosted, HostOptions, host_session
from agent_core.telemetry.display import duration, marked, number
from agent_core.telemetry.emitter import ListSink
from agent_core.telemetry.events import Status
from agent_core.telemetry.rollup.rollup import Rollup
from agent_core.tools.workspace.changes import Change
from agent_core.turns.events import Observer
from agent_core.turns.options import CARRY_OUT, Mode, TurnOptions

LOOKS, LOOK_AGAIN_S = 10, 0.2
"""How often a session is looked at again whose host does not answer and still holds it."""

_EXIT: Mapping[Status, int] = {"completed": 0, "failed": 1, "cancelled": 130, "interrupted": 130}


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of `run`, as typed. `task` "-" reads standard input; `workspace` None: this folder, or those of the
    session that is resumed; `python` overrides the setting."""

    task: str
    workspace: Path | None
    flags: Mapping[str, Any]
    json: bool = False
    resume: str | None = None
    python: str | None = None
    mode: Mode = "act"

    @property
    def of_turn(self) -> TurnOptions:
        """A level of effort goes with the turn, too, for a session that another process hosts."""
        return TurnOptions(mode=self.mode, effort=self.flags.get("effort"))


class Changed(msgspec.Struct):
    """What a run changed in files; `more` counts those that commands changed beyond what is kept count of."""

    files: list[Change] = []
    more: int = 0


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a run came to, for the person or the last JSON line. `more_files`: how many more commands changed."""

    status: Status
    outcome: Outcome | None
    rollup: Rollup
    changes: tuple[Change, ...]
    duration_ms: float
    more_files: int = 0

    @property
    def exit_code(self) -> int:
        error = self.outcome.error if self.outcome else None
        return error.exit_code if error is not None else _EXIT[self.status]

    def summary(self) -> dict[str, Any]:
        """The last line of `--json`."""
        return {
            "type": "summary",
            "status": self.status,
            **msgspec.structs.asdict(self.rollup.summary()),
            "files_changed": [change.path for change in self.changes],
            "files_by_command": [change.path for change in self.changes if change.by != "edit"],
            **({"more_files": self.more_files} if self.more_files else {}),
            "duration_ms": round(self.duration_ms, 1),
        }


def run_task(options: RunOptions) -> int:
    """Run and report; returns the exit code. Raises LooplineError for what is wrong before the start."""
    task = sys.stdin.read() if options.task == "-" else options.task
    if not task.strip():
        raise UsageError("the task is empty", hint='say what to do: loopline run "make the failing tests pass"')
    options = msgspec.structs.replace(options, task=task)
    if options.json:
        lines = JsonLines()
        report = asyncio.run(perform(options, lines, CleanConsole(stderr=True, quiet=True)))
        lines.write(report.summary())
    else:
        console = make_console()
        terminal = Terminal(console)
        try:
            report = asyncio.run(perform(options, terminal, console))
        finally:
            terminal.close()
        show(console, report)
        if options.mode == "plan" and report.status == "completed" and terminal.session_id:
            go_on = f'loopline run --resume {terminal.session_id} "{CARRY_OUT}"'
            console.print(Text(f"a plan, nothing was changed; to carry it out: {go_on}", style="cyan"), soft_wrap=True)
    return report.exit_code


async def perform(options: RunOptions, observer: Observer, console: Console) -> Report:
    """Host a session, run the turn, and count. SIGINT, SIGTERM and SIGHUP cancel it; then the report says so."""
    events = ListSink()
    outcome: Outcome | None = None
    changed = Changed()
    loop = asyncio.get_running_loop()
    started_s = loop.time()
    with Cancelled() as cancelled:
        try:
            outcome = await _outcome(options, observer, approver_for(console), events, changed)
        except asyncio.CancelledError:
            if not cancelled.by_signal:
                raise
    status: Status = "cancelled" if cancelled.by_signal else outcome.status if outcome else "failed"
    return Report(
        status=status,
        outcome=outcome,
        rollup=Rollup().fold_all(events.events),
        changes=tuple(changed.files),
        more_files=changed.more,
        duration_ms=(loop.time() - started_s) * 1000,
    )


async def _outcome(
    options: RunOptions, observer: Observer, approver: Approver, events: ListSink, changed: Changed
) -> Outcome:
    """Run the task in a session hosted here; in one that lives in another process, say it there."""
    here = () if options.resume else (Path(),)
    host_options = HostOptions(
        roots=here if options.workspace is None else (options.workspace,),
        client="cli",
        flags=options.flags,
        resume=options.resume,
        as_it_was=options.resume is not None,
        use_venv=True,
        python=options.python,
        remote_turns=False,
    )
    for looks_left in range(LOOKS, -1, -1):
        try:
            async with host_session(host_options, observer=observer, approver=approver, sinks=(events,)) as hosted:
                return await _turn(hosted, options, changed)
        except SessionHeld as held:
            from agent_core.cli.attached import say_attached

            session, states = options.resume or "", state_dir(host_options.env)
            try:
                shared = await say_attached(
                    held,
                    session,
                    options.task,
                    options=options.of_turn,
                    observer=observer,
                    approver=approver,
                    states=states,
                )
            except ControlError as error:
                if error.code not in ("control_gone", "control_ending") or not looks_left:
                    raise
                await asyncio.sleep(LOOK_AGAIN_S)  # its host just ends; then the session is ours to take over
                continue
            events.events += shared.events
            changed.files += shared.changes
            changed.more = shared.more_files
            return shared.outcome
    raise AssertionError("the last look returns or raises")


async def _turn(hosted: Hosted, options: RunOptions, changed: Changed) -> Outcome:
    try:
        return await hosted.session.run_turn(options.task, options.of_turn)
    finally:
        changed.files += await hosted.workspace.net_changes()
        changed.more = hosted.workspace.changes.left_out


def show(console: Console, report: Report) -> None:
    """The end of a run: net diff, one line of result, the table of calls."""
    if report.changes:
        console.print()
        for change in report.changes:
            if change.by != "edit" or not change.diff:
                console.print(_heading(change), soft_wrap=True)
            if change.diff:
                console.print(diff_text(change.diff), soft_wrap=True)
        if report.more_files:
            console.print(f"and {report.more_files:,} more files, changed by commands", style="dim")
    console.print()
    console.print(_verdict(report), soft_wrap=True)
    rows = report.rollup.call_rows()
    if rows:
        console.print()
        console.print(call_table(rows, console.width))
        console.print(_totals(report), style="dim")
        if note := suspect_note(rows):
            console.print(note, style="yellow")


def _heading(change: Change) -> Text:
    """What a diff does not say by itself: who changed the file, where it was not an edit, and why there is no diff."""
    who = {"edit": "edited", "command": "by a command", "both": "edited, and changed by a command"}[change.by]
    return Text(f"{change.path}: {who}" + ("" if change.diff else " (no text, or too large for a diff)"), style="cyan")


def _verdict(report: Report) -> Text:
    summary = report.rollup.summary()
    words, style = {
        "completed": ("✓ done", "bold green"),
        "failed": ("✗ failed", "bold red"),
        "cancelled": ("■ cancelled", "bold yellow"),
        "interrupted": ("■ interrupted", "bold yellow"),
    }[report.status]
    text = Text(f"{words} in {summary.calls} calls, {duration(report.duration_ms)}", style=style)
    files = len(report.changes) + report.more_files
    added = sum(change.added for change in report.changes)
    removed = sum(change.removed for change in report.changes)
    changed = f"diff: {files} file{'s' if files != 1 else ''}, +{added} -{removed}" if files else "no file changed"
    return text.append(f"     {changed}", style="default not bold")


def _totals(report: Report) -> Text:
    summary, suspect = report.rollup.summary(), report.rollup.groups.total.suspect

    def told(count: int | None, name: str) -> str:
        return marked(number(count), suspect=bool(suspect[name]))

    return Text(
        f"{summary.connections} connection{'s' if summary.connections != 1 else ''} · "
        f"{summary.reused_calls} chained, {summary.full_resends} in full · "
        f"{told(summary.input_tokens, 'input_tokens')} tokens in, "
        f"{told(summary.cached_tokens, 'cached_tokens')} of them cached, "
        f"{told(summary.output_tokens, 'output_tokens')} out"
    )
