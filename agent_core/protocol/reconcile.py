"""What a response's output is, where its item events and its terminal event don't say quite the same. Pure.

The complete terminal event is the truth. What item events said besides is used where it says the same (their items may
carry more, such as encrypted reasoning), and passed over where it is another response's tail or a repetition. Two
different contents for one item contradict each other, and so does a terminal event that lacks an item of its response.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, Final

import msgspec

from agent_core.errors import ProtocolError

NOT_DONE: Final = "item_not_done"
"""An item was complete in the terminal event only."""
NO_OUTPUT: Final = "output_missing"
"""The terminal event had none of the items that were done."""
FOREIGN: Final = "foreign_event"
"""An event of an earlier response."""

_NO_CONTENT: Final = frozenset({"id", "status", "call_id", "encrypted_content"})
"""Fields that gateways rewrite from event to event; an item is the same with another one."""


class DoneItem(msgspec.Struct):
    """An item as `response.output_item.done` had it; `item_id` "" where it has none. `doubtful`: it came out of its
    turn on a way where an earlier response's tail may still come."""

    index: int
    item_id: str
    raw: bytes
    doubtful: bool = False


class Reconciled(msgspec.Struct, frozen=True):
    items: list[bytes]
    oddities: tuple[str, ...] = ()


def reconcile(
    stated: Sequence[bytes], done: Sequence[DoneItem], *, unfinished: bool, completed: bool, earlier: Container[str]
) -> Reconciled:
    """The output items, in order. `stated`: those of the terminal event. `unfinished`: an item was announced and never
    done; of a response that was not `completed` it is left out. `earlier`: ids of items of earlier
    responses, which may be among `done` as their tail.

    Raises ProtocolError for a contradiction.
    """
    if not stated:
        if unfinished and completed:
            raise ProtocolError("the response completed, but an item of it did not")
        sure = {each.index for each in done if not each.doubtful and each.item_id not in earlier}
        ours = [each for each in done if each.index not in sure or not (each.doubtful or each.item_id in earlier)]
        items = [each.raw for each in sorted(ours, key=lambda each: each.index)]
        return Reconciled(items, (NO_OUTPUT,) if items and completed else ())
    oddities: set[str] = set()
    left = list(done)
    items = []
    for index, raw in enumerate(stated):
        known = _take(left, index, raw, earlier)
        if known is None:
            oddities.add(NOT_DONE)
        items.append(raw if known is None else _fuller(known.raw, raw))
    ids = {_text(_read(raw).get("id")) for raw in stated}
    for each in left:
        if not each.item_id or each.item_id in ids or each.item_id not in earlier:
            raise ProtocolError(f"item {each.index} has another content in the terminal event, or is not in it")
        oddities.add(FOREIGN)
    return Reconciled(items, tuple(sorted(oddities)))


def same(one: bytes, other: bytes) -> bool:
    """Whether two items say the same, whatever their ids and states."""
    return one == other or _content(_read(one)) == _content(_read(other))


def _take(left: list[DoneItem], index: int, raw: bytes, earlier: Container[str]) -> DoneItem | None:
    """Take out of `left` the item that `raw` is, if it is there: best the one with its id, never another response's."""
    stated = _read(raw)
    item_id, ours = _text(stated.get("id")), _content(stated)
    for each in sorted(left, key=lambda each: (each.item_id != item_id, each.doubtful, each.index != index)):
        if each.item_id in earlier and each.item_id != item_id:
            continue
        theirs = _content(_read(each.raw))
        alike = ours[0] == theirs[0] and (each.item_id == item_id or each.index == index)
        if ours == theirs or (alike and (not ours[1] or not theirs[1]) and ours[2:] == theirs[2:]):
            left.remove(each)
            return each
    return None


def _fuller(done: bytes, stated: bytes) -> bytes:
    """The form to keep of an item that has two: what the events said, unless it is empty or answers to another id."""
    ours, theirs = _read(done), _read(stated)
    empty = not _content(ours)[1] and _content(theirs)[1]
    return stated if empty or ours.get("call_id") != theirs.get("call_id") else done


def _content(item: dict[str, Any]) -> tuple[Any, ...]:
    """Kind of the item, what it says ("" for nothing), and what it is for."""
    kind = _text(item.get("type"))
    if kind == "message":
        return kind, _parts(item.get("content"))
    if kind == "reasoning":
        return kind, _parts(item.get("summary")) + _parts(item.get("content"))
    if kind == "function_call":
        return kind, _arguments(item.get("arguments")), item.get("name")
    if kind == "custom_tool_call":
        return kind, item.get("input") or "", item.get("name")
    return kind, {name: value for name, value in item.items() if name not in _NO_CONTENT and value is not None}


def _parts(parts: Any) -> str:
    if isinstance(parts, str):
        return parts
    known = [part for part in parts or () if isinstance(part, dict)]
    return "".join(_text(part.get("text")) + _text(part.get("refusal")) for part in known)


def _arguments(text: Any) -> Any:
    """JSON text as its value, since a gateway may space it anew; {} and no text are both nothing."""
    if not isinstance(text, str):
        return text or ""
    try:
        return msgspec.json.decode(text) or ""
    except (msgspec.MsgspecError, RecursionError):
        return text


def _read(raw: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return {"raw": raw}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
