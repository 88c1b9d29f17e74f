from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from agent_core.errors import WireError
from agent_core.wire.codec import encode, to_raw
from agent_core.wire.items import (
    ITEMS,
    FunctionCall,
    FunctionCallOutput,
    InputText,
    ItemReference,
    Message,
    OutputText,
    Reasoning,
    Refusal,
    UnknownItem,
    UnknownPart,
    call_id_of,
    item_type,
    output_call_id,
    part_text,
    read_item,
    read_item_strict,
    read_parts,
    text_of,
)

USER = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
CALL = {"type": "function_call", "name": "read", "arguments": "{}", "call_id": "call_1"}


def _item(frame: object) -> Any:
    return read_item(to_raw(frame))


@pytest.mark.parametrize(
    ("item", "param"),
    [
        ({**USER, "type": "massage"}, "input[2].type"),
        ({**USER, "type": 4}, "input[2].type"),
        ({"content": "x"}, "input[2].type"),
        ({}, "input[2].type"),
        ([], "input[2]"),
        ("hi", "input[2]"),
        (None, "input[2]"),
        ({**USER, "role": "robot"}, "input[2].role"),
        ({"type": "message", "content": "x"}, "input[2].role"),
        ({"role": "user"}, "input[2].content"),
        ({**USER, "content": 4}, "input[2].content"),
        ({**USER, "content": [{"type": "input_text", "text": 4}]}, "input[2].content[0].text"),
        (
            {**USER, "content": [{"type": "input_text", "text": "a"}, {"type": "input_text"}]},
            "input[2].content[1].text",
        ),
        ({**USER, "content": [{"type": "video"}]}, "input[2].content[0].type"),
        ({**USER, "content": [{"text": "a"}]}, "input[2].content[0].type"),
        ({**USER, "content": ["a"]}, "input[2].content[0]"),
        ({**USER, "content": [{"type": "input_image", "image_url": 4}]}, "input[2].content[0].image_url"),
        ({**CALL, "arguments": {"path": "a"}}, "input[2].arguments"),
        ({k: v for k, v in CALL.items() if k != "call_id"}, "input[2].call_id"),
        ({**CALL, "caller": {"type": "nobody"}}, "input[2].caller.type"),
        ({"type": "function_call_output", "call_id": "c", "output": 4}, "input[2].output"),
        (
            {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": None}]},
            "input[2].output[0].text",
        ),
        ({"type": "custom_tool_call_output", "output": "x"}, "input[2].call_id"),
        ({"type": "reasoning", "summary": [{"type": "summary_text"}]}, "input[2].summary[0].text"),
        ({"type": "reasoning", "summary": "x"}, "input[2].summary"),
        ({"type": "shell_call", "call_id": "c", "action": {"commands": ["ls", 4]}}, "input[2].action.commands[1]"),
        ({"type": "apply_patch_call", "call_id": "c", "operation": {"type": "move"}}, "input[2].operation.type"),
        (
            {"type": "apply_patch_call", "call_id": "c", "operation": {"type": "create_file", "path": "a"}},
            "input[2].operation.diff",
        ),
        (
            {"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "", "stderr": "", "outcome": {}}]},
            "input[2].output[0].outcome.type",
        ),
        ({"type": "additional_tools", "tools": [{"type": "function"}]}, "input[2].tools[0].name"),
        ({"type": "tool_search_output", "tools": [{"type": "zoom"}]}, "input[2].tools[0].type"),
        ({"type": "item_reference"}, "input[2].id"),
        ({"type": "compaction"}, "input[2].encrypted_content"),
        ({**USER, "x": 10**30}, "input[2]"),
        ({**CALL, "x": [[[10**25]]]}, "input[2]"),
    ],
)
def test_strict_reading_names_the_field(item: object, param: str) -> None:
    raw = Raw(json.dumps(item).encode())
    with pytest.raises(WireError) as caught:
        read_item_strict(raw, "input[2]")
    assert (caught.value.code, caught.value.param) == ("invalid_request", param)


@pytest.mark.parametrize(
    "body",
    [
        b'{"type":"message","role":"user","content":"\xff"}',
        b'{"type":"message","role":"user","content":"\\udfff"}',
        b'{"type":"message","role":"user","content":[{"type":"input_text","text":"a","x":"\\ud800"}]}',
        b'{"type":"message","role":"user","content":[{"type":"output_text","text":"a","annotations":["\xff"]}]}',
        b'{"type":"message","role":"user","content":"a","x":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
        b'{"type":"message","role":"user","content":"a","x":' + b"[" * 500 + b"]" * 500 + b"}",
        b'{"type":"message","role":"user","content":"a","x":1e999}',
    ],
    ids=lambda body: str(body[-24:]),
)
def test_what_no_one_could_decode_does_not_pass(body: bytes) -> None:
    with pytest.raises(WireError) as caught:
        read_item_strict(Raw(body), "input[0]")
    assert (caught.value.param or "").startswith("input[0]")
    assert caught.value.code == "invalid_request"


@pytest.mark.parametrize(
    "item",
    [
        {"role": "user", "content": "hi"},
        {"type": None, "role": "user", "content": "hi"},
        {"role": "developer", "content": [{"type": "input_text", "text": "hi"}], "id": None, "status": None},
        {"role": "system", "content": ""},
        {"role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
        {
            "role": "assistant",
            "content": [{"type": "output_text", "text": "hi", "annotations": None, "logprobs": None}],
        },
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}], "phase": "commentary"},
        {**CALL, "id": "", "status": "whatever", "namespace": None},
        {**CALL, "future_field": {"a": [1]}},
        {"type": "reasoning", "summary": [], "content": None, "encrypted_content": None},
        {"type": "reasoning", "summary": None},
        {"type": "local_shell_call", "call_id": None, "action": {"type": "exec", "command": ["ls"], "env": None}},
        {"type": "web_search_call", "status": "completed", "action": {"type": "other"}},
        {"type": "function_call_output", "output": "x", "name": "lookup"},
        {"type": "compaction_trigger"},
        {"id": "msg_1"},
        {"type": "item_reference", "id": "msg_1"},
        {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True},
    ],
)
def test_strict_reading_takes_what_real_clients_send(item: dict[str, Any]) -> None:
    raw = Raw(json.dumps(item).encode())
    strict = read_item_strict(raw, "input[0]")
    assert read_item(raw) == strict
    assert item_type(strict) in ITEMS


