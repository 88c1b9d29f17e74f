"""What `$/loopline/event` carries: turn events as the core tells them (`agent_core.turns.events`), figures of
calls, and the state that a status line shows.

Part of the protocol that `lsp_server.protocol.methods` describes; the shapes here are those that both need.
"""

from __future__ import annotations

from typing import Any, Literal, cast

import msgspec

from agent_core.turns.events import (
    ApprovalAsked,
    ApprovalEnded,
    CallBegan,
    CallEnded,
    ContextSize,
    InputTaken,
    Notice,
    Plan,
    QuestionAsked,
    QuestionEnded,
    ReasoningDelta,
    ReasoningDone,
    SessionOpened,
    Severity,
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


class Shape(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """Root of everything that goes over the wire."""


class Event(Shape, tag_field="type"):
    """Root of what `$/loopline/event` carries. Ids are absent where an event belongs to no session."""


class SessionHosting(Event, tag="session.hosting"):
    """Where the session runs, as seen from here."""

    session_id: str
    state: Literal["live", "attached", "lost"]
    text: str = ""


class FileDiff(Shape):
    """`diff` is empty where a side is no text or too large. `by`: who changed the file, the agent's own edits, commands
    that it ran, or both."""

    path: str
    uri: str
    added: int
    removed: int
    diff: str
    by: Literal["edit", "command", "both"] = "edit"


class TurnDiff(Event, tag="diff"):
    """What the turn's edits and commands changed so far; replaces the one before."""

    session_id: str
    turn_id: str
    files: tuple[FileDiff, ...]


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
    """Cached of the input tokens."""
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
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
    | TurnBegan
    | TurnEnded
    | TurnUndone
    | InputTaken
    | ContextSize
    | TextDelta
    | TextVoided
    | TextDone
    | ReasoningDelta
    | ReasoningDone
    | ToolBegan
    | ToolOutput
    | ToolEnded
    | Plan
    | ApprovalAsked
    | ApprovalEnded
    | QuestionAsked
    | QuestionEnded
    | Notice
    | SessionHosting
    | TurnDiff
    | Call
    | Stages
    | Status
)

MAX_ARGUMENTS, MAX_DIFF, MAX_OUTPUT_LINE = 8_000, 60_000, 500
"""Characters of what an editor is told of a tool call."""


def for_editors(event: TurnEvent) -> AnyEvent | None:
    """A turn event as editors are told it: clipped, and without what only the core's own front ends need. None: not at
    all (when model calls begin and end is told by their figures)."""
    match event:
        case CallBegan() | CallEnded():
            return None
        case TurnBegan():
            return msgspec.structs.replace(event, task="")
        case ToolBegan(arguments=arguments):
            return msgspec.structs.replace(event, arguments=arguments[:MAX_ARGUMENTS])
        case ToolOutput(line=line):
            return msgspec.structs.replace(event, line=line[:MAX_OUTPUT_LINE])
        case ToolEnded(diff=diff):
            return msgspec.structs.replace(event, diff=diff[:MAX_DIFF], arguments="", output="", data={})
    return cast(AnyEvent, event)
