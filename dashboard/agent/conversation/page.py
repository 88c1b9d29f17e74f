"""The page of one conversation: turn events in, blocks out. Pure; owned by the screen that shows it.

A delta costs an append. The streaming text is cut into blocks when it is drawn (`refresh`), so the cost of drawing
follows the rate of drawing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from agent_core.turns.approval import Approval
from agent_core.turns.events import (
    ApprovalAsked,
    ApprovalEnded,
    InputTaken,
    Notice,
    Plan,
    QuestionAsked,
    QuestionEnded,
    ReasoningDelta,
    ReasoningDone,
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
    title_of,
)
from agent_core.turns.views import TurnView
from dashboard.agent.conversation.blocks import (
    Asked,
    Block,
    Ended,
    Fate,
    Inquiry,
    Note,
    PlanList,
    Said,
    Thought,
    Tool,
    Undone,
    You,
)
from dashboard.agent.conversation.cutting import cut

OURSELVES = "tui"
"""As whom this front end answers."""
SILENT_MS = 1_000
"""From so much time on it is told that a model thought of which no word is known."""
TAIL_LINES = 6
"""Latest lines of a running tool that are kept."""


class Conversation:
    """Feed it every event of a session; `blocks` after `refresh` is what to draw."""

    def __init__(self, blocks: Iterable[Block] = ()) -> None:
        self.blocks: list[Block] = list(blocks)
        self.running: str | None = None
        """The turn that runs."""
        self.last_turn: str | None = None
        """The latest turn that ended."""
        self.last_undo: str | None = None
        """The latest undoing, which can be undone in turn."""
        self._undos: set[str] = set()
        self._count = len(self.blocks)
        self._where: dict[str, int] = {block.key: at for at, block in enumerate(self.blocks)}
        self._text: list[str] = []
        """What streamed and is not cut off yet."""
        self._reply: list[str] = []
        """Keys of the blocks of the reply that streams."""
        self._thoughts: list[str] = []
        self._thought: str | None = None
        """Key of the block of the reasoning that streams."""
        self._stale = False
        self._told: set[str] = set()
        """Turns whose task is on the page."""
        self._shown: dict[str, str] = {}
        """How the tasks of turns that wait are to be shown."""
        self._changed = 0

    # What is drawn

    def refresh(self) -> int:
        """Bring `blocks` up to date; from which index on they changed since the last call."""
        if self._stale:
            self._cut()
        changed, self._changed = self._changed, len(self.blocks)
        return min(changed, len(self.blocks))

    @property
    def open_approvals(self) -> Sequence[Approval]:
        return [block.approval for block in self.blocks if isinstance(block, Asked) and not block.decision]

    def resume(self, turns: Sequence[TurnView]) -> None:
        """How the turns of a session stand that is looked at from now on."""
        for turn in turns:
            if turn.status == "running":
                self.running = turn.turn_id
                self._told.add(turn.turn_id)
                if self._get(f"you {turn.turn_id}") is None:
                    self._add(You(key=f"you {turn.turn_id}", text=turn.task or turn.title))
            elif turn.is_over:
                self.last_turn = turn.turn_id

    @property
    def open_question(self) -> Inquiry | None:
        """What the model asks and nobody answered, the first of several."""
        return next((block for block in self.blocks if isinstance(block, Inquiry) and block.open), None)

    def titles(self) -> dict[str, str]:
        """What turns are called, by id."""
        found = [block for block in self.blocks if isinstance(block, You) and block.key.startswith("you ")]
        return {block.key.removeprefix("you "): title_of(block.text) for block in found}

    # What is told

    def apply(self, event: TurnEvent, figures: tuple[str, ...] = ()) -> None:
        """Take an event. `figures` go with the end of a turn."""
        match event:
            case TextDelta(text=text):
                self._text.append(text)
                self._stale = True
            case TextDone(text=text):
                self._finish(text)
            case ReasoningDelta(text=text):
                self._thinks(text)
            case ReasoningDone():
                self._thought_over(event)
            case TextVoided(cause=cause):
                self._void()
                self._forget_thought()
                self._add(
                    Note(key=self._key(), severity="warning", text=f"the reply broke off ({cause}); asking again")
                )
            case TurnBegan(turn_id=turn_id, title=title, task=task):
                self.running = turn_id
                if turn_id not in self._told:
                    self._told.add(turn_id)
                    self._add(You(key=f"you {turn_id}", text=self._shown.pop(turn_id, "") or task or title))
            case ToolBegan():
                self._add(Tool(key=event.tool_call_id, name=event.name, arguments=event.arguments))
            case ToolOutput(tool_call_id=key, line=line):
                self._tool_said(key, line)
            case ToolEnded():
                self._tool_ended(event)
            case Plan(turn_id=turn_id, steps=steps):
                self._add(PlanList(key=f"plan {turn_id}", steps=steps))
            case ApprovalAsked(approval=approval):
                self._add(Asked(key=approval.approval_id, approval=approval))
            case ApprovalEnded(approval_id=key, decision=decision, by=by):
                self._answered(key, decision, by)
            case QuestionAsked():
                self._add(Inquiry(key=event.question_id, question=event.question, options=event.options))
            case QuestionEnded(question_id=key, answer=answer, by=by):
                if isinstance(inquiry := self._get(key), Inquiry):
                    self._put(msgspec.structs.replace(inquiry, answer=answer, by=by, open=False))
            case InputTaken(text=text, fate=fate, input_id=key):
                self._input(key, text, fate)
            case Notice(severity=severity, text=text):
                self._add(Note(key=self._key(), severity=severity, text=text))
            case TurnUndone():
                self._undone(event)
            case TurnEnded():
                self._turn_ended(event, figures)

    def say(self, shown: str, turn_id: str, *, waits: bool) -> None:
        """The person asked for a turn: shown at once, or once it begins (`waits`)."""
        if waits:
            self._shown[turn_id] = shown
            return
        self._told.add(turn_id)
        self._add(You(key=f"you {turn_id}", text=shown))

    def note(self, text: str, severity: Severity = "info") -> None:
        """A word of the front end itself."""
        self.apply(Notice(severity=severity, text=text))

    def put(self, block: Block) -> None:
        """A block of the front end's own, or a newer state of it."""
        self._add(block)

    # Inside

    def _thinks(self, text: str) -> None:
        if self._thought is None:
            self._thought = self._key()
            self._add(Thought(key=self._thought, text=""))
        self._thoughts.append(text)
        self._stale = True

    def _thought_over(self, event: ReasoningDone) -> None:
        """A short silence of a model that keeps its thoughts to itself is told of by nobody."""
        key, text = self._thought, event.text or "".join(self._thoughts)
        self._thought = None
        self._thoughts.clear()
        if key is None and (text.strip() or event.duration_ms >= SILENT_MS):
            key = self._key()
        if key is not None:
            self._add(Thought(key=key, text=text, seconds=event.duration_ms / 1000))

    def _end_thought(self) -> None:
        """Its turn ended in the middle of it."""
        if self._thought is not None and isinstance(block := self._get(self._thought), Thought):
            self._put(msgspec.structs.replace(block, text="".join(self._thoughts), seconds=0.0))
        self._thought = None
        self._thoughts.clear()

    def _forget_thought(self) -> None:
        if self._thought is not None:
            self._delete(self._where[self._thought])
        self._thought = None
        self._thoughts.clear()

    def _undone(self, event: TurnUndone) -> None:
        again = event.turn_id in self._undos
        if event.undo_id is not None:
            self.last_undo = event.undo_id
            self._undos.add(event.undo_id)
        self._add(Undone(key=self._key(), restored=event.restored, conflicts=event.conflicts, again=again))

    def _answered(self, key: str, decision: str, by: str) -> None:
        """What was allowed here once is told by the tool's own line."""
        block = self._get(key)
        if isinstance(block, Asked) and decision == "allow" and by == OURSELVES:
            self._delete(self._where[key])
        elif isinstance(block, Asked):
            self._put(msgspec.structs.replace(block, decision=decision, by=by))

    def _input(self, key: str, text: str, fate: Fate) -> None:
        self._add(You(key=key, text=text, fate=fate))

    def _tool_said(self, key: str, line: str) -> None:
        block = self._get(key)
        if isinstance(block, Tool) and block.status is None:
            self._put(msgspec.structs.replace(block, tail=(*block.tail, line)[-TAIL_LINES:]))

    def _tool_ended(self, event: ToolEnded) -> None:
        block = self._get(event.tool_call_id)
        arguments = event.arguments or (block.arguments if isinstance(block, Tool) else "")
        ended = Tool(
            key=event.tool_call_id,
            name=event.name,
            arguments=arguments,
            status=event.status,
            summary=event.summary,
            diff=event.diff,
            output=event.output,
            tail=block.tail if isinstance(block, Tool) else (),
            duration_ms=event.duration_ms,
        )
        self._add(ended)

    def _turn_ended(self, event: TurnEnded, figures: tuple[str, ...]) -> None:
        self._close_text()
        self._reply.clear()
        self._end_thought()
        if event.turn_id == self.running:
            self.running = None
        self.last_turn = event.turn_id
        for asked in [each for each in self.blocks if isinstance(each, Asked) and not each.decision]:
            if asked.approval.turn_id == event.turn_id:
                self._put(msgspec.structs.replace(asked, decision="withdrawn"))
        ended = Ended(
            key=f"end {event.turn_id}",
            turn_id=event.turn_id,
            status=event.status,
            text="" if event.status == "completed" or self._just_said(event.text) else event.text,
            calls=event.calls,
            duration_ms=event.duration_ms,
            figures=figures,
        )
        self._add(ended)

    def _just_said(self, text: str) -> bool:
        """Whether the last block tells it already."""
        last = self.blocks[-1] if self.blocks else None
        return bool(text) and isinstance(last, Note) and last.text.startswith(text)

    def _cut(self) -> None:
        """Blocks of what streamed: finished pieces stay as they are, the last one is made anew."""
        self._stale = False
        if self._thought is not None and isinstance(block := self._get(self._thought), Thought):
            self._thoughts = ["".join(self._thoughts)]
            self._put(msgspec.structs.replace(block, text=self._thoughts[0]))
        if not self._text:
            return
        self._drop_open()
        pieces, rest = cut("".join(self._text))
        for piece in pieces:
            self._append_said(piece, is_open=False)
        if rest.strip():
            self._append_said(rest, is_open=True)
        self._text = [rest]

    def _append_said(self, text: str, *, is_open: bool) -> None:
        block = Said(key=self._key(), text=text, first=not self._reply, open=is_open)
        self._reply.append(block.key)
        self._append(block)

    def _drop_open(self) -> None:
        if self.blocks and isinstance(last := self.blocks[-1], Said) and last.open:
            self._reply.remove(last.key)
            self._delete(len(self.blocks) - 1)

    def _finish(self, text: str) -> None:
        """The whole text of a reply stands for its deltas; where they say the same, nothing is drawn anew."""
        self._close_text()
        shown = [block.text for key in self._reply if isinstance(block := self._get(key), Said)]
        if not shown and self.blocks and isinstance(last := self.blocks[-1], Said) and last.text == text:
            return  # the history had it already
        if not shown or _bare("\n".join(shown)) != _bare(text):
            self._void()
            self._text = [text]
            self._cut()
            self._close_text()
        self._reply.clear()

    def _close_text(self) -> None:
        """What streamed so far is not drawn anew."""
        if self._stale:
            self._cut()
        if self.blocks and isinstance(last := self.blocks[-1], Said) and last.open:
            self.blocks[-1] = msgspec.structs.replace(last, open=False)
            self._mark(len(self.blocks) - 1)
        self._text.clear()

    def _void(self) -> None:
        self._stale = False
        self._text.clear()
        for key in self._reply:
            self._delete(self._where[key])
        self._reply.clear()

    def _delete(self, at: int) -> None:
        del self._where[self.blocks[at].key]
        del self.blocks[at]
        for index in range(at, len(self.blocks)):
            self._where[self.blocks[index].key] = index
        self._mark(at)

    def _add(self, block: Block) -> None:
        """Behind all others, or in its own place if it is there."""
        if block.key in self._where:
            self._put(block)
            return
        self._close_text()
        self._append(block)

    def _append(self, block: Block) -> None:
        self._where[block.key] = len(self.blocks)
        self._mark(len(self.blocks))
        self.blocks.append(block)

    def _put(self, block: Block) -> None:
        at = self._where[block.key]
        self.blocks[at] = block
        self._mark(at)

    def _get(self, key: str) -> Block | None:
        at = self._where.get(key)
        return None if at is None else self.blocks[at]

    def _mark(self, at: int) -> None:
        self._changed = min(self._changed, at)

    def _key(self) -> str:
        self._count += 1
        return f"#{self._count}"


def _bare(text: str) -> str:
    """A text without what cutting adds: blank lines and repeated fences."""
    return "".join(line.strip() for line in text.split("\n") if not line.lstrip().startswith(("```", "~~~"))).replace(
        " ", ""
    )
