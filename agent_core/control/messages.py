"""What goes over a control socket: JSON objects, one a line. No I/O.

The host says `hello` first. A client sends requests with an `id` and an `op`; each gets one `reply` or `refused` with
that id:

    list                                     -> [SessionInfo]
    attach {session, events?}                -> null, then `update` messages; with `events` also `event` messages
    detach {session}                         -> null, and `detached`
    start {session, task, turn?, options?}   -> Started; refused with `turn_running` while a turn runs
    say {session, text, options?}            -> Said: to the turn that runs, else it starts one
    steer {turn, text}                       -> Steered: to that turn only; what it can't take waits for the next turn
    cancel {turn}                            -> null
    undo {session, turn, files?, conversation?} -> Undone
    compact {session}                        -> null, once it is over: the conversation is shorter, or a notice says why
    answer {approval, decision, by?}         -> null
    reply {question, text, by?}              -> null

An update is a turn event of the host (`agent_core.turns.events`), an event one of telemetry
(`agent_core.telemetry.events`: calls, stages, tools, approvals, connections; never content). Both are numbered together
by `seq`, per attachment; a `gap` says how many were left out because the client was slow.
"""

from __future__ import annotations

import msgspec

from agent_core.errors import LooplineError, StateError
from agent_core.text import to_json
from agent_core.turns.approval import Approval, Decision
from agent_core.turns.options import PLAIN, TurnOptions
from agent_core.turns.question import Question
from agent_core.turns.views import Said as Said
from agent_core.turns.views import Steered as Steered

PROTOCOL = 2
MAX_LINE = 1 << 20
"""Bytes of one message; a longer one ends the connection, a longer update becomes a gap."""


class ControlError(StateError):
    """The control socket refuses, or what it names does not exist. `code` tells which:

    `control_not_found` (no such session, turn or approval), `control_refused` (another user, or too many clients),
    `control_gone` (the host ended), `control_ending` (the host does one task and starts no other turn: take the session
    over once it is gone), `control_busy` (no answer in time), `control_bad_message`, `control_unsupported`.
    """

    code = "control_refused"


class TurnInfo(msgspec.Struct, frozen=True, kw_only=True):
    turn: str
    title: str
    """The task as the user put it, first line."""
    status: str
    """`running`, or how it ended."""
    started: str
    """RFC 3339."""


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A session that the host keeps. `turns` are its latest ones, oldest first."""

    session: str
    client: str
    title: str
    model: str | None = None
    project: str | None = None
    turns: tuple[TurnInfo, ...] = ()
    approvals: tuple[Approval, ...] = ()
    questions: tuple[Question, ...] = ()


class Request(msgspec.Struct, frozen=True, kw_only=True, tag_field="op"):
    id: int


class ListRequest(Request, frozen=True, kw_only=True, tag="list"):
    pass


class AttachRequest(Request, frozen=True, kw_only=True, tag="attach"):
    session: str
    events: bool = False
    """Whether telemetry is wanted as well."""


class DetachRequest(Request, frozen=True, kw_only=True, tag="detach"):
    session: str


class AnswerRequest(Request, frozen=True, kw_only=True, tag="answer"):
    approval: str
    decision: Decision
    by: str = ""
    """Name of the front end that answers."""


class ReplyRequest(Request, frozen=True, kw_only=True, tag="reply"):
    question: str
    text: str
    by: str = ""
    """Name of the front end that answers."""


class CancelRequest(Request, frozen=True, kw_only=True, tag="cancel"):
    turn: str


class SteerRequest(Request, frozen=True, kw_only=True, tag="steer"):
    turn: str
    text: str


class StartRequest(Request, frozen=True, kw_only=True, tag="start"):
    session: str
    task: str
    turn: str | None = None
    """Id of the new turn; None: the host makes one."""
    options: TurnOptions = PLAIN


class SayRequest(Request, frozen=True, kw_only=True, tag="say"):
    session: str
    text: str
    options: TurnOptions = PLAIN
    """Of the turn that it starts."""


class UndoRequest(Request, frozen=True, kw_only=True, tag="undo"):
    """`turn` may be the `undo` of an earlier answer, which takes that undoing back."""

    session: str
    turn: str
    files: bool = True
    conversation: bool = False


class CompactRequest(Request, frozen=True, kw_only=True, tag="compact"):
    session: str


AnyRequest = (
    ListRequest
    | AttachRequest
    | DetachRequest
    | AnswerRequest
    | ReplyRequest
    | CancelRequest
    | SteerRequest
    | StartRequest
    | SayRequest
    | UndoRequest
    | CompactRequest
)


class Started(msgspec.Struct, frozen=True, kw_only=True):
    turn: str


class UndoneFile(msgspec.Struct, frozen=True, kw_only=True):
    """`what` happened to it now: `changed`, `recreated`, `removed`, `renamed` or `mode`."""

    path: str
    what: str


class UndoConflict(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was left as it is. Lines count from 1 in the file as it is now; None: all of it."""

    path: str
    reason: str
    first: int | None = None
    last: int | None = None


