"""`loopline run`: one turn in a folder, shown live, then its diff, its table and its exit code."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.text import Text

from agent_core.agent import finding
from agent_core.agent.archive import Archive
from agent_core.cli.approver import TerminalFrontEnd
from agent_core.cli.console import CleanConsole, make_console
from agent_core.cli.interrupts import Cancelled
from agent_core.cli.jsonl import JsonLines
from agent_core.cli.table import call_table, suspect_note
from agent_core.cli.terminal import Terminal, diff_text
from agent_core.clock import SystemClock
from agent_core.config.paths import state_dir
from agent_core.errors import FileRefused, LooplineError, UsageError
from agent_core.hosting.manager import Move, OpenOptions, SessionManager
from agent_core.hosting.port import SessionHost
from agent_core.hosting.session import HostOptions
from agent_core.telemetry.display import duration, marked, number
from agent_core.telemetry.emitter import ListSink
from agent_core.telemetry.events import Status
from agent_core.telemetry.journal.of_turn import events_of
from agent_core.telemetry.rollup.rollup import Rollup
from agent_core.telemetry.screen import put, say
from agent_core.tools.workspace.changes import Change
from agent_core.turns.events import Notice, Observer, TurnEnded, TurnEvent
from agent_core.turns.options import CARRY_OUT, Mode, TurnOptions
from agent_core.untrusted_files import open_to_write, read, refuse_link
from agent_core.variables import variables

CANCEL_LIMIT_S = 10.0
"""How long a turn may take to end that was cancelled."""

_EXIT: Mapping[Status, int] = {"completed": 0, "failed": 1, "cancelled": 130, "interrupted": 130}


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of `run`, as typed. `task` "-" reads standard input; `workspace` None: this folder, or those of the
    session that is resumed; `added` are further folders. `flags` are settings by field."""

    task: str
    workspace: Path | None
    flags: Mapping[str, Any]
    json: bool = False
    resume: str | None = None
    """Id, beginning of it, or title of a session; None: a new one."""
    added: tuple[Path, ...] = ()
    mode: Mode = "act"
    go_on: bool = False
    """With the folder's latest session."""
    quiet: bool = False
    """Standard output gets the final answer alone."""
    output: Path | None = None
    """File for the final answer."""
    schema: dict[str, Any] | None = None
    """JSON Schema of the final answer."""

    @property
    def of_turn(self) -> TurnOptions:
        """A level of effort goes with the turn, too, for a session that another process hosts."""
        return TurnOptions(mode=self.mode, effort=self.flags.get("effort"), schema=self.schema)


class Changed(msgspec.Struct):
    """What a run changed in files; `more` counts those that commands changed beyond what is kept count of."""

    files: list[Change] = []
    more: int = 0


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a run came to, for the person or the last JSON line. `more_files`: how many more commands changed."""

    status: Status
    end: TurnEnded | None
    rollup: Rollup
    changes: tuple[Change, ...]
    duration_ms: float
    more_files: int = 0
    structured: bool = False
    """The answer was asked for as JSON."""

    @property
    def answer(self) -> Any:
        """The final answer: its text, or the value that it spells; None where there is none, or it is no JSON."""
        text = self.end.text if self.end is not None and self.status == "completed" else None
        if text is None or not self.structured:
            return text
        try:
            return msgspec.json.decode(text.encode("utf-8", "replace"))
        except msgspec.DecodeError:
            return None

    @property
    def exit_code(self) -> int:
        given = self.end.exit_code if self.end is not None else None
        if given is None and self.structured and self.status == "completed" and self.answer is None:
            return _EXIT["failed"]
        return given if given is not None else _EXIT[self.status]

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
            **({"answer": self.answer} if self.structured else {}),
        }


def run_task(options: RunOptions) -> int:
    """Run and report; returns the exit code. Raises LooplineError for what is wrong before the start."""
    task = sys.stdin.read() if options.task == "-" else options.task
    if not task.strip():
        raise UsageError("the task is empty", hint='say what to do: loopline run "make the failing tests pass"')
    options = msgspec.structs.replace(options, task=task, resume=_session_meant(options))
    if options.output is not None:
        refuse_link(options.output)
    if options.json:
        lines = JsonLines()
        report = asyncio.run(perform(options, lines, CleanConsole(stderr=True, quiet=True)))
        lines.write(report.summary())
    elif options.quiet:
        report = asyncio.run(perform(options, _errors, CleanConsole(stderr=True, quiet=True)))
        if report.end is not None and report.status == "completed":
            put(report.end.text)
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
    if options.output is not None and report.end is not None and report.status == "completed":
        _keep(options.output, report.end.text)
    if options.schema is not None and report.status == "completed" and report.answer is None:
        say("loopline: the answer is no JSON, though a schema was given")
    return report.exit_code


def _session_meant(options: RunOptions) -> str | None:
    """The id of the session to go on with: its id, an unambiguous beginning of it or its title were said, or the
    folder's latest is wanted. Raises UsageError."""
    if options.resume is None and not options.go_on:
        return None
    entries = Archive(state_dir(variables()) / "sessions").entries()
    if options.resume is not None and any(entry.id == options.resume for entry in entries):
        return options.resume
    found = finding.latest(entries, options.workspace or Path()) if options.go_on else None
    return (found or finding.meant(entries, options.resume or "")).id


