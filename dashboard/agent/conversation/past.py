"""What a session's history holds, as blocks of a page. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from agent_core.agent.calls import TOOL_CALLS, answers, key_of
from agent_core.agent.history import History
from agent_core.turns.events import EndStatus
from dashboard.agent.conversation.blocks import Block, Ended, Said, Tool, You

MAX_OUTPUT = 20_000
"""Characters of a tool's output that are kept."""

_ENDS = ("completed", "failed", "cancelled")


def past(history: History) -> list[Block]:
    """All that was said and done, oldest first."""
    raws = list(history.items.raw(0))
    blocks = _items(zip(raws, history.turn_of, strict=True), answers(raws))
    ends = {record.turn: record for record in history.turns if record.status != "started"}
    started = {record.turn for record in history.turns if record.status == "started"}
    found: list[Block] = []
    turn = ""
    for of_turn, block in [*blocks, ("", None)]:
        if of_turn != turn and turn in started:
            record = ends.get(turn)
            status: EndStatus = record.status if record and record.status in _ENDS else "interrupted"  # type: ignore[assignment]
            text = record.text if record is not None and status != "completed" else ""
            found.append(Ended(key=f"end {turn}", turn_id=turn, status=status, text=text, calls=None, duration_ms=None))
        turn = of_turn
        if block is not None:
            found.append(block)
    return found


def _items(items: Iterable[tuple[bytes, str]], answered: dict[int, int]) -> list[tuple[str, Block]]:
    found: list[tuple[str, Block]] = []
    calls: dict[int, int] = {}
    keys: dict[str, set[str]] = {}
    begun: set[str] = set()
    for at, (raw, turn) in enumerate(items):
        item = _read(raw)
        kind, call = str(item.get("type", "")), str(item.get("call_id") or "")
        if kind == "message" and item.get("role") == "user":
            key = f"you {turn}" if turn not in begun else f"past {at}"
            begun.add(turn)
            found.append((turn, You(key=key, text=text_of(item.get("content")))))
        elif kind == "message" and item.get("role") == "assistant":
            if text := text_of(item.get("content")):
                found.append((turn, Said(key=f"past {at}", text=text, first=True)))
        elif kind.endswith("_output"):
            place = calls.get(answered.get(at, -1))
            if place is not None and isinstance(tool := found[place][1], Tool):
                output = text_of(item.get("output"))[:MAX_OUTPUT]
                found[place] = (found[place][0], msgspec.structs.replace(tool, output=output))
        elif call or kind in TOOL_CALLS:
            taken = keys.setdefault(turn, set())
            key = key_of(call, taken)
            taken.add(key)
            calls[at] = len(found)
            arguments = str(item.get("arguments", item.get("input", "")))
            name = str(item.get("name") or kind)
            found.append((turn, Tool(key=key, name=name, arguments=arguments, status="ok")))
    return _unique(found)


def _unique(found: list[tuple[str, Block]]) -> list[tuple[str, Block]]:
    """Keys of tool calls are unique in their turn only."""
    seen: set[str] = set()
    for at, (turn, block) in enumerate(found):
        if block.key in seen:
            block = msgspec.structs.replace(block, key=f"{turn} {block.key} {at}")
            found[at] = (turn, block)
        seen.add(block.key)
    return found


def _read(raw: bytes) -> dict[str, Any]:
    try:
        item = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return {}
    return item if isinstance(item, dict) else {}


def text_of(content: Any) -> str:
    """The text of a message's content or of a tool's output."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text") or part.get("refusal") or "") for part in parts if isinstance(part, dict))
