"""What is told of a session while it runs: one typed event at a time, in order, once. Records, no I/O.

Whoever wants to know (terminal, JSON lines, language server, the recorder of telemetry) is an `Observer`, a plain
function that must return at once. Events carry content (text, arguments, diffs), so they stay on the machine; figures
of telemetry are apart. As JSON they have the tags and names below in camelCase, on the control socket, in `run --json`
and in `$/loopline/event` alike; fields at their default are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from agent_core.turns.approval import Approval
from agent_core.turns.options import Mode

TurnStatus = Literal["queued", "running", "completed", "failed", "cancelled", "interrupted"]
EndStatus = Literal["completed", "failed", "cancelled", "interrupted"]
Severity = Literal["info", "warning", "error"]
ToolStatus = Literal["ok", "error", "denied", "timeout", "cancelled"]


class TurnEvent(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="type", rename="camel", omit_defaults=True
):  # fmt: skip
    """Root of all events."""


class SessionOpened(TurnEvent, frozen=True, kw_only=True, tag="session.opened"):
    """`endpoint` is the address of the service without credentials; `note` says what the model is, if it is none."""

    session_id: str
    model: str
    endpoint: str
    note: str = ""


class TurnBegan(TurnEvent, frozen=True, kw_only=True, tag="turn.started"):
    """`title` is the task's first line. `task` is left out where only lists are drawn."""

    session_id: str
    turn_id: str
    title: str
    task: str = ""


class TextDelta(TurnEvent, frozen=True, kw_only=True, tag="text.delta"):
    session_id: str
    turn_id: str
    text: str


class TextVoided(TurnEvent, frozen=True, kw_only=True, tag="text.voided"):
    """What was streamed since the last whole text is void, reasoning included: the call starts anew."""

    session_id: str
    turn_id: str
    cause: str


class TextDone(TurnEvent, frozen=True, kw_only=True, tag="text.done"):
    """The whole text of a reply; it stands for its deltas."""

    session_id: str
    turn_id: str
    text: str


class ReasoningDelta(TurnEvent, frozen=True, kw_only=True, tag="reasoning.delta"):
    """A piece of what the model thinks before it answers, or of a summary of that."""

    session_id: str
    turn_id: str
    text: str


class ReasoningDone(TurnEvent, frozen=True, kw_only=True, tag="reasoning.done"):
    """The model stopped thinking and says or does something. `text` stands for the deltas before it, and is empty where
    the service keeps the model's thoughts to itself; `duration_ms` is how long it thought.
    """

    session_id: str
    turn_id: str
    duration_ms: float
    text: str = ""


class CallBegan(TurnEvent, frozen=True, kw_only=True, tag="call.started"):
    """A model call of the turn, until its end: one, whatever it takes to get its reply."""

    session_id: str
    turn_id: str
    call_id: str


class CallEnded(TurnEvent, frozen=True, kw_only=True, tag="call.finished"):
    """`inference_ms` is the engine's time; None: not known."""

    session_id: str
    turn_id: str
    call_id: str
    inference_ms: float | None = None


class ToolBegan(TurnEvent, frozen=True, kw_only=True, tag="tool.started"):
    """`refused`: it does not run; its end says why."""

    session_id: str
    turn_id: str
    tool_call_id: str
    name: str
    arguments: str
    refused: bool = False


class ToolOutput(TurnEvent, frozen=True, kw_only=True, tag="tool.output"):
    """The latest line of a running tool."""

    session_id: str
    turn_id: str
    tool_call_id: str
    line: str


class ToolEnded(TurnEvent, frozen=True, kw_only=True, tag="tool.finished"):
    """`files_changed` are paths relative to their root, `more_files` how many more there are that are not named. `by`
    says whether the agent's own edit changed them or a command that it ran, of which `diff` tells nothing. `arguments`,
    `output` (what the model is told) and `data` (the tool's own, by name) are left out for editors.
    """

    session_id: str
    turn_id: str
    tool_call_id: str
    name: str
    status: ToolStatus
    summary: str
    diff: str
    files_changed: tuple[str, ...]
    duration_ms: float
    more_files: int = 0
    by: Literal["edit", "command"] = "edit"
    arguments: str = ""
    output: str = ""
    data: dict[str, Any] = {}


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A step of the agent's plan; `status` is `todo`, `doing` or `done`."""

    text: str
    status: str


class Plan(TurnEvent, frozen=True, kw_only=True, tag="plan"):
    """The agent's plan as it stands; replaces the one before."""

    session_id: str
    turn_id: str
    steps: tuple[Step, ...]


class ApprovalAsked(TurnEvent, frozen=True, kw_only=True, tag="approval.opened"):
    approval: Approval


