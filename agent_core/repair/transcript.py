"""What a conversation says so far: the task, the calls made for it, their outputs; calls of a run cut off. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent_core.wire.items import FunctionCall, FunctionCallOutput, Message, text_of
from agent_core.wire.pairing import pairs


@dataclass(frozen=True, slots=True)
class DoneCall:
    """A call and its output; `output` None where the conversation holds none."""

    name: str
    arguments: str
    output: str | None

    def fits(self, name: str, arguments: dict[str, Any]) -> bool:
        if self.name != name:
            return False
        try:
            return bool(json.loads(self.arguments) == arguments)
        except ValueError:
            return False


@dataclass(frozen=True, slots=True)
class Turn:
    """What follows the latest user message."""

    task: str
    calls: tuple[DoneCall, ...]
    introduced: bool
    """Whether an earlier message of this conversation said what this engine is."""
    interrupted: tuple[DoneCall, ...]
    """Calls of the turn before, if that ended without a final message."""


def read_turn(items: Sequence[Any]) -> Turn:
    """Folds a whole conversation. Items of other kinds are passed over."""
    outputs = _outputs(items)
    users = [at for at, item in enumerate(items) if isinstance(item, Message) and item.role == "user"]
    start = users[-1] if users else -1
    task = text_of(items[start]) if users else ""
    calls = _calls(items, start + 1, outputs)
    earlier = items[:start] if users else ()
    spoken = any(isinstance(item, Message) and item.role == "assistant" for item in earlier)
    return Turn(task, calls, spoken, _interrupted(earlier, outputs))


def _outputs(items: Sequence[Any]) -> dict[int, str]:
    """The output of each call, by the call's position: ids may come again."""
    answers = pairs(
        (
            item.call_id if isinstance(item, FunctionCall) else None,
            item.call_id if isinstance(item, FunctionCallOutput) else None,
        )
        for item in items
    )
    return {call: text_of(items[at]) for at, call in answers.items()}


def _calls(items: Sequence[Any], start: int, outputs: dict[int, str]) -> tuple[DoneCall, ...]:
    return tuple(
        DoneCall(item.name, item.arguments, outputs.get(at))
        for at, item in enumerate(items[start:], start)
        if isinstance(item, FunctionCall)
    )


def _interrupted(earlier: Sequence[Any], outputs: dict[int, str]) -> tuple[DoneCall, ...]:
    """Calls since the last message that closed a turn: the assistant's, with no call before the user speaks again."""
    open_from = 0
    for at, item in enumerate(earlier):
        follower = next((kind for kind in earlier[at + 1 :] if isinstance(kind, FunctionCall | Message)), None)
        closes = isinstance(item, Message) and item.role == "assistant" and not isinstance(follower, FunctionCall)
        if closes and not (isinstance(follower, Message) and follower.role == "assistant"):
            open_from = at + 1
    return _calls(earlier, open_from, outputs)
