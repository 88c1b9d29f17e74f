"""The model's tool calls in a reply, and the output items that answer them.

Every item that has a `call_id` and is no output is a call; each gets exactly one output of the matching kind, also when
it was refused, cancelled or interrupted, so that the history can always be sent in full.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from agent_core.tools.port import Kind

INTERRUPTED = "interrupted: the process ended while this tool ran; it may or may not have taken effect"
CANCELLED = "cancelled by the user"
CUT_OFF = "not run: the reply was cut off"


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a reply. `arguments` is the JSON text of a function call, the plain input of a custom one."""

    call_id: str
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


_decode_item = msgspec.json.Decoder(_Item).decode
_decode_parts = msgspec.json.Decoder(list[_Part]).decode


def calls_of(items: Iterable[bytes]) -> list[Call]:
    """Calls among a reply's items, in order. Items that the reader does not fit are no calls."""
    return [call for item in _read(items) if (call := _call(item))]


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
    open_calls: dict[str, Call] = {}
    for item in _read(items):
        if item.type.endswith("_output") and item.call_id:
            open_calls.pop(item.call_id, None)
        elif call := _call(item):
            open_calls[call.call_id] = call
    return list(open_calls.values())


def output_of(call: Call, text: str) -> bytes:
    """The output item that answers `call`."""
    return msgspec.json.encode({"type": f"{call.item_type}_output", "call_id": call.call_id, "output": text})


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
    for raw in items:
        try:
            yield _decode_item(raw)
        except msgspec.MsgspecError:
            continue


def _call(item: _Item) -> Call | None:
    if not item.call_id or item.type.endswith("_output"):
        return None
    text = item.arguments if item.arguments is not None else item.input
    return Call(call_id=item.call_id, name=item.name or item.type, arguments=text or "", item_type=item.type)