def test_long_values_are_not_echoed() -> None:
    for item in (
        {"type": "x" * 10_000},
        {**USER, "content": [{"type": "x" * 10_000}]},
        {**CALL, "caller": {"type": "x" * 10_000}},
    ):
        with pytest.raises(WireError) as caught:
            read_item_strict(to_raw(item), "input[0]")
        assert len(caught.value.message) < 400


def test_a_message_and_a_reference_need_no_type() -> None:
    assert isinstance(_item({"role": "user", "content": "hi"}), Message)
    assert isinstance(_item({"id": "msg_1"}), ItemReference)
    assert isinstance(_item({"id": "msg_1", "x": 1}), UnknownItem)


@pytest.mark.parametrize(
    "item", [{"type": "new_kind", "x": 1}, {"type": "function_call"}, {**USER, "content": 4}, {"type": 3}, {}]
)
def test_lenient_reading_keeps_what_it_does_not_know(item: dict[str, Any]) -> None:
    found = _item(item)
    assert isinstance(found, UnknownItem)
    assert json.loads(encode(found)) == item
    assert item_type(found) == (item.get("type") if isinstance(item.get("type"), str) else "")


@pytest.mark.parametrize("body", [b"[]", b"3", b"nope", b"", b"\xff"])
def test_lenient_reading_wants_an_object(body: bytes) -> None:
    with pytest.raises(WireError):
        read_item(body)


def test_unknown_parts_of_a_known_message_stay() -> None:
    message = _item({**USER, "content": [{"type": "hologram", "x": 1}, {"type": "input_text", "text": "hi", "new": 2}]})
    assert isinstance(message, Message)
    unknown, known = read_parts(message.content)
    assert isinstance(unknown, UnknownPart)
    assert (unknown.type, part_text(unknown)) == ("hologram", "")
    assert known == InputText(text="hi")
    assert json.loads(encode(message))["content"][1]["new"] == 2


def test_parts_of_a_plain_string() -> None:
    assert read_parts("hi") == [InputText(text="hi")]
    (part,) = read_parts([to_raw(OutputText(text="x"))])
    assert part == OutputText(text="x", annotations=[], logprobs=[])
    assert part_text(Refusal(refusal="no")) == "no"