def _errors(event: TurnEvent) -> None:
    """Of a quiet run only what went wrong is told, on standard error."""
    if isinstance(event, Notice) and event.severity == "error":
        say(f"loopline: {event.text}")


def _keep(path: Path, text: str) -> None:
    try:
        with os.fdopen(open_to_write(path), "w", encoding="utf-8", errors="replace") as out:
            out.write(text + "\n")
    except OSError as error:
        raise UsageError(f"the answer can't be written to {path}: {error.strerror}") from error


MAX_SCHEMA_BYTES = 1 << 20


def read_schema(path: Path) -> dict[str, Any]:
    """Raises UsageError for what is no JSON object. Any link counts: the user named the file."""
    real = Path(os.path.realpath(path))
    try:
        found = msgspec.json.decode(read(real.parent, real.name, MAX_SCHEMA_BYTES))
    except FileRefused as refused:
        raise UsageError(f"no schema in {path}: {refused.message}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError(f"no schema in {path}: {error}") from error
    except RecursionError:
        raise UsageError(f"no schema in {path}: nested too deeply") from None
    if not isinstance(found, dict):
        raise UsageError(f"no schema in {path}: a JSON Schema is an object")
    return found


async def perform(options: RunOptions, observer: Observer, console: Console) -> Report:
    """Host a session, run the turn, and count. SIGINT, SIGTERM and SIGHUP cancel it; then the report says so."""
    events = ListSink()
    end: TurnEnded | None = None
    changed = Changed()
    loop = asyncio.get_running_loop()
    started_s = loop.time()
    with Cancelled() as cancelled:
        try:
            end = await _ended(options, observer, console, events, changed)
        except asyncio.CancelledError:
            if not cancelled.by_signal:
                raise
    status: Status = "cancelled" if cancelled.by_signal else end.status if end else "failed"
    return Report(
        status=status,
        end=end,
        rollup=Rollup().fold_all(events.events),
        changes=tuple(changed.files),
        more_files=changed.more,
        duration_ms=(loop.time() - started_s) * 1000,
        structured=options.schema is not None,
    )


async def _ended(
    options: RunOptions, observer: Observer, console: Console, events: ListSink, changed: Changed
) -> TurnEnded:
    """Say the task to the session, wherever it is hosted, and wait for the end of the turn that takes it. Cancelled:
    the turn is cancelled, and what it changed until then counted."""
    manager = SessionManager(variables(), SystemClock())
    try:
        session = await _session(manager, options, observer, console, events)
        said = await session.say(options.task, options=options.of_turn)
        if said.fate == "steered":
            observer(Notice(severity="info", text="said to the turn that runs; its next call takes it along"))
        try:
            end = await session.ended(said.turn)
        except asyncio.CancelledError:
            await _cancel(session, said.turn)
            raise
        finally:
            changes = await session.changes(said.turn)
            changed.files, changed.more = list(changes.files), changes.more
        if session.view().place == "attached" and end.status != "interrupted":
            events.events[:] = await events_of(state_dir(variables()), session.id, said.turn)
        return end
    finally:
        await manager.close()


async def _session(
    manager: SessionManager, options: RunOptions, observer: Observer, console: Console, events: ListSink
) -> SessionHost:
    """A new session, or the one that is resumed; its approvals are asked on the terminal."""
    here = () if options.resume else (Path(),)
    host_options = HostOptions(
        roots=here if options.workspace is None else (options.workspace,),
        client="cli",
        flags=options.flags,
        as_it_was=options.resume is not None,
        use_venv=True,
        added=options.added,
        remote_turns=False,
    )

    def moved(session_id: str, move: Move, text: str) -> None:
        observer(Notice(severity="warning" if move == "lost" else "info", text=text))

    open_options = OpenOptions(
        settings=lambda model: host_options,
        front_end=TerminalFrontEnd(console),
        observer=observer,
        sink=events,
        moved=moved,
        wait=True,
    )
    if options.resume is not None:
        return await manager.open(options.resume, open_options)
    session = manager.new(open_options)
    await session.ready()
    return session


async def _cancel(session: SessionHost, turn_id: str) -> None:
    with contextlib.suppress(LooplineError, TimeoutError):
        async with asyncio.timeout(CANCEL_LIMIT_S):
            await session.cancel(turn_id)
            await session.ended(turn_id)


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
