"""Whatever is told of a turn, in any field, reaches the screen of the conversation as text that no terminal obeys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import msgspec

from agent_core.turns.events import AnyTurnEvent, ApprovalAsked, ToolEnded, TurnEvent
from tests.support.system.hostile_text import HOSTILE, filled, trouble
from tests.support.terminal.conversation_page import PageApp
from tests.support.terminal.pictures import screen_text

EVENTS = get_args(AnyTurnEvent)
DRAWN_EACH = 6
SHORT = {name: text for name, text in HOSTILE.items() if name not in ("long", "surrogate")}


def told(given: str) -> list[TurnEvent]:
    """Every kind of event, and those of tools with arguments and differences that tell the text again."""
    events: list[Any] = [filled(kind, given) for kind in EVENTS]
    arguments = json.dumps({"path": given, "command": given, given: given})
    diff = f"--- a/{given}\n+++ b/{given}\n@@ -1 +1 @@\n-{given}\n+{given}\n"
    events += [msgspec.structs.replace(each, arguments=arguments) for each in events if hasattr(each, "arguments")]
    events += [msgspec.structs.replace(each, diff=diff) for each in events if isinstance(each, ToolEnded)]
    return events


async def test_every_field_of_every_event_on_the_screen(tmp_path: Path) -> None:
    app = PageApp(tmp_path)
    async with app.run_test(size=(100, 60)) as pilot:
        for name, given in SHORT.items():
            seen = ""
            for at, event in enumerate(told(given)):
                app.tell(event)
                if at % DRAWN_EACH and not isinstance(event, ApprovalAsked):
                    continue
                await pilot.pause()
                seen += "\n".join(screen_text(app))
                if isinstance(event, ApprovalAsked):
                    # what would hide is spelled out where a person decides about it
                    assert name not in ("bidi", "invisible") or "\\u" in seen
            assert seen.strip() and not trouble(seen.encode("utf-8", "backslashreplace")), name
