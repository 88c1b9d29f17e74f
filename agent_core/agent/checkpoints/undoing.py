"""Undo of a turn as a session does it: files, conversation, and what the model and the front ends are told."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from agent_core.agent.checkpoints.checkpoints import Checkpoints
from agent_core.agent.checkpoints.undo import UndoReport
from agent_core.agent.checkpoints.undo import undo as undo_files
from agent_core.agent.context.fragments import message
from agent_core.agent.history import History
from agent_core.clock import new_id
from agent_core.errors import UsageError
from agent_core.tools.workspace.workspace import Workspace
from agent_core.turns.events import Observer, TurnUndone


class Parts(Protocol):
    """What of a session is needed."""

    @property
    def checkpoints(self) -> Checkpoints | None: ...
    @property
    def workspace(self) -> Workspace: ...
    @property
    def history(self) -> History: ...
    @property
    def observer(self) -> Observer: ...


def recording(checkpoints: Checkpoints | None, turn: str) -> AbstractContextManager[None]:
    """What tools write in here belongs to `turn`."""
    return checkpoints.recording(turn) if checkpoints is not None else nullcontext()


async def undo(
    parts: Parts, begins: Mapping[str, tuple[int, int]], turn: str, *, files: bool, conversation: bool
) -> UndoReport:
    """`begins` says for each turn of this process where the context and the turn start in the history."""
    checkpoints = parts.checkpoints
    known = any(record.turn == turn for record in parts.history.turns)
    if not known and not (checkpoints is not None and checkpoints.knows(turn)):
        raise UsageError(f"no turn {turn!r} in this session", code="unknown_turn")
    if files and (checkpoints is None or not checkpoints.store.open):
        raise UsageError("nothing is kept for undoing", code="undo_off", hint="set `checkpoints.mb` above 0")
    if conversation and turn not in begins:
        raise UsageError("the conversation can't be taken back to before that turn", code="undo_unavailable")
    report = UndoReport(turn=turn, undo=None)
    if files and checkpoints is not None:
        report = await undo_files(checkpoints, parts.workspace, turn, new_id("undo"))
    if conversation:
        context, begin = begins[turn]
        parts.history.compact(parts.history.items.raw(context)[: begin - context], "undone", turn)
    if files:
        parts.history.append([message("developer", _note(report))])
    restored = tuple(file.path for file in report.restored)
    conflicts = tuple(dict.fromkeys(conflict.path for conflict in report.conflicts))
    undone = TurnUndone(
        session_id=parts.history.header.id, turn_id=turn, restored=restored, conflicts=conflicts, undo_id=report.undo
    )
    parts.observer(undone)
    return report


def _note(report: UndoReport) -> str:
    """For the model: it must not count on what it did."""
    if not report.restored and not report.conflicts:
        return "The user asked to undo an earlier turn; no file needed a change."
    lines = ["The user undid what an earlier turn of yours changed in files. Read files again before you rely on them."]
    lines += [f"{file.path}: {file.what}" for file in report.restored]
    for clash in report.conflicts:
        where = f" lines {clash.first}-{clash.last}" if clash.first is not None else ""
        lines.append(f"{clash.path}{where}: not undone, {clash.reason}")
    return "\n".join(lines)
