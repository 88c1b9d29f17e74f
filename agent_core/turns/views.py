"""How sessions and turns stand, as front ends show them. Records, no I/O."""

from __future__ import annotations

from typing import Literal

import msgspec

from agent_core.turns.approval import Approval
from agent_core.turns.events import TurnStatus
from agent_core.turns.options import PLAIN, TurnOptions
from agent_core.turns.question import Question

Place = Literal["live", "attached", "elsewhere", "stored"]
"""Where a session is hosted: by this process, by another one that this process is attached to, by another one, or by
nobody."""


class TurnView(msgspec.Struct, kw_only=True):
    """A turn that was asked for. `task` is all that was asked, where that is known; `text` its answer once it ended;
    `started` is RFC 3339, empty where it is not known. Owned by the list of its session.
    """

    turn_id: str
    title: str
    task: str
    started: str
    status: TurnStatus = "queued"
    options: TurnOptions = PLAIN
    text: str = ""

    @property
    def is_over(self) -> bool:
        return self.status not in ("queued", "running")


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """A session as of now. `turns`, `approvals` and `questions` are oldest first, and known only while it is hosted;
    `created` is RFC 3339; `roots` are its folders, empty where they are not known."""

    session_id: str
    place: Place
    title: str
    created: str
    model: str
    turns: tuple[TurnView, ...] = ()
    approvals: tuple[Approval, ...] = ()
    questions: tuple[Question, ...] = ()
    roots: tuple[str, ...] = ()


class Steered(msgspec.Struct, frozen=True, kw_only=True):
    """What became of something that was said to a turn. `input_id` is that of the `input` event."""

    input_id: str
    fate: Literal["steered", "queued", "refused"]


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What became of something that was said to a session, and the turn that has it. `input_id` is that of the `input`
    event; None if `started`."""

    turn: str
    fate: Literal["steered", "started"]
    input_id: str | None = None
