"""What the commands of the conversation do. Loaded after the first picture: hosting a session costs half a second."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import msgspec

from agent_core.agent import finding
from agent_core.agent.archive import Entry
from agent_core.agent.context.git_repository import find_repository
from agent_core.config.load import load
from agent_core.config.settings import Effort
from agent_core.errors import LooplineError, UsageError
from agent_core.tools.workspace.walk import walk
from agent_core.turns.options import Mode
from agent_core.variables import variables
from dashboard.agent.conversation.blocks import Tool
from dashboard.agent.conversation.markdown_out import as_markdown
from dashboard.agent.figures import SessionFigures
from dashboard.agent.front import Front
from dashboard.agent.outside import write_outside
from dashboard.agent.own_command import OwnCommand
from dashboard.agent.sessions.desk import SessionDesk
from dashboard.agent.sheets import Choice, PickSheet
from dashboard.state.format import duration, money, number

EFFORTS: tuple[str, ...] = get_args(Effort)
MAX_FILES = 20_000
FILES_AGE_S = 15.0
"""How long a list of files is good for."""


class Doing:
    """Owns the desk of sessions and the figures; works for one app."""

    def __init__(self, app: Front) -> None:
        self._app = app
        self.figures = SessionFigures()
        self.desk = SessionDesk(app.options, app.clock, app.talk, self.figures, app.talk.moved)
        self._listed_s = float("-inf")
        self._listing = False
        self._commands = 0
        self.own: OwnCommand | None = None
        """The person's command that runs."""

    def start(self) -> None:
        """What the status line says from settings and folder."""
        app = self._app
        try:
            settings = load(workspace=app.root, flags=app.options.flags).settings
        except LooplineError as error:
            app.say_wrong(error)
            return
        app.notify_by = settings.notify
        repository = find_repository(app.root)
        app.settled = msgspec.structs.replace(
            app.settled,
            model=settings.model or app.settled.model,
            approve=settings.approve,
            effort=settings.effort or "",
            mode=app.talk.options.mode,
            branch=repository.branch if repository is not None else "",
            context_size=settings.compact_at or None,
        )

    async def begin(self) -> None:
        """Take up the session that the command line asks for."""
        options = self._app.options
        chosen = await self.pick(await self.desk.entries()) if options.resume == "" else options.resume
        if chosen:
            self._app.show(await self.desk.open(chosen))
        else:
            self._app.show(self.desk.new())
        if options.task:
            self._app.talk.say(options.task, options.task, queue=False)

    def stop_own(self) -> bool:
        """Stop the person's command; False: none runs."""
        return self.own is not None and self.own.stop()

    async def close(self) -> None:
        self.stop_own()
        await self._app.talk.stopped()
        self._app.talk.leave()
        await self.desk.close()

    # Files

    def want_files(self) -> None:
        """List the folder's files for completion, if the list is not fresh."""
        if self._listing or self._app.now_s() - self._listed_s < FILES_AGE_S:
            return
        self._listing = True
        self._app.in_background(self._list_files(), "files")

    async def _list_files(self) -> None:
        try:
            files = await asyncio.to_thread(_files, str(self._app.root))
        finally:
            self._listing = False
        self._listed_s = self._app.now_s()
        composer = self._app.conversation.composer
        composer.files = files
        composer.offer_again()

    # Commands

    def command(self, name: str, argument: str) -> None:
        """Do a command of the table."""
        do = getattr(self, f"_{name}")
        try:
            do(argument)
        except LooplineError as error:
            self._app.say_wrong(error)

    def _new(self, argument: str) -> None:
        self._app.show(self.desk.new())

    def _resume(self, argument: str) -> None:
        self._app.in_background(self._resumed(argument), "resume")

    async def _resumed(self, argument: str) -> None:
        entries = await self.desk.entries()
        if argument:
            self._app.show(await self.desk.open(finding.meant(entries, argument).id))
            return
        chosen = await self.pick(entries)
        if chosen is not None:
            self._app.show(await self.desk.open(chosen))

    async def pick(self, entries: Sequence[Entry]) -> str | None:
        """Ask which session; those of this folder come first."""
        here = finding.of_folder(entries, self._app.root)
        listed = [*here, *(entry for entry in entries if entry not in here and not entry.problem)]
        choices = [
            Choice(entry.id, f"{entry.created[:16].replace('T', ' ')}  {entry.title or entry.id}", _about(entry))
            for entry in listed
        ]
        chosen: str | None = await self._app.choose(PickSheet("Go on with a session", choices, "there is none yet"))
        return chosen

    def _fork(self, argument: str) -> None:
        self._app.in_background(self._forked(), "resume")

    async def _forked(self) -> None:
        host = self._app.talk.host
        if host is None:
            return
        from agent_core.clock import rfc3339

        created = rfc3339(self._app.clock.wall_ns())
        copy = await asyncio.to_thread(self.desk.archive.fork, host.id, created)
        self._app.show(await self.desk.open(copy))
        self._app.note("a copy of the session; the first one is as it was")

    def _model(self, argument: str) -> None:
        host = self._app.talk.host
        if host is None or not argument:
            self._app.note(f"model: {self._app.talk.model or 'not known yet'}")
            return
        host.reconfigure(model=argument)
        self._app.talk.model = argument
        self._app.note(f"from the next turn on: {argument}")

    def _approve(self, argument: str) -> None:
        if argument not in ("auto", "ask", "never"):
            raise UsageError("/approve takes auto, ask or never")
        self.desk.change(approve=argument)
        host = self._app.talk.host
        if host is not None:
            host.reconfigure()
        self._app.settled = msgspec.structs.replace(self._app.settled, approve=argument)
        self._app.note(f"from the next turn on: {argument}")

    def _diff(self, argument: str) -> None:
        self._app.in_background(self._changes(), "diff")

    async def _changes(self) -> None:
        host, turn = self._app.talk.host, self._app.talk.page.last_turn
        if host is None or turn is None:
            self._app.note("no turn yet")
            return
        changes = await host.changes(turn)
        if not changes.files:
            self._app.note("the latest turn changed no file")
        for change in changes.files:
            who = "" if change.by == "edit" else " by a command"
            block = Tool(
                key=f"diff {turn} {change.path} {self._app.now_s()}",
                name="diff",
                arguments=change.path,
                status="ok",
                summary=f"+{change.added} -{change.removed}{who}",
                diff=change.diff,
            )
            self._app.talk.page.put(block)
        self._app.conversation.mark_dirty()

    def _export(self, argument: str) -> None:
        host = self._app.talk.host
        name = argument or f"{host.id if host is not None else 'session'}.md"
        path = self._app.root / Path(name).expanduser()
        text = as_markdown(self._app.talk.page.blocks)
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from None
        self._app.note(f"written to {path}")

    def _effort(self, argument: str) -> None:
        """For the turns from now on; "" tells which one it is."""
        talk = self._app.talk
        if argument:
            if argument not in EFFORTS:
                raise UsageError(f"/effort takes one of {', '.join(EFFORTS)}")
            talk.options = msgspec.structs.replace(talk.options, effort=argument)
        effort = talk.options.effort or self._app.settled.effort
        self._app.settled = msgspec.structs.replace(self._app.settled, effort=effort)
        self._app.note(f"effort: {effort or 'the model decides'}")

    def _plan(self, argument: str) -> None:
        self._mode("plan", "nothing is written and no command can write; the answer is a plan, /act carries on")

    def _act(self, argument: str) -> None:
        self._mode("act", "what is asked for is done")

    def _mode(self, mode: Mode, words: str) -> None:
        talk = self._app.talk
        talk.options = msgspec.structs.replace(talk.options, mode=mode)
        self._app.settled = msgspec.structs.replace(self._app.settled, mode=mode)
        self._app.note(f"{mode}: {words}")

    def _undo(self, argument: str) -> None:
        self._app.talk.undo()

    def _redo(self, argument: str) -> None:
        self._app.talk.undo(redo=True)

    def _compact(self, argument: str) -> None:
        self._app.talk.compact()

    def _status(self, argument: str) -> None:
        talk, settled = self._app.talk, self._app.settled
        host = talk.host
        lines = [
            f"session   {host.id if host is not None else '–'}",
            f"model     {talk.model or '–'}{f' ({talk.note})' if talk.note else ''}",
            f"service   {talk.endpoint or '–'}",
            f"folder    {self._app.root}{f' on {settled.branch}' if settled.branch else ''}",
            f"approve   {settled.approve}",
        ]
        self._app.note("\n".join(lines))

    def _cost(self, argument: str) -> None:
        self.figures.fold()
        host = self._app.talk.host
        summary = self.figures.state.rollup.summary()
        standing = self.figures.standing(host.id if host is not None else "", self._app.clock.wall_ns())
        partial = " and what is not known" if standing.cost_partial else ""
        if not summary.calls:
            self._app.note("no call since this terminal took the session up")
            return
        self._app.note(
            f"{summary.calls} calls, {number(summary.input_tokens)} tokens in, {number(summary.cached_tokens)} of them "
            f"cached, {number(summary.output_tokens)} out; {money(standing.cost_usd)}{partial}; "
            f"median time to the first token {duration(summary.ttft_ms_p50)}"
        )

    def _help(self, argument: str) -> None:
        from dashboard.agent.composing.commands import COMMANDS
        from dashboard.agent.keys import KEYS

        width = max(len(key) for key, _ in KEYS)
        lines = [f"{key.ljust(width)}  {what}" for key, what in KEYS]
        commands = [f"/{each.name} {each.argument}".ljust(width + 12) + each.what for each in COMMANDS]
        self._app.note("\n".join(["keys", *lines, "", "commands", *commands]))

    def own_command(self, command: str) -> None:
        """Run a command of the person's own; its output goes along with the next message."""
        self._app.in_background(self._ran(command), "own command")

    async def _ran(self, command: str) -> None:
        def told(block: Tool) -> None:
            self._app.talk.page.put(block)
            self._app.conversation.mark_dirty()

        self._commands += 1
        ran = OwnCommand(f"own {self._commands}", command, self._app.root, told, self._app.now_s)
        self.own = ran
        try:
            self._app.talk.share(await ran.run())
        finally:
            self.own = None

    def edit_outside(self) -> None:
        """Write the message in the editor that `VISUAL` or `EDITOR` names."""
        composer = self._app.conversation.composer
        with self._app.suspend():
            text = write_outside(composer.chips.whole(composer.text), variables())
        self._app.redraw()
        if text is None:
            self._app.note("no editor: set VISUAL or EDITOR")
        else:
            composer.put(text.rstrip("\n"))


def _about(entry: Entry) -> str:
    turns = f"{entry.turns} turn{'s' if entry.turns != 1 else ''}"
    held = " · runs elsewhere" if entry.host_pid is not None else ""
    return f"{turns} · {entry.model or '–'} · {', '.join(Path(root).name for root in entry.roots)}{held}"


def _files(root: str) -> list[str]:
    found: list[str] = []
    for entry in walk(root, ""):
        found.append(entry.relative + "/" if entry.is_folder else entry.relative)
        if len(found) >= MAX_FILES:
            break
    return found
