"""What Loopline adds to the Language Server Protocol: commands, requests, and one notification.

The source of `extensions/protocol.schema.json` and of the plugins' types (`python -m lsp_server.protocol.schema`).
On the wire names are camelCase. Fields without a value are left out. Everything here is announced in the server's
`capabilities.experimental.loopline`; what a client can do beyond the standard it announces in the same place of its
own (`ClientFeatures`).
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from agent_core.config.settings import Effort
from agent_core.turns.approval import Approval, Decision
from agent_core.turns.events import TurnStatus
from agent_core.turns.options import Mode
from agent_core.turns.question import Question
from lsp_server.protocol.events import AnyEvent, Shape, Status

VERSION = 1
EVENT = "$/loopline/event"


# Arguments of commands


class TextDocument(Shape):
    uri: str


class Position(Shape):
    """As in the protocol: `character` in units of the negotiated encoding."""

    line: int
    character: int


class Range(Shape):
    start: Position
    end: Position


class TurnStart(Shape):
    """`task` in words. `textDocument`, `range` and `diagnostic` (of the protocol) say what it is about. Without
    `sessionId`: the session of this editor's latest turn, or a new one. `mode` `plan`: nothing is changed, and the
    answer is a plan. `effort`: how hard the model thinks in this turn; one that it does not take is an error."""

    task: str
    text_document: TextDocument | None = None
    range: Range | None = None
    diagnostic: dict[str, Any] | None = None
    session_id: str | None = None
    mode: Mode = "act"
    effort: Effort | None = None


class Ask(Shape):
    """Ask the user what to change at this place, then start a turn. Answered at once."""

    text_document: TextDocument
    range: Range | None = None


class TurnId(Shape):
    turn_id: str


class TurnSteer(Shape):
    turn_id: str
    text: str


class SessionNew(Shape):
    model: str | None = None


class SessionId(Shape):
    session_id: str


class Nothing(Shape):
    pass


class ApprovalAnswer(Shape):
    approval_id: str
    decision: Decision


class QuestionAnswer(Shape):
    question_id: str
    answer: str


class ModelSelect(Shape):
    """Without `model`: only say which there are. `sessionId`: of that session too, from its next turn on."""

    model: str | None = None
    session_id: str | None = None


class Trust(Shape):
    uri: str


# Results


class TurnStarted(Shape):
    session_id: str
    turn_id: str


class Steered(Shape):
    input_id: str
    fate: Literal["steered", "queued", "refused"]


class SessionStarted(Shape):
    session_id: str


class Turn(Shape):
    turn_id: str
    title: str
    status: TurnStatus
    started: str = ""


class Session(Shape):
    """`state`: `live` here, `attached` (another process hosts it and we watch), `elsewhere` (it does, and we do not) or
    `stored`."""

    session_id: str
    state: Literal["live", "attached", "elsewhere", "stored"]
    title: str = ""
    created: str = ""
    model: str = ""
    turns: tuple[Turn, ...] = ()
    approvals: tuple[Approval, ...] = ()
    questions: tuple[Question, ...] = ()


class SessionList(Shape):
    sessions: tuple[Session, ...]


class ModelInfo(Shape):
    """`capabilities` as the service states them; None if it does not."""

    id: str
    capabilities: dict[str, bool] | None = None


class Models(Shape):
    """`models` is None while the service has not said."""

    model: str
    models: tuple[ModelInfo, ...] | None = None


class Trusted(Shape):
    uri: str
    trusted: bool


class Dashboard(Shape):
    """The page is shown once it is up; `url` where it is already."""

    state: Literal["starting", "shown"]
    url: str | None = None


# Requests


class AuthSet(Shape):
    """Keep a key; "" removes it. Never logged, never a setting."""

    provider: str
    key: str


class AuthProvider(Shape):
    provider: str
    present: bool
    where: Literal["environment", "keyring", "file", "none"]


class AuthStatus(Shape):
    providers: tuple[AuthProvider, ...]


class Entry(Shape):
    """One piece of a session's transcript. `name`, `arguments` and `toolCallId` belong to tools, whose `text` is their
    output. `turnId` is absent where it is not known."""

    kind: Literal["user", "assistant", "tool"]
    text: str
    index: int
    name: str = ""
    arguments: str = ""
    tool_call_id: str = ""
    turn_id: str = ""


class TranscriptGet(Shape):
    """The page of at most `limit` entries that ends before entry `before` (the newest without it)."""

    session_id: str
    before: int | None = None
    limit: int = 200


class Transcript(Shape):
    entries: tuple[Entry, ...]
    more: bool


class TurnChangesGet(Shape):
    session_id: str
    turn_id: str


class TurnFile(Shape):
    """A file before and after a turn. `existed` and `exists`: whether it was there. A text (`before`, `after`) is
    absent where the file was not there, is no text, or is too large or too old to be kept; `diff` is empty then.
    `by`: who changed it, the agent's own edits, commands that it ran, or both."""

    path: str
    uri: str
    existed: bool
    exists: bool
    before: str | None = None
    after: str | None = None
    diff: str = ""
    added: int = 0
    """Lines, as in the diff."""
    removed: int = 0
    """Lines, as in the diff."""
    by: Literal["edit", "command", "both"] = "edit"


