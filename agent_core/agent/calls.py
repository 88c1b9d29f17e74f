"""The model's tool calls in a reply, and the output items that answer them.

A function or custom tool call is a call whatever its `call_id`, and so is every other item that has one and is no
output; each gets exactly one output of the matching kind, also when it was refused, cancelled or interrupted, so that
the history can always be sent in full. Which output is whose is told by position (`wire.pairing`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from agent_core.text import sound
from agent_core.tools.port import Kind
from agent_core.wire.pairing import pairs

INTERRUPTED = "interrupted: the process ended while this tool ran; it may or may not have taken effect"
CANCELLED = "cancelled by the user"
TOOL_CALLS = ("function_call", "custom_tool_call")
CUT_OFF = "not run: the reply was cut off"


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a reply. `arguments` is the JSON text of a function call, the plain input of a custom one.

    `call_id` is what its output echoes, "" too; `key` is what we know it by, unique in its turn.
    """

    call_id: str
    key: str
    name: str
    arguments: str
    item_type: str


class _Item(msgspec.Struct):
    type: str = ""
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    input: str | None = None
    role: str | None = None
    content: msgspec.Raw = msgspec.Raw(b"[]")


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


_UNREADABLE = _Item()
_decode_item = msgspec.json.Decoder(_Item).decode
_decode_parts = msgspec.json.Decoder(list[_Part]).decode


def calls_of(items: Iterable[bytes], known: Collection[str] = ()) -> list[Call]:
    """Calls among a reply's items, in order. Items that the reader does not fit are no calls.

    `known`: keys of the turn's earlier calls, which none of these gets.
    """
    calls: list[Call] = []
    for item in _read(items):
        if (call := _call(item)) is not None:
            taken = {*known, *(each.key for each in calls)}
            calls.append(msgspec.structs.replace(call, key=key_of(call.call_id, taken)))
    return calls


def key_of(call_id: str, taken: Collection[str]) -> str:
    """The key of a turn's next call; `taken`: those of all calls before it."""
    return call_id if call_id and call_id not in taken else f"{call_id or 'call'}.{len(taken)}"


def answers(items: Iterable[bytes]) -> dict[int, int]:
    """Position of each output to the position of the call that it answers (`wire.pairing`)."""
    return pairs(_ids(item) for item in _each(items))


def text_of(items: Iterable[bytes]) -> str:
    """The text of the messages among `items` (of a reply: what the assistant said), parted by a blank line."""
    texts = []
    for item in _read(items):
        if item.type == "message":
            try:
                parts = _decode_parts(item.content)
            except msgspec.MsgspecError:
                continue
            texts.append("".join(part.text or part.refusal or "" for part in parts))
    return "\n\n".join(text for text in texts if text)


def unanswered(items: Iterable[bytes]) -> list[Call]:
    """Calls that no later item answers (left by a process that died while a tool ran)."""
    read = list(_each(items))
    answered = pairs(map(_ids, read)).values()
    calls = ((at, _call(item)) for at, item in enumerate(read))
    return [call for at, call in calls if call is not None and at not in answered]


def output_of(call: Call, text: str) -> bytes:
    """The output item that answers `call`."""
    return msgspec.json.encode({"type": f"{call.item_type}_output", "call_id": call.call_id, "output": sound(text)})


def batches(calls: Sequence[Call], kind: dict[str, Kind]) -> Iterator[list[Call]]:
    """Groups that run one after the other: neighbours that only read share a group and run side by side."""
    group: list[Call] = []
    for call in calls:
        if kind.get(call.name) in ("read", "mcp_read"):
            group.append(call)
            continue
        if group:
            yield group
            group = []
        yield [call]
    if group:
        yield group


def item_type(item: bytes) -> str:
    """The item's `type`, "" where it has none."""
    return next((read.type for read in _read([item])), "")


def role_of(item: bytes) -> str | None:
    """The role of a message, None for other items."""
    return next((read.role for read in _read([item])), None)


def _read(items: Iterable[bytes]) -> Iterator[_Item]:
    """The items that the reader fits."""
    return (item for item in _each(items) if item is not _UNREADABLE)


def _each(items: Iterable[bytes]) -> Iterator[_Item]:
    for raw in items:
        try:
            yield _decode_item(raw)
        except msgspec.MsgspecError:
            yield _UNREADABLE


def _ids(item: _Item) -> tuple[str | None, str | None]:
    """The id of the call that an item is, and of the one that it answers."""
    call = _call(item)
    return None if call is None else call.call_id, (item.call_id or "") if item.type.endswith("_output") else None


def _call(item: _Item) -> Call | None:
    if item.type.endswith("_output") or not (item.call_id or item.type in TOOL_CALLS):
        return None
    text = item.arguments if item.arguments is not None else item.input
    call_id = item.call_id or ""
    return Call(call_id=call_id, key=call_id, name=item.name or item.type, arguments=text or "", item_type=item.type)