class Undone(msgspec.Struct, frozen=True, kw_only=True):
    """`undo` is the id under which this undoing can be undone, None if no file was changed."""

    turn: str
    undo: str | None
    restored: tuple[UndoneFile, ...] = ()
    conflicts: tuple[UndoConflict, ...] = ()
    not_covered: tuple[str, ...] = ()


class Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Root of what the host sends."""


class Hello(Message, frozen=True, kw_only=True, tag="hello"):
    protocol: int
    pid: int


class Reply(Message, frozen=True, kw_only=True, tag="reply"):
    id: int
    result: msgspec.Raw = msgspec.Raw(b"null")


class Refused(Message, frozen=True, kw_only=True, tag="refused"):
    """`id` is None where the request could not be read."""

    code: str
    message: str
    id: int | None = None
    hint: str | None = None


class UpdateMessage(Message, frozen=True, kw_only=True, tag="update"):
    session: str
    seq: int
    update: msgspec.Raw


class EventMessage(Message, frozen=True, kw_only=True, tag="event"):
    session: str
    seq: int
    event: msgspec.Raw


class Gap(Message, frozen=True, kw_only=True, tag="gap"):
    """`lost` updates and events of the session were left out here."""

    session: str
    lost: int


class Detached(Message, frozen=True, kw_only=True, tag="detached"):
    """No more updates of this session on this connection: it was closed, or the client asked."""

    session: str


AnyMessage = Hello | Reply | Refused | UpdateMessage | EventMessage | Gap | Detached

_requests = msgspec.json.Decoder(AnyRequest)
_messages = msgspec.json.Decoder(AnyMessage)


class _Head(msgspec.Struct):
    id: int | None = None
    op: str | None = None


_OPS = frozenset(str(kind.__struct_config__.tag) for kind in AnyRequest.__args__)
_head = msgspec.json.Decoder(_Head)


def encode(message: Request | Message) -> bytes:
    """One line, its newline included."""
    return to_json(message) + b"\n"


def read_request(line: bytes) -> AnyRequest:
    """Raises `ControlError`: `control_unsupported` for an operation this version does not know, else
    `control_bad_message`.
    """
    try:
        return _requests.decode(line)
    except msgspec.DecodeError as error:
        head = request_head(line)
        if head is not None and head[1] is not None and head[1] not in _OPS:
            raise ControlError(
                "this operation is not supported here", code="control_unsupported", hint="update Loopline on both sides"
            ) from error
        raise ControlError(f"not a request: {error}", code="control_bad_message") from error


def request_head(line: bytes) -> tuple[int | None, str | None] | None:
    """(id, operation) of a request that can't be read whole; None if it is not even an object."""
    try:
        head = _head.decode(line)
    except msgspec.DecodeError:
        return None
    return head.id, head.op


def read_message(line: bytes) -> AnyMessage:
    """Raises `ControlError` (`control_bad_message`)."""
    try:
        return _messages.decode(line)
    except msgspec.DecodeError as error:
        raise ControlError(f"not a control message: {error}", code="control_bad_message") from error


def refusal(request_id: int | None, error: LooplineError) -> Refused:
    return Refused(id=request_id, code=error.code, message=error.message, hint=error.hint)
