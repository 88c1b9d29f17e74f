"""Ids of stored items. They say where the item is, so a reference is resolved without an index.

An output item is `<prefix>_<hex of its response>o<position>`, an input item that came without an id
`<prefix>_<hex>i<position>`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from agent_core.clock import new_id

_PREFIXES = {
    "message": "msg",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
    "reasoning": "rs",
    "compaction": "cmp",
}
_ID = re.compile(r"[a-z]+_(?P<hex>[0-9a-f]{24})(?P<side>[io])(?P<position>\d{1,7})")


class Place(NamedTuple):
    """Where an item is: the response, whether it is in its output, and its position there."""

    response_id: str
    in_output: bool
    position: int


def maker(response_id: str) -> Callable[[str], str]:
    """Ids for the output items of a response, in their order; `call` ids stay random, as clients keep them apart."""
    count = 0

    def make(prefix: str) -> str:
        nonlocal count
        if prefix == "call":
            return new_id(prefix)
        count += 1
        return f"{prefix}_{_hex(response_id)}o{count - 1}"

    return make


def input_id(kind: str, response_id: str, position: int) -> str:
    """The id of the input item at `position`; `kind` is its type."""
    return f"{_PREFIXES.get(kind, 'item')}_{_hex(response_id)}i{position}"


def place_of(item_id: str) -> Place | None:
    """None for ids that were not made here."""
    found = _ID.fullmatch(item_id)
    if found is None:
        return None
    return Place(f"resp_{found['hex']}", found["side"] == "o", int(found["position"]))


def _hex(response_id: str) -> str:
    return response_id.partition("_")[2]
