"""What `$/loopline/event` carries: the events of sessions, turns and calls, and the state that a status line shows.

Part of the protocol that `lsp_server.protocol.methods` describes; the shapes here are those that both need.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Decision = Literal["allow", "always", "deny"]
Severity = Literal["info", "warning", "error"]
TurnStatus = Literal["queued", "running", "completed", "failed", "cancelled", "interrupted"]


class Shape(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """Root of everything that goes over the wire."""


class Approval(Shape):
    """`subject` is what is asked for, e.g. the command line; `rule` says why. `always` false: an answer "always" would
    count for this time only, so it is not offered."""

    approval_id: str
    session_id: str
    turn_id: str
    kind: str
    name: str
    subject: str
    rule: str = ""
    always: bool = True


class Event(Shape, tag_field="type"):
    """Root of what `$/loopline/event` carries. Ids are absent where an event belongs to no session."""


class SessionOpened(Event, tag="session.opened"):
    """`note` says what the model is, if it is none."""

    session_id: str
    model: str
    endpoint: str
    note: str = ""


class SessionHosting(Event, tag="session.hosting"):
    """Where the session runs, as seen from here."""

    session_id: str
    state: Literal["live", "attached", "lost"]
    text: str = ""


class TurnBegan(Event, tag="turn.started"):
    session_id: str
    turn_id: str
    title: str


class TurnEnded(Event, tag="turn.finished"):
    session_id: str
    turn_id: str
    status: TurnStatus
    text: str
    duration_ms: float


class InputTaken(Event, tag="input"):
    """Something was said to a turn, from here or from elsewhere, and what became of it."""

    session_id: str
    turn_id: str
    input_id: str
    text: str
    fate: Literal["steered", "queued", "refused"]


class TurnUndone(Event, tag="turn.undone"):
    """What a turn did to files was taken back. `undoId` names this undoing, which can be undone like a turn; absent if
    nothing changed. `conflicts` are files that changed since and were left as they are, at least in part."""

    session_id: str
    turn_id: str
    restored: tuple[str, ...]
    conflicts: tuple[str, ...]
    undo_id: str | None = None


class TextDelta(Event, tag="text.delta"):
    session_id: str
    turn_id: str
    text: str


class TextVoided(Event, tag="text.voided"):
    """What was streamed since the last whole text is void: the call starts anew."""

    session_id: str
    turn_id: str
    cause: str


class TextDone(Event, tag="text.done"):
    """The whole text of a reply; it stands for its deltas."""

    session_id: str
    turn_id: str
    text: str


class ToolBegan(Event, tag="tool.started"):
    session_id: str
    turn_id: str
    tool_call_id: str
    name: str
    arguments: str


class ToolOutput(Event, tag="tool.output"):
    """The latest line of a running tool."""

    session_id: str
    turn_id: str
    tool_call_id: str
    line: str


class ToolEnded(Event, tag="tool.finished"):
    session_id: str
    turn_id: str
    tool_call_id: str
    name: str
    status: Literal["ok", "error", "denied", "timeout", "cancelled"]
    summary: str
    diff: str
    files_changed: tuple[str, ...]
    duration_ms: float


class Step(Shape):
    text: str
    status: str


class Plan(Event, tag="plan"):
    session_id: str
    turn_id: str
    steps: tuple[Step, ...]


class FileDiff(Shape):
    path: str
    uri: str
    added: int
    removed: int
    diff: str


class TurnDiff(Event, tag="diff"):
    """What the turn's edits come to so far; replaces the one before."""

    session_id: str
    turn_id: str
    files: tuple[FileDiff, ...]


class ApprovalOpened(Event, tag="approval.opened"):
    approval: Approval


class ApprovalResolved(Event, tag="approval.resolved"):
    session_id: str
    turn_id: str
    approval_id: str
    decision: str


class Notice(Event, tag="notice"):
    severity: Severity
    text: str
    session_id: str | None = None


class Call(Event, tag="call"):
    """Telemetry of a turn's latest call; a field that is not known is absent. `cachedShare` is from 0 to 1."""

    session_id: str
    turn_id: str
    call_id: str
    number: int
    status: Literal["running", "completed", "failed", "cancelled", "interrupted"]
    model: str | None = None
    transport: str | None = None
    reuse: str | None = None
    ttft_ms: float | None = None
    tokens_per_s: float | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    cached_share: float | None = None
    output_tokens: int | None = None
    duration_ms: float | None = None


class Stages(Event, tag="stages"):
    """Where the turn's wall time went so far, by stage: `api_overhead`, `inference`, `client_tool`, `approval` and
    `client_other`."""

    session_id: str
    turn_id: str
    stages_ms: dict[str, float]
    calls: int
    running: bool


class Command(Shape):
    """Something that helps, as in the protocol."""

    title: str
    command: str
    arguments: tuple[Any, ...] = ()


class Category(Shape):
    category: Literal["model", "connection", "turn", "approvals", "settings", "trust"]
    state: str
    severity: Severity
    text: str
    command: Command | None = None


class Status(Event, tag="status"):
    """All of the server's state that a status line shows; replaces the one before."""

    categories: tuple[Category, ...]


AnyEvent = (
    SessionOpened
    | SessionHosting
    | TurnBegan
    | TurnEnded
    | TurnUndone
    | InputTaken
    | TextDelta
    | TextVoided
    | TextDone
    | ToolBegan
    | ToolOutput
    | ToolEnded
    | Plan
    | TurnDiff
    | ApprovalOpened
    | ApprovalResolved
    | Notice
    | Call
    | Stages
    | Status
)
