"""Validation: only new items, strict, with the path of what is wrong; outputs matched by call id."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agent_core.errors import WireError
from agent_core.responses_server.conversation.context import Context
from agent_core.responses_server.conversation.opening import opened
from agent_core.responses_server.conversation.sealing import Sealer
from agent_core.responses_server.request.toolset import NO_TOOLS
from agent_core.responses_server.request.validation import Checked, Validator
from agent_core.responses_server.slices import ITEMS_PER_SLICE, at_once
from agent_core.responses_server.state.chain import ChainState, calls_in
from agent_core.wire.items import read_item
from agent_core.wire.requests import read_create_body

CALL = {"type": "function_call", "name": "read", "arguments": "{}", "call_id": "call_1"}


def check(parent: ChainState | None = None, validator: Validator | None = None, **fields: Any) -> Checked:
    create = read_create_body(msgspec.json.encode({"model": "scripted", **fields}))
    validator = validator or Validator()
    given = at_once(validator.read(create))
    given.items = at_once(opened(given.items, Sealer(b"s" * 32).of("test")))
    return at_once(validator.check(create, parent, given))


def parent_of(*items: dict[str, Any]) -> ChainState:
    read = [read_item(msgspec.json.encode(item)) for item in items]
    return ChainState("resp_1", Context.empty().extended(read, [], calls_in(read)), NO_TOOLS, stored=False)


OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}


def with_id(call_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return {**CALL, "call_id": call_id}, {**OUTPUT, "call_id": call_id}


@pytest.mark.parametrize("call_id", ["call_0", ""])
def test_an_output_answers_a_call_that_has_none_and_ids_come_again(call_id: str) -> None:
    call, output = with_id(call_id)
    rounds = [call, output] * 3
    assert len(check(input=rounds).items) == 6
    assert len(check(parent_of(*rounds), input=[call, output]).items) == 2
    assert len(check(parent_of(call, call), input=[output, output]).items) == 2
    for parent, given in (
        (None, [call, output, output]),
        (None, [output, call]),
        (None, [*rounds, output]),
        (parent_of(*rounds), [output]),
        (parent_of(call), [output, output]),
        (parent_of(call, call, output), [output, output]),
        (parent_of(call, output), [call, output, output]),
    ):
        assert refused(parent, input=given) == "input"


def test_a_second_output_is_told_from_one_without_a_call() -> None:
    for parent, given, told in (
        (parent_of(CALL, OUTPUT), [OUTPUT], "Every tool call has its output already"),
        (None, [OUTPUT], "No tool call found"),
    ):
        with pytest.raises(WireError, match=told):
            check(parent, input=given)


def refused(parent: ChainState | None = None, **fields: Any) -> str | None:
    with pytest.raises(WireError) as caught:
        check(parent, **fields)
    assert caught.value.code == "invalid_request"
    return caught.value.param


def test_only_new_items_are_read() -> None:
    validator = Validator()
    check(parent_of(CALL, CALL, CALL), validator, input=[{"role": "user", "content": "go on"}])
    assert validator.validated_items == 1


def test_items_do_not_keep_their_frame() -> None:
    checked = check(input=[{"role": "user", "content": "x"}], instructions="y" * 10_000)
    assert isinstance(checked.raws[0], msgspec.Raw)
    assert len(memoryview(checked.raws[0])) < 100


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({}, "input"),
        ({"input": None}, "input"),
        ({"input": "x", "background": True}, "background"),
        ({"input": "x", "conversation": "conv_1"}, "conversation"),
        ({"input": "x", "prompt": {"id": "p"}}, "prompt"),
        ({"input": "x", "temperature": 2.5}, "temperature"),
        ({"input": "x", "top_p": -0.1}, "top_p"),
        ({"input": "x", "max_output_tokens": 0}, "max_output_tokens"),
        ({"input": [{"role": "user", "content": "x"}, {"type": "message"}]}, "input[1].content"),
        ({"input": [{"role": "user", "content": [{"type": "input_text"}]}]}, "input[0].content[0].text"),
        ({"input": [{"type": "nonsense"}]}, "input[0].type"),
        ({"input": [{"type": "compaction_trigger"}, {"role": "user", "content": "x"}]}, "input[0].type"),
        ({"input": [{"type": "compaction", "encrypted_content": "of another"}]}, "input[0].encrypted_content"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]},
            "input[0].content[0].file_id",
        ),
        ({"input": "x", "tools": [{"type": "function"}]}, "tools[0].name"),
    ],
)
def test_refusals_name_their_field(fields: dict[str, Any], param: str) -> None:
    assert refused(**fields) == param


@pytest.mark.parametrize(
    "output",
    [
        {"type": "function_call_output", "call_id": "call_1", "output": "ok"},
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": "ok"},
        {"type": "shell_call_output", "call_id": "call_1", "output": []},
        {"type": "apply_patch_call_output", "call_id": "call_1", "status": "completed"},
    ],
)
def test_outputs_are_matched_by_call_id_whatever_their_kind(output: dict[str, Any]) -> None:
    assert check(parent_of(CALL), input=[output]).items
    assert check(input=[CALL, output]).items
    assert refused(input=[output]) == "input"
    assert refused(input=[output, CALL]) == "input"


def test_what_is_continued_needs_no_input() -> None:
    assert check(parent_of(CALL), previous_response_id="resp_1", input=[]).items == []
    assert check(parent_of(CALL), previous_response_id="resp_1").items == []


def test_settings_with_their_defaults() -> None:
    plain = check(input="hello")
    assert (plain.settings.generate, plain.settings.store, plain.calling.choice) == (True, True, "auto")
    assert plain.settings.text_format is None
    warm = check(input="hello", generate=False, store=False, text={"format": {"type": "json_object"}}).settings
    assert (warm.generate, warm.store, warm.text_format) == (False, False, {"type": "json_object"})
    assert check(input="hello", prompt_cache_options={"prewarm": True}).settings.generate is False


def test_unchanged_tools_are_recognised() -> None:
    tools = [{"type": "function", "name": "read", "parameters": {}}]
    for known, parsed in ((True, 1), (False, 2)):
        validator = Validator(known_tools=known)
        first = check(None, validator, input="x", tools=tools)
        again = check(None, validator, input="y", tools=tools)
        assert validator.tool_sets.parsed == parsed
        assert (again.tools is first.tools) is known


def test_many_items_are_read_in_slices() -> None:
    create = read_create_body(msgspec.json.encode({"input": [{"role": "user", "content": "x"}] * 200}))
    slices = 0
    work = Validator().read(create)
    while True:
        try:
            next(work)
        except StopIteration as end:
            assert len(end.value.items) == 200
            break
        slices += 1
    assert slices == 200 // ITEMS_PER_SLICE
