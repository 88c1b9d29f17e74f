"""What was said and done, as telemetry content: only where the user turned `telemetry.content` on.

It is made from the front end's updates, so the core that emits figures never handles text.
"""

from __future__ import annotations

import msgspec

from agent_core.telemetry.emitter import Emitter
from agent_core.telemetry.events import Content
from agent_core.turns.events import Front, TextDone, ToolEnded, TurnBegan, Update


def content_front(emitter: Emitter, session: str) -> Front:
    """A front end that shows nothing and emits `Content` events."""

    def front(update: Update) -> None:
        match update:
            case TurnBegan(turn=turn, task=task):
                emitter.emit(Content(session=session, turn=turn, kind="user", text=task))
            case TextDone(turn=turn, text=text):
                emitter.emit(Content(session=session, turn=turn, kind="answer", text=text))
            case ToolEnded(turn=turn, tool_call=tool_call, arguments=arguments, result=result):
                asked = Content(session=session, turn=turn, kind="tool_arguments", text=arguments, tool_call=tool_call)
                emitter.emit(asked)
                emitter.emit(msgspec.structs.replace(asked, kind="tool_output", text=result.output))

    return front
