from __future__ import annotations

import msgspec

from agent_core.agent.calls import Call, batches, calls_of, output_of, text_of, unanswered
from agent_core.tools.port import Kind


def _item(**fields: object) -> bytes:
    return msgspec.json.encode(fields)


FUNCTION = _item(type="function_call", call_id="c1", name="read", arguments='{"path":"a"}', id="fc_1")
CUSTOM = _item(type="custom_tool_call", call_id="c2", name="apply_patch", input="*** Begin Patch")
SHELL = _item(type="local_shell_call", call_id="c3", action={"command": ["ls"]})
MESSAGE = _item(
    type="message",
    role="assistant",
    content=[{"type": "output_text", "text": "a"}, {"type": "refusal", "refusal": "b"}],
)


def test_every_kind_of_call_is_found_and_answered_in_kind() -> None:
    calls = calls_of([MESSAGE, FUNCTION, b'{"type":"reasoning","summary":[]}', CUSTOM, SHELL])
    assert [(call.call_id, call.name, call.arguments) for call in calls] == [
        ("c1", "read", '{"path":"a"}'),
        ("c2", "apply_patch", "*** Begin Patch"),
        ("c3", "local_shell_call", ""),
    ]
    outputs = [msgspec.json.decode(output_of(call, "out")) for call in calls]
    assert [output["type"] for output in outputs] == [
        "function_call_output",
        "custom_tool_call_output",
        "local_shell_call_output",
    ]
    assert [output["call_id"] for output in outputs] == ["c1", "c2", "c3"]


def test_calls_without_an_output_are_known() -> None:
    answered = output_of(calls_of([CUSTOM])[0], "x")
    assert [call.call_id for call in unanswered([FUNCTION, CUSTOM, answered])] == ["c1"]
    assert unanswered([FUNCTION, output_of(calls_of([FUNCTION])[0], "y")]) == []


def test_text_is_joined_and_odd_items_are_skipped() -> None:
    odd = _item(type="message", content="plain")
    assert text_of([MESSAGE, odd, b"[]", FUNCTION, MESSAGE]) == "ab\n\nab"


def test_neighbouring_reads_share_a_batch_and_order_is_kept() -> None:
    kinds: dict[str, Kind] = {"read": "read", "search": "read", "edit": "edit", "shell": "command"}
    names = ["read", "search", "edit", "read", "shell", "shell", "unknown", "read"]
    calls = [
        Call(call_id=str(i), key=str(i), name=name, arguments="", item_type="function_call")
        for i, name in enumerate(names)
    ]
    grouped = list(batches(calls, kinds))
    assert [[call.name for call in group] for group in grouped] == [
        ["read", "search"],
        ["edit"],
        ["read"],
        ["shell"],
        ["shell"],
        ["unknown"],
        ["read"],
    ]
    assert [call for group in grouped for call in group] == calls