class ApprovalEnded(TurnEvent, frozen=True, kw_only=True, tag="approval.resolved"):
    """`decision`: `allow`, `always`, `deny`, or `withdrawn` with its turn. `by` is the name of the front end that
    answered, `timeout`, or empty where nobody did.
    """

    session_id: str
    turn_id: str
    approval_id: str
    decision: Literal["allow", "always", "deny", "withdrawn"]
    by: str = ""


class QuestionAsked(TurnEvent, frozen=True, kw_only=True, tag="question"):
    """The model asks and waits for an answer. `options` are answers to choose from; any text is one."""

    session_id: str
    turn_id: str
    question_id: str
    question: str
    options: tuple[str, ...] = ()


class QuestionEnded(TurnEvent, frozen=True, kw_only=True, tag="question.answered"):
    """`answer` empty: there was none. `by` is the name of the front end that answered, `timeout`, or empty where nobody
    did."""

    session_id: str
    turn_id: str
    question_id: str
    answer: str = ""
    by: str = ""


class InputTaken(TurnEvent, frozen=True, kw_only=True, tag="input"):
    """Something was said to a turn, and its one fate: steered into it, queued for the next one, or refused."""

    session_id: str
    turn_id: str
    input_id: str
    text: str
    fate: Literal["steered", "queued", "refused"]


class ContextSize(TurnEvent, frozen=True, kw_only=True, tag="context"):
    """How large the conversation is that the next call begins with, in tokens: as the service counted it in the latest
    call, reply included; `estimated` where that is not known, as after a compaction. `window_tokens` is what the model
    takes, `compact_at_tokens` where the conversation is made shorter by itself; None: not known, or never.
    """

    session_id: str
    tokens: int
    window_tokens: int | None = None
    compact_at_tokens: int | None = None
    estimated: bool = False


class Notice(TurnEvent, frozen=True, kw_only=True, tag="notice"):
    """Something a person should know: reconnecting, falling back, a setting that was ignored."""

    severity: Severity
    text: str
    session_id: str | None = None


class TurnUndone(TurnEvent, frozen=True, kw_only=True, tag="turn.undone"):
    """What a turn did to files was taken back. `undo_id` names this undoing, which can be undone like a turn; None:
    nothing changed. `conflicts` are files that changed since and were left as they are, at least in part.
    """

    session_id: str
    turn_id: str
    restored: tuple[str, ...]
    conflicts: tuple[str, ...]
    undo_id: str | None = None


class TurnEnded(TurnEvent, frozen=True, kw_only=True, tag="turn.finished"):
    """`text` is the final answer, or why there is none. `calls` and `tools` count what was done. Where an error ended
    the turn, `error_code` is its code and `exit_code` what `loopline run` ends with.
    """

    session_id: str
    turn_id: str
    status: EndStatus
    text: str
    duration_ms: float
    calls: int = 0
    tools: int = 0
    mode: Mode = "act"
    error_code: str | None = None
    exit_code: int | None = None


AnyTurnEvent = (
    SessionOpened
    | TurnBegan
    | TextDelta
    | TextVoided
    | TextDone
    | ReasoningDelta
    | ReasoningDone
    | CallBegan
    | CallEnded
    | ToolBegan
    | ToolOutput
    | ToolEnded
    | Plan
    | ApprovalAsked
    | ApprovalEnded
    | QuestionAsked
    | QuestionEnded
    | InputTaken
    | ContextSize
    | Notice
    | TurnUndone
    | TurnEnded
)

_decoder: msgspec.json.Decoder[AnyTurnEvent] = msgspec.json.Decoder(AnyTurnEvent)


def read_event(data: bytes | msgspec.Raw) -> AnyTurnEvent | None:
    """An event as another process encoded it; None for one of a version that this one does not know."""
    try:
        return _decoder.decode(data)
    except msgspec.MsgspecError:
        return None


Observer = Callable[[TurnEvent], None]


def nobody_looks(event: TurnEvent) -> None:
    """An observer that shows nothing."""


def title_of(task: str) -> str:
    """The first line of a task, for lists."""
    return task.strip().split("\n", 1)[0][:200]


def subject_of(arguments: str) -> str:
    """What a call is about, from its arguments in JSON: its path with a range, pattern, command or target; "" for none.
    Arguments that are no object are given back as they are. Not cleaned."""
    try:
        value: Any = msgspec.json.decode(arguments.encode("utf-8", "replace"))
    except msgspec.MsgspecError:
        return arguments
    if not isinstance(value, dict):
        return arguments
    if "start" in value or "end" in value:
        return f"{value.get('path', '')}:{value.get('start', 1)}-{value.get('end', '')}"
    for key in ("command", "pattern", "target", "path"):
        if value.get(key):
            return str(value[key])
    return ""
