"""The blocks of a conversation, in the order of the page. Records; text in them is foreign until it is painted."""

from __future__ import annotations

from typing import Literal

import msgspec

from agent_core.turns.approval import Approval
from agent_core.turns.events import EndStatus, Severity, Step, ToolStatus

Fate = Literal["", "steered", "queued", "refused"]


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """Root of all. `key` is unique on its page and stays while the block changes."""

    key: str


class You(Block, frozen=True, kw_only=True):
    """What the person said. `fate`: what became of it where a turn ran already."""

    text: str
    fate: Fate = ""


class Said(Block, frozen=True, kw_only=True):
    """A piece of an answer as Markdown. `first`: it begins the answer. `open`: more of it may come."""

    text: str
    first: bool = False
    open: bool = False


class Thought(Block, frozen=True, kw_only=True):
    """What a model tells of its reasoning. `seconds` None: it still thinks, or it is not known."""

    text: str
    seconds: float | None = None


class Tool(Block, frozen=True, kw_only=True):
    """A tool call. `status` None while it runs, `tail` are then its latest lines; `output` is what the model was told.
    `mine`: a command that the person ran."""

    name: str
    arguments: str
    status: ToolStatus | None = None
    summary: str = ""
    diff: str = ""
    output: str = ""
    tail: tuple[str, ...] = ()
    duration_ms: float | None = None
    """None while it runs."""
    mine: bool = False


class PlanList(Block, frozen=True, kw_only=True):
    """The agent's plan of a turn, as it stands."""

    steps: tuple[Step, ...]


class Asked(Block, frozen=True, kw_only=True):
    """An approval. `decision` "" while it is open."""

    approval: Approval
    decision: str = ""
    by: str = ""


class Inquiry(Block, frozen=True, kw_only=True):
    """What the model asks in words. `answer` "" while it is `open`, and where there was none."""

    question: str
    options: tuple[str, ...] = ()
    answer: str = ""
    by: str = ""
    open: bool = True


class Note(Block, frozen=True, kw_only=True):
    severity: Severity
    text: str


class Ended(Block, frozen=True, kw_only=True):
    """The end of a turn; `text` says why where it did not complete; `calls` and `duration_ms` None: not known
    any more. `figures` are those that were known at its end."""

    turn_id: str
    status: EndStatus
    text: str
    calls: int | None
    duration_ms: float | None
    figures: tuple[str, ...] = ()


class Undone(Block, frozen=True, kw_only=True):
    """`again`: an undoing was taken back."""

    restored: tuple[str, ...]
    conflicts: tuple[str, ...]
    again: bool = False
