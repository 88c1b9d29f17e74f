"""A session's items as people read them: what was said, and each tool call with its output. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from agent_core.agent.calls import TOOL_CALLS, answers, key_of
from lsp_server.protocol.methods import Entry, Transcript

MAX_TEXT = 20_000


def page(items: Iterable[bytes], turns: Iterable[str], before: int | None, limit: int) -> Transcript:
    """The `limit` entries that end before entry `before`; None: the newest. `turns` are those of the items."""
    entries = _entries(zip(items, turns, strict=True))
    end = len(entries) if before is None else max(0, min(before, len(entries)))
    start = max(0, end - limit)
    return Transcript(entries=tuple(entries[start:end]), more=start > 0)


def _entries(items: Iterable[tuple[bytes, str]]) -> list[Entry]:
    entries: list[Entry] = []
    raws = list(items)
    answered = answers(raw for raw, _ in raws)
    calls: dict[int, int] = {}
    keys: dict[str, set[str]] = {}
    for at, (raw, turn) in enumerate(raws):
        try:
            item = msgspec.json.decode(raw)
        except msgspec.DecodeError:
            continue
        if not isinstance(item, dict):
            continue
        kind, call = str(item.get("type", "")), str(item.get("call_id") or "")
        index = len(entries)
        if kind == "message" and item.get("role") in ("user", "assistant"):
            text = _text(item.get("content"))[:MAX_TEXT]
            entries.append(Entry(kind=item["role"], text=text, index=index, turn_id=turn))
        elif kind.endswith("_output"):
            if (place := calls.get(answered.get(at, -1))) is not None:
                entries[place] = msgspec.structs.replace(entries[place], text=_text(item.get("output"))[:MAX_TEXT])
        elif call or kind in TOOL_CALLS:
            calls[at] = index
            taken = keys.setdefault(turn, set())
            key = key_of(call, taken)
            taken.add(key)
            arguments = item.get("arguments", item.get("input", ""))
            entries.append(
                Entry(
                    kind="tool",
                    text="",
                    index=index,
                    name=str(item.get("name") or kind),
                    arguments=str(arguments)[:MAX_TEXT],
                    tool_call_id=key,
                    turn_id=turn,
                )
            )
    return entries


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text") or part.get("refusal") or "") for part in parts if isinstance(part, dict))