def test_written_items_have_what_clients_need() -> None:
    assert json.loads(encode(Reasoning(id="rs_1"))) == {"type": "reasoning", "id": "rs_1", "summary": []}
    text = json.loads(encode(Message(role="assistant", content=[to_raw(OutputText(text="hi"))], id="m")))
    assert text["content"] == [{"type": "output_text", "text": "hi", "annotations": [], "logprobs": []}]
    assert json.loads(encode(FunctionCall(name="a", arguments="", call_id="c"))) == {
        **CALL,
        "name": "a",
        "arguments": "",
        "call_id": "c",
    }


OUTPUTS: dict[str, dict[str, Any]] = {
    "function_call_output": {"output": "x"},
    "custom_tool_call_output": {"output": "x"},
    "shell_call_output": {"output": []},
    "apply_patch_call_output": {"output": "x"},
    "computer_call_output": {"output": {"type": "computer_screenshot"}},
    "tool_search_output": {"tools": []},
    "program_output": {"result": "x"},
    "local_shell_call_output": {"output": "x"},
}
CALLS: dict[str, dict[str, Any]] = {
    "function_call": {"name": "n", "arguments": "{}"},
    "custom_tool_call": {"name": "n", "input": "x"},
    "shell_call": {"action": {"commands": []}},
    "apply_patch_call": {"operation": {"type": "delete_file", "path": "a"}},
    "computer_call": {},
    "tool_search_call": {},
    "program": {"code": "x"},
    "local_shell_call": {"action": {"type": "exec", "command": []}},
}


@pytest.mark.parametrize("kind", sorted(ITEMS))
def test_call_ids_of_every_kind(kind: str) -> None:
    fields = {**OUTPUTS, **CALLS}.get(kind)
    if fields is None:
        assert not kind.endswith("_output")
        return
    item = read_item_strict(to_raw({"type": kind, "call_id": "call_9", **fields}), "input[0]")
    assert output_call_id(item) == ("call_9" if kind in OUTPUTS else None)
    assert call_id_of(item) == ("call_9" if kind in CALLS else None)


def test_local_shell_items_may_name_their_call_by_id() -> None:
    assert output_call_id(_item({"type": "local_shell_call_output", "id": "lsh_1", "output": "x"})) == "lsh_1"
    assert (
        call_id_of(_item({"type": "local_shell_call", "id": "lsh_1", "action": {"type": "exec", "command": []}}))
        == "lsh_1"
    )
    assert output_call_id(_item(USER)) is None
    assert output_call_id(FunctionCallOutput(output="x")) is None


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (USER, "hi"),
        ({**USER, "content": "plain"}, "plain"),
        (
            {**USER, "content": [{"type": "input_image", "image_url": "data:x"}, {"type": "input_text", "text": "b"}]},
            "b",
        ),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}, "no"),
        (CALL, "{}"),
        ({"type": "custom_tool_call", "name": "n", "call_id": "c", "input": "patch"}, "patch"),
        ({"type": "function_call_output", "call_id": "c", "output": "out"}, "out"),
        ({"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "out"}]}, "out"),
        (
            {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "a"}],
                "content": [{"type": "reasoning_text", "text": "b"}],
            },
            "a\nb",
        ),
        ({"type": "shell_call", "call_id": "c", "action": {"commands": ["ls", "pwd"]}}, "ls\npwd"),
        (
            {
                "type": "shell_call_output",
                "call_id": "c",
                "output": [{"stdout": "o", "stderr": "e", "outcome": {"type": "exit", "exit_code": 0}}],
            },
            "e\no",
        ),
        (
            {
                "type": "apply_patch_call",
                "call_id": "c",
                "operation": {"type": "create_file", "path": "a.py", "diff": "+x"},
            },
            "+x\na.py",
        ),
        ({"type": "compaction", "encrypted_content": "gAAA"}, ""),
        ({"type": "new_kind", "words": ["a", {"more": "b"}], "id": "x"}, "a\nb"),
    ],
)
def test_text_of_an_item(item: dict[str, Any], text: str) -> None:
    assert "\n".join(sorted(text_of(_item(item)).split("\n"))) == text


def test_text_of_an_unreadable_item_is_empty() -> None:
    assert text_of(UnknownItem("x", Raw(b'{"a":"\xff"}'))) == ""
