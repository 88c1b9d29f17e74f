"""Makes a conversation with holes fit to be sent: what answers a call that is lost stays, as a message. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec


class _Item(msgspec.Struct):
    type: str = ""
    call_id: str | None = None
    output: msgspec.Raw = msgspec.Raw(b'""')


_decode = msgspec.json.Decoder(_Item).decode


def mended(items: Iterable[bytes]) -> list[bytes]:
    """The items, as many as before. An output without its call, which a service would refuse, becomes a message."""
    found: list[bytes] = []
    calls: Counter[str] = Counter()
    for raw in items:
        try:
            item = _decode(raw)
        except msgspec.MsgspecError:
            item = _Item()
        if item.call_id and item.type.endswith("_output"):
            calls[item.call_id] -= 1
            if calls[item.call_id] < 0:
                calls[item.call_id] = 0
                raw = _as_message(item)
        elif item.call_id:
            calls[item.call_id] += 1
        found.append(raw)
    return found


def _as_message(item: _Item) -> bytes:
    text = bytes(item.output).decode("utf-8", "replace")
    told = f"Output of a tool call that could not be read back:\n{text}"
    part = {"type": "input_text", "text": told}
    return msgspec.json.encode({"type": "message", "role": "user", "content": [part]})
