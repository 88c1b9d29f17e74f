"""What was said and done, as telemetry content: only where the user turned `telemetry.content` on.

It is made from turn events, so the core that emits figures never handles text.
"""

from __future__ import annotations

import msgspec

from agent_core.telemetry.emitter import Emitter
from agent_core.telemetry.events import Content
from agent_core.turns.events import Observer, ReasoningDone, TextDone, ToolEnded, TurnBegan, TurnEvent


def content_observer(emitter: Emitter, session: str) -> Observer:
    """An observer that shows nothing and emits `Content` events."""

    def observe(event: TurnEvent) -> None:
        match event:
            case TurnBegan(turn_id=turn, task=task):
                emitter.emit(Content(session=session, turn=turn, kind="user", text=task))
            case ReasoningDone(turn_id=turn, text=text) if text:
                emitter.emit(Content(session=session, turn=turn, kind="reasoning", text=text))
            case TextDone(turn_id=turn, text=text):
                emitter.emit(Content(session=session, turn=turn, kind="answer", text=text))
            case ToolEnded(turn_id=turn, tool_call_id=tool_call, arguments=arguments, output=output):
                asked = Content(session=session, turn=turn, kind="tool_arguments", text=arguments, tool_call=tool_call)
                emitter.emit(asked)
                emitter.emit(msgspec.structs.replace(asked, kind="tool_output", text=output))

    return observe
