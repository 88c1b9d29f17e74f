"""Updates of the core as events of our protocol. Pure."""

from __future__ import annotations

import msgspec

from agent_core.turns import events as up
from lsp_server.protocol import events as ev

MAX_ARGUMENTS = 8_000
MAX_DIFF = 60_000


def events_of(session: str, update: up.Update) -> list[ev.AnyEvent]:
    """What a client is told of an update. Approvals are told by whoever knows what they ask."""
    match update:
        case up.SessionOpened(model=model, endpoint=endpoint, note=note):
            return [ev.SessionOpened(session_id=session, model=model, endpoint=endpoint, note=note)]
        case up.TurnBegan(turn=turn, task=task):
            return [ev.TurnBegan(session_id=session, turn_id=turn, title=title_of(task))]
        case up.TextPiece(turn=turn, text=text):
            return [ev.TextDelta(session_id=session, turn_id=turn, text=text)]
        case up.TextVoided(turn=turn, cause=cause):
            return [ev.TextVoided(session_id=session, turn_id=turn, cause=cause)]
        case up.TextDone(turn=turn, text=text):
            return [ev.TextDone(session_id=session, turn_id=turn, text=text)]
        case up.ToolBegan(turn=turn, tool_call=call, name=name, arguments=arguments):
            return [
                ev.ToolBegan(
                    session_id=session, turn_id=turn, tool_call_id=call, name=name, arguments=arguments[:MAX_ARGUMENTS]
                )
            ]
        case up.ToolLine(turn=turn, tool_call=call, line=line):
            return [ev.ToolOutput(session_id=session, turn_id=turn, tool_call_id=call, line=line[:500])]
        case up.ToolEnded():
            return _ended(session, update)
        case up.ApprovalEnded(turn=turn, approval=approval, decision=decision):
            return [ev.ApprovalResolved(session_id=session, turn_id=turn, approval_id=approval, decision=decision)]
        case up.Notice(severity=severity, text=text):
            return [ev.Notice(session_id=session, severity=severity, text=text)]
        case up.InputTaken(turn=turn, input_id=input_id, text=text, fate=fate):
            return [ev.InputTaken(session_id=session, turn_id=turn, input_id=input_id, text=text, fate=fate)]
        case up.TurnUndone(turn=turn, undo=undo, restored=restored, conflicts=conflicts):
            return [
                ev.TurnUndone(session_id=session, turn_id=turn, undo_id=undo, restored=restored, conflicts=conflicts)
            ]
        case up.TurnEnded(turn=turn, status=status, text=text, duration_ms=duration_ms):
            return [ev.TurnEnded(session_id=session, turn_id=turn, status=status, text=text, duration_ms=duration_ms)]
    return []


def title_of(task: str) -> str:
    """The first line of a task, for lists."""
    return task.strip().split("\n", 1)[0][:200]


def _ended(session: str, update: up.ToolEnded) -> list[ev.AnyEvent]:
    result = update.result
    ended = ev.ToolEnded(
        session_id=session,
        turn_id=update.turn,
        tool_call_id=update.tool_call,
        name=update.name,
        status=result.status,
        summary=result.summary,
        diff=result.diff[:MAX_DIFF],
        files_changed=result.files_changed,
        duration_ms=update.duration_ms,
    )
    steps = result.data.get("steps") if update.name == "plan" else None
    if not isinstance(steps, list | tuple):
        return [ended]
    plan = ev.Plan(session_id=session, turn_id=update.turn, steps=msgspec.convert(tuple(steps), tuple[ev.Step, ...]))
    return [ended, plan]