class TurnChanges(Shape):
    """Of a turn of any session, whoever hosts it. Later changes of the same files do not count. `moreFiles`: how many
    more there are that are not named."""

    files: tuple[TurnFile, ...]
    more_files: int = 0


class Diagnostics(Shape):
    """What the editor's language tools say of one document, forwarded by a plugin; replaces what was said before."""

    uri: str
    diagnostics: tuple[dict[str, Any], ...]


class SaveDocuments(Shape):
    uris: tuple[str, ...]


class Saved(Shape):
    saved: bool


class ClientFeatures(Shape):
    """What a client announces in its `capabilities.experimental.loopline`.

    `saveDocuments`: answers that request. `approvals`: asks its user by itself, so `window/showMessageRequest` is not
    used. `questions`: shows what the model asks, and answers by command; else it can't ask. `answers`: shows the
    model's words itself, so no document is opened for them. `events`: false to get none. `userSettings`: what it hands
    over as settings is its user's own word, a folder's left out; of a client that does not say so only what a folder
    may say counts.
    """

    save_documents: bool = False
    approvals: bool = False
    questions: bool = False
    answers: bool = False
    events: bool = True
    user_settings: bool = False


class Events(Shape):
    """Params of `$/loopline/event`: what happened since the last one, in order. `seq` counts them from 1; a gap means
    that the client was slow and some were left out."""

    seq: int
    events: tuple[AnyEvent, ...]


class Method(msgspec.Struct, frozen=True, kw_only=True):
    """One command, request or notification: what it takes, what it gives (None: nothing)."""

    name: str
    params: type[Shape]
    result: type[Shape] | None = None


COMMANDS: tuple[Method, ...] = (
    Method(name="loopline.turn.start", params=TurnStart, result=TurnStarted),
    Method(name="loopline.turn.cancel", params=TurnId),
    Method(name="loopline.turn.steer", params=TurnSteer, result=Steered),
    Method(name="loopline.turn.undo", params=TurnId),
    Method(name="loopline.session.new", params=SessionNew, result=SessionStarted),
    Method(name="loopline.session.list", params=Nothing, result=SessionList),
    Method(name="loopline.session.resume", params=SessionId, result=Session),
    Method(name="loopline.session.compact", params=SessionId),
    Method(name="loopline.approval.answer", params=ApprovalAnswer),
    Method(name="loopline.question.answer", params=QuestionAnswer),
    Method(name="loopline.model.select", params=ModelSelect, result=Models),
    Method(name="loopline.dashboard.open", params=Nothing, result=Dashboard),
    Method(name="loopline.trust", params=Trust, result=Trusted),
    Method(name="loopline.ask", params=Ask),
)
REQUESTS: tuple[Method, ...] = (
    Method(name="loopline/auth.set", params=AuthSet, result=AuthStatus),
    Method(name="loopline/auth.status", params=Nothing, result=AuthStatus),
    Method(name="loopline/status", params=Nothing, result=Status),
    Method(name="loopline/transcript", params=TranscriptGet, result=Transcript),
    Method(name="loopline/turn.changes", params=TurnChangesGet, result=TurnChanges),
)
CLIENT_NOTIFICATIONS: tuple[Method, ...] = (Method(name="loopline/diagnostics", params=Diagnostics),)
CLIENT_REQUESTS: tuple[Method, ...] = (Method(name="loopline/saveDocuments", params=SaveDocuments, result=Saved),)
NOTIFICATIONS: tuple[Method, ...] = (Method(name=EVENT, params=Events),)


def announcement() -> dict[str, Any]:
    """`capabilities.experimental.loopline` of the server."""
    return {
        "version": VERSION,
        "commands": [method.name for method in COMMANDS],
        "requests": [method.name for method in REQUESTS],
        "notifications": [method.name for method in NOTIFICATIONS],
        "clientRequests": [method.name for method in CLIENT_REQUESTS],
        "clientNotifications": [method.name for method in CLIENT_NOTIFICATIONS],
    }
