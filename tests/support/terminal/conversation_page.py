"""Events of one session for pages of the conversation, and the app on them without a session behind it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ["TEXTUAL_ANIMATIONS"] = "none"
os.environ["TEXTUAL_COLOR_SYSTEM"] = "truecolor"

from agent_core.clock import SystemClock
from agent_core.turns.approval import Approval
from agent_core.turns.events import (
    ApprovalAsked,
    Plan,
    Step,
    TextDelta,
    TextDone,
    ToolBegan,
    ToolEnded,
    ToolOutput,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from dashboard.agent.app import AgentApp
from dashboard.agent.conversation.blocks import Block
from dashboard.agent.paint.blocks import paint_block
from dashboard.agent.sessions.options import AgentOptions
from dashboard.widgets.spans import text_of

OF: dict[str, Any] = {"session_id": "sess_1", "turn_id": "turn_1"}
DIFF = """--- a/dates/parse.py
+++ b/dates/parse.py
@@ -12,3 +12,3 @@
 def parse(stamp):
-    return stamp[:19]
+    return stamp[:19] + offset
"""
ANSWER = """The offset is cut **before** it is read:

```python
def parse(stamp: str) -> str:
    return stamp[:19]  # no offset
```

1. read it
2. add it behind

| zone | ok |
|---|---|
| +05:30 | yes |
"""


def began(task: str = "the date parser drops the time zone, fix it") -> TurnBegan:
    return TurnBegan(title=task, task=task, **OF)


def deltas(text: str, size: int = 7) -> list[TextDelta]:
    return [TextDelta(text=text[at : at + size], **OF) for at in range(0, len(text), size)]


def done(text: str) -> TextDone:
    return TextDone(text=text, **OF)


def asked(
    subject: str = "git stash && pytest -q", approval_id: str = "appr_1", *, always: bool = True
) -> ApprovalAsked:
    return ApprovalAsked(
        approval=Approval(
            approval_id=approval_id,
            kind="command",
            name="shell",
            subject=subject,
            rule="`git stash` changes the repository",
            always=always,
            **OF,
        )
    )


def turn_ended(status: str = "completed", text: str = "fixed") -> TurnEnded:
    return TurnEnded(status=status, text=text, duration_ms=6_200, calls=4, tools=3, **OF)  # type: ignore[arg-type]


def story() -> list[TurnEvent]:
    """A turn up to its question: text, plan, tools with output and diff, a command that runs."""
    return [
        began(),
        *deltas(ANSWER),
        done(ANSWER),
        Plan(steps=(Step(text="run the tests", status="done"), Step(text="mend it", status="active")), **OF),
        ToolBegan(tool_call_id="c1", name="checks", arguments='{"target":"tests/test_dates.py"}', **OF),
        ToolEnded(
            tool_call_id="c1", name="checks", status="error", summary="2 failed, 31 passed", diff="", files_changed=(),
            duration_ms=600, arguments='{"target":"tests/test_dates.py"}', output="test_zone: expected +05:30", **OF,
        ),
        ToolBegan(tool_call_id="c2", name="edit", arguments='{"path":"dates/parse.py"}', **OF),
        ToolEnded(
            tool_call_id="c2", name="edit", status="ok", summary="edited", diff=DIFF, files_changed=("dates/parse.py",),
            duration_ms=1.1, arguments='{"path":"dates/parse.py"}', output="edited", **OF,
        ),
        ToolBegan(tool_call_id="c3", name="shell", arguments='{"command":"make all"}', **OF),
        ToolOutput(tool_call_id="c3", line="compiling …", **OF),
        asked(),
    ]  # fmt: skip


def shown(blocks: Sequence[Block], width: int = 80, opened: Sequence[str] = ()) -> list[str]:
    """The lines of a page as text."""
    lines: list[str] = []
    for at, block in enumerate(blocks):
        before = blocks[at - 1] if at else None
        lines += [text_of(line) for line in paint_block(block, width, opened=block.key in opened, before=before)]
    return lines


class PageApp(AgentApp):
    """The app without what hosts sessions: what is told is told by hand. `said` is what the person sent, `answered`
    what was answered."""

    def __init__(self, folder: Path, *, theme: str | None = None) -> None:
        super().__init__(AgentOptions(theme=theme), root=folder, clock=SystemClock(), by_hand=True)
        self.said: list[tuple[str, str, bool]] = []
        self.answered: list[tuple[str, str | None, str]] = []
        self.talk.say = self._said  # type: ignore[method-assign]
        self.talk.answer = self._answered  # type: ignore[method-assign]

    def _start(self) -> None:
        return

    def _said(self, text: str, shown: str, *, queue: bool) -> None:
        self.said.append((text, shown, queue))

    def _answered(self, approval: Approval, decision: str, why: str = "") -> None:
        self.answered.append((approval.approval_id, decision, why))

    def tell(self, *events: TurnEvent) -> None:
        for event in events:
            self.talk.observe(event)
        self.conversation.draw()
