"""Which output answers which call, where ids come again or are not there."""

from __future__ import annotations

import pytest

from agent_core.agent.calls import calls_of, output_of, unanswered
from agent_core.wire.pairing import pairs

Ids = list[tuple[str | None, str | None]]

ROWS: dict[str, tuple[Ids, dict[int, int]]] = {
    "one id in each round": ([("c", None), (None, "c"), ("c", None), (None, "c")], {1: 0, 3: 2}),
    "one id twice in a reply": ([("c", None), ("c", None), (None, "c"), (None, "c")], {2: 0, 3: 1}),
    "no ids": ([("", None), ("", None), (None, ""), (None, "")], {2: 0, 3: 1}),
    "outputs in another order": ([("c", None), ("d", None), (None, "d"), (None, "c")], {2: 1, 3: 0}),
    "a call that was never answered": ([("c", None), (None, "d"), ("c", None), (None, "c")], {3: 2}),
    "a second output for one call": ([("c", None), (None, "c"), (None, "c")], {1: 0, 2: 0}),
    "an output of nothing": ([(None, "c"), (None, None)], {}),
}


@pytest.mark.parametrize("name", ROWS)
def test_outputs_find_their_calls_by_position(name: str) -> None:
    ids, expected = ROWS[name]
    assert pairs(ids) == expected


@pytest.mark.parametrize("call_id", ['""', '"c"', "null"])
def test_calls_of_a_reply_have_keys_of_their_own_and_echo_the_id(call_id: str) -> None:
    item = b'{"type":"function_call","name":"read","arguments":"{}","call_id":%b}' % call_id.encode()
    calls = calls_of([item, item], {"c"})
    assert len({call.key for call in calls} | {"c"}) == 3
    outputs = [output_of(call, "ok") for call in calls]
    assert unanswered([item, item]) != []
    assert unanswered([item, item, outputs[0]])[0].call_id == calls[1].call_id
    assert len(unanswered([item, item, outputs[0]])) == 1
    assert unanswered([item, item, *outputs]) == []
