"""What a front end sees of a session while it runs: one typed update at a time, in order.

Front ends (terminal, JSON lines, language server) take a `Front`, a plain function that must return at once. Updates
carry content (text, arguments, diffs), so they stay in the process that hosts the session; telemetry is apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from agent_core.telemetry.events import Status
from agent_core.tools.port import ToolResult


class Update(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Root of all updates."""


class SessionOpened(Update, frozen=True, kw_only=True, tag="session"):
    """`endpoint` is the address of the service without credentials; `note` says what the model is, if it is none."""

    session: str
    model: str
    endpoint: str
    note: str = ""


class TurnBegan(Update, frozen=True, kw_only=True, tag="turn.started"):
    turn: str
    task: str


class TextPiece(Update, frozen=True, kw_only=True, tag="text.delta"):
    turn: str
    text: str


class TextVoided(Update, frozen=True, kw_only=True, tag="text.voided"):
    """What was streamed of the running call is void: the call starts anew."""

    turn: str
    cause: str


class TextDone(Update, frozen=True, kw_only=True, tag="text"):
    turn: str
    text: str


class ToolBegan(Update, frozen=True, kw_only=True, tag="tool.started"):
    turn: str
    tool_call: str
    name: str
    arguments: str


class ToolLine(Update, frozen=True, kw_only=True, tag="tool.progress"):
    turn: str
    tool_call: str
    line: str


class ToolEnded(Update, frozen=True, kw_only=True, tag="tool.finished"):
    turn: str
    tool_call: str
    name: str
    arguments: str
    result: ToolResult
    duration_ms: float


class ApprovalAsked(Update, frozen=True, kw_only=True, tag="approval.opened"):
    turn: str
    approval: str
    kind: str
    subject: str


class ApprovalEnded(Update, frozen=True, kw_only=True, tag="approval.resolved"):
    turn: str
    approval: str
    decision: str


class InputTaken(Update, frozen=True, kw_only=True, tag="input"):
    """Something was said to a turn, and its one fate: steered into it, queued for the next one, or refused."""

    turn: str
    input_id: str
    text: str
    fate: Literal["steered", "queued", "refused"]


class Notice(Update, frozen=True, kw_only=True, tag="notice"):
    """Something a person should know: reconnecting, falling back, a setting that was ignored."""

    severity: Literal["info", "warning", "error"]
    text: str


class TurnUndone(Update, frozen=True, kw_only=True, tag="turn.undone"):
    """The user took back what a turn did to files. `undo` is the id under which that can be undone, None: nothing
    was changed. `conflicts` are files that were left as they are, at least in part."""

    turn: str
    undo: str | None
    restored: tuple[str, ...]
    conflicts: tuple[str, ...]


class TurnEnded(Update, frozen=True, kw_only=True, tag="turn.finished"):
    turn: str
    status: Status
    text: str
    duration_ms: float


AnyUpdate = (
    SessionOpened
    | TurnBegan
    | TextPiece
    | TextVoided
    | TextDone
    | ToolBegan
    | ToolLine
    | ToolEnded
    | ApprovalAsked
    | ApprovalEnded
    | InputTaken
    | Notice
    | TurnUndone
    | TurnEnded
)

_decoder: msgspec.json.Decoder[AnyUpdate] = msgspec.json.Decoder(AnyUpdate)


def read_update(data: bytes | msgspec.Raw) -> AnyUpdate | None:
    """An update as another process encoded it; None for one of a version that this one does not know."""
    try:
        return _decoder.decode(data)
    except msgspec.MsgspecError:
        return None


Front = Callable[[Update], None]


def no_front(update: Update) -> None:
    """A front end that shows nothing."""
