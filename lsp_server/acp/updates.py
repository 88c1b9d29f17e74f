"""What happens in a session, as `session/update` tells it. Pure: turn events in, updates out.

What is ours goes into `_meta.loopline`: the figures of each call, and of what a tool call came to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent_core.telemetry.display import shown
from agent_core.turns.events import (
    ApprovalAsked,
    ContextSize,
    Notice,
    Plan,
    ReasoningDelta,
    ReasoningDone,
    Step,
    TextDelta,
    TextDone,
    TextVoided,
    ToolBegan,
    ToolEnded,
    ToolOutput,
    TurnBegan,
    TurnEnded,
    TurnEvent,
    TurnUndone,
)
from lsp_server.acp import tool_calls as calls
from lsp_server.acp.lines import Json
from lsp_server.protocol.events import Call

_STEPS = {"active": "in_progress", "doing": "in_progress", "done": "completed"}
KEPT_LINES = 20
"""Of a running tool's output."""


class Updates:
    """Of one session: what was told of the running call, so that nothing is told twice. `placed` gives the absolute
    path of one that events show."""

    def __init__(self, placed: Callable[[str], str]) -> None:
        self._placed = placed
        self._begin()

    def _begin(self) -> None:
        self._streamed = ""
        self._thought = False
        self._told: set[str] = set()
        self._lines: dict[str, list[str]] = {}

    def of(self, event: TurnEvent) -> list[Json]:
        match event:
            case TurnBegan() | TurnEnded():
                self._begin()
            case TextDelta(text=text):
                self._streamed += text
                return [message(text)]
            case TextDone(text=text):
                streamed, self._streamed = self._streamed, ""
                if text.startswith(streamed):
                    return [message(text[len(streamed) :])] if text != streamed else []
                return [message(f"\n\n{text}")]
            case TextVoided(cause=cause):
                streamed, self._streamed, self._thought = self._streamed, "", False
                return [thought(f"\n[the reply starts anew: {cause}]\n")] if streamed else []
            case ReasoningDelta(text=text):
                self._thought = True
                return [thought(text)]
            case ReasoningDone(text=text):
                thought_before, self._thought = self._thought, False
                return [thought(text)] if text and not thought_before else []
            case Notice(severity=severity, text=text) if severity != "info":
                return [thought(f"\n[{severity}: {text}]\n")]
            case ContextSize(tokens=tokens, window_tokens=int(window_tokens)):
                return [usage(tokens, window_tokens)]
            case Plan(steps=steps):
                return [plan(steps)]
            case TurnUndone():
                return [message(undone(event))]
            case ApprovalAsked(approval=approval) if approval.tool_call_id:
                begun = _start(approval.tool_call_id, calls.titled(approval.name, approval.subject), approval.name)
                return self._once(approval.tool_call_id, begun)
            case ToolBegan():
                return self._began(event)
            case ToolOutput(tool_call_id=call, line=line):
                lines = self._lines.setdefault(call, [])
                lines.append(line)
                del lines[:-KEPT_LINES]
                return [_progress(call, status="in_progress", content=[calls.text_content("\n".join(lines))])]
            case ToolEnded():
                return self._ended(event)
        return []

    def figures(self, call: Call) -> Json:
        """Numbers of a call. No update of the protocol is for them, so they ride on one that may be empty."""
        return {"sessionUpdate": "session_info_update", "_meta": {"loopline": {"call": calls.plain(call)}}}

    def _once(self, call: str, begun: Json) -> list[Json]:
        if call in self._told:
            return []
        self._told.add(call)
        return [begun]

    def _began(self, event: ToolBegan) -> list[Json]:
        arguments = calls.arguments_of(event.arguments)
        facts = {
            "title": calls.title_of(event.name, arguments),
            "status": "pending" if event.refused else "in_progress",
            "rawInput": arguments,
            "locations": calls.places_of(arguments, self._placed),
        }
        if event.tool_call_id in self._told:
            return [_progress(event.tool_call_id, **facts)]
        return self._once(event.tool_call_id, {**_start(event.tool_call_id, "", event.name), **facts})

    def _ended(self, event: ToolEnded) -> list[Json]:
        self._lines.pop(event.tool_call_id, None)
        self._told.discard(event.tool_call_id)
        differences, places = calls.diff_content(event.diff, self._placed)
        places = places or [{"path": shown(self._placed(path))} for path in event.files_changed]
        content = list(differences)
        if text := "" if differences else event.output or event.summary:
            content.append(calls.text_content(text))
        figures = {"status": event.status, "summary": shown(event.summary), "durationMs": round(event.duration_ms, 1)}
        ended = _progress(event.tool_call_id, status="completed" if event.status == "ok" else "failed", content=content)
        if places:
            ended["locations"] = places
        return [{**ended, "_meta": {"loopline": {"tool": figures}}}]


def usage(used_tokens: int, context_tokens: int) -> Json:
    """How full the model's context is."""
    return {"sessionUpdate": "usage_update", "used": used_tokens, "size": context_tokens}


def undone(event: TurnUndone) -> str:
    """What came of it, in words."""
    if not event.restored and not event.conflicts:
        return "Nothing was changed.\n"
    lines = [f"Restored: {', '.join(event.restored)}."] if event.restored else []
    if event.conflicts:
        lines.append(f"Left as they are, at least in part, for they changed since: {', '.join(event.conflicts)}.")
    return "\n".join(lines) + "\n"


def message(text: str, role: str = "agent") -> Json:
    return {"sessionUpdate": f"{role}_message_chunk", "content": {"type": "text", "text": shown(text)}}


def thought(text: str) -> Json:
    return {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": shown(text)}}


def plan(steps: Sequence[Step]) -> Json:
    entries = [
        {"content": shown(step.text), "priority": "medium", "status": _STEPS.get(step.status, "pending")}
        for step in steps
    ]
    return {"sessionUpdate": "plan", "entries": entries}


def _start(call: str, title: str, name: str) -> Json:
    begun: Json = {"sessionUpdate": "tool_call", "toolCallId": call, "title": title, "status": "pending"}
    return {**begun, "kind": calls.kind_of(name)}


def _progress(call: str, **facts: object) -> Json:
    return {"sessionUpdate": "tool_call_update", "toolCallId": call, **facts}
