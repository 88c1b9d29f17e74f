"""Tools and items of every listed kind: accepted, offered to engines that can use them, or counted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.service.running import Running, connected, http_client, running_service
from tests.support.system.waiting import eventually

WIRE = Path(__file__).parents[2] / "golden" / "wire"
GO: dict[str, Any] = {"model": "scripted", "input": "go", "store": False}
READ = {"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}}
FIND = {**READ, "name": "find"}


def golden(kind: str) -> list[Any]:
    return [pytest.param(json.loads(path.read_bytes()), id=path.stem) for path in sorted(WIRE.glob(f"{kind}.*.json"))]


@pytest.mark.rule("tools.accepted")
@pytest.mark.parametrize("tool", golden("tool"))
async def test_tools_of_every_kind_are_accepted_and_counted(service: Running, tool: dict[str, Any]) -> None:
    usable = tool["type"] in ("function", "custom", "namespace")
    if tool["type"] == "custom":
        tool = {**tool, "format": {"type": "text"}}
    if tool["type"] == "namespace":
        tool = {**tool, "tools": [{"type": "custom", "name": "p"}]}
    async with connected(service) as socket:
        response = await socket.response(**GO, tools=[tool], tool_choice="none")
    settled = await eventually(lambda: service.service_call(response["id"]))
    assert settled.tools_ignored == (0 if usable else 1)
    assert [each["type"] for each in response["tools"]] == (["function"] if tool["type"] == "function" else [])


@pytest.mark.rule("tools.accepted")
async def test_tools_that_the_model_can_not_call_are_counted(service: Running) -> None:
    tools = [{"type": "custom", "name": "p"}, {"type": "web_search"}, READ]
    async with connected(service) as socket:
        response = await socket.response(model="repair", input="hello", store=False, tools=tools)
    settled = await eventually(lambda: service.service_call(response["id"]))
    assert settled.tools_ignored == 2


@pytest.mark.rule("items.accepted")
@pytest.mark.parametrize("item", golden("item"))
async def test_items_of_every_kind_are_accepted(service: Running, item: dict[str, Any]) -> None:
    """An output comes with its call; what only the service can have made is refused by its place."""
    kind, refusal = item["type"], None
    before: list[dict[str, Any]] = []
    if kind == "compaction":
        refusal = "input[0].encrypted_content"
    elif kind == "item_reference":
        refusal = "input[0].id"
    elif kind == "additional_tools":
        item = {**item, "tools": [READ]}
    elif kind == "configuration_update":
        item = {**item, "reasoning": {"effort": "low"}, "text": {"format": {"type": "text"}}}
    elif kind == "message":
        item = {**item, "role": "user", "content": "x"}
    elif kind.endswith("_output"):
        name = kind.removesuffix("_output").removesuffix("_call")
        path = WIRE / ("item.program.json" if name == "program" else f"item.{name}_call.json")
        before = [{**json.loads(path.read_bytes()), "call_id": item.get("call_id") or item.get("id")}]
    async with connected(service) as socket:
        last = await socket.call(**{**GO, "input": [*before, item]})
    if refusal is None:
        assert last["type"] == "response.completed", last
    else:
        assert (last["error"]["code"], last["error"]["param"]) == ("invalid_request", refusal)


@pytest.mark.rule("items.outputs")
async def test_an_output_needs_its_call_whatever_its_kind(service: Running) -> None:
    outputs: list[dict[str, Any]] = [
        {"type": "function_call_output", "output": "x"},
        {"type": "custom_tool_call_output", "output": "x"},
        {"type": "shell_call_output", "output": []},
        {"type": "apply_patch_call_output", "status": "completed"},
        {"type": "local_shell_call_output", "output": "x"},
        {"type": "tool_search_output", "tools": []},
        {"type": "computer_call_output", "output": {"type": "computer_screenshot", "image_url": "https://e.com/a"}},
    ]
    call = {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{}"}
    async with connected(service) as socket:
        for output in outputs:
            item = {**output, "call_id": "call_1"}
            refused = await socket.call(**{**GO, "input": [item]})
            assert (refused["error"]["code"], refused["error"]["param"]) == ("invalid_request", "input")
            assert "call_1" in refused["error"]["message"]
            await socket.response(**{**GO, "input": [call, item]})


@pytest.mark.rule("tools.additional")
@pytest.mark.parametrize("kind", ["additional_tools", "tool_search_output"])
async def test_tools_that_come_as_items_stay_for_the_conversation(service: Running, kind: str) -> None:
    item: dict[str, Any] = {"type": kind, "tools": [FIND]}
    before: list[dict[str, Any]] = []
    if kind == "additional_tools":
        item["role"] = "developer"
    else:
        item["call_id"] = "ts_1"
        before = [{"type": "tool_search_call", "call_id": "ts_1", "arguments": {}, "execution": "client"}]
    user = {"role": "user", "content": "go"}
    async with connected(service) as socket, http_client(service) as client:
        first = await socket.response(model="scripted", input=[*before, item, user])
        call = first["output"][0]
        assert (call["type"], call["name"]) == ("function_call", "find")
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": "ok"}
        later = {"input": [output, user], "previous_response_id": first["id"]}
        by_socket = await socket.response(model="scripted", **later)
        from_store = (await client.post("/responses", json={"model": "scripted", **later})).json()
        named = {"type": "function", "name": "find"}
        chosen = await socket.response(model="scripted", tools=[READ], tool_choice=named, **later)
        small = await socket.response(
            model="scripted", input=[output, {"type": "compaction_trigger"}], previous_response_id=first["id"]
        )
        after = await socket.response(model="scripted", input=[small["output"][0], user])
        for response in (by_socket, from_store, chosen, after):
            assert response["output"][0]["name"] == "find"
        broken = await socket.call(model="scripted", input=[*before, {**item, "tools": [{"type": "function"}]}])
        assert broken["error"]["param"] == f"input[{len(before)}].tools[0].name"


@pytest.mark.rule("settings.update")
async def test_a_configuration_update_stays_until_the_next(service: Running) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    to_json = {
        "type": "configuration_update",
        "reasoning": {"effort": "high"},
        "text": {"format": {"type": "json_schema", "name": "n", "schema": schema}},
    }
    to_text = {"type": "configuration_update", "text": {"format": {"type": "text"}}}
    user = {"role": "user", "content": "go"}
    same: dict[str, Any] = {"model": "scripted", "reasoning": {"effort": "low"}}
    async with connected(service) as socket, http_client(service) as client:
        first = await socket.response(**same, input=[to_json, user])
        second = await socket.response(**same, input=[user], previous_response_id=first["id"])
        stored = await client.post("/responses", json={**same, "input": [user], "previous_response_id": first["id"]})
        third = await socket.response(**same, input=[to_text, user], previous_response_id=second["id"])
    for response in (first, second, stored.json()):
        assert json.loads(response["output"][0]["content"][0]["text"]) == {"n": 1}
        assert response["reasoning"] == {"effort": "high"}
        assert response["text"]["format"]["type"] == "json_schema"
    assert third["text"]["format"] == {"type": "text"}
    assert third["reasoning"] == {"effort": "high"}
    assert not third["output"][0]["content"][0]["text"].startswith("{")


GRAMMARS = {
    "none": None,
    "text": {"type": "text"},
    "regex": {"type": "grammar", "syntax": "regex", "definition": r"[a-c]{3}-\d+"},
}
EXPECTED = {"none": ".+", "text": ".+", "regex": r"[a-c]{3}-\d+"}


@pytest.mark.rule("tools.custom")
@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("namespace", [None, "edits"])
async def test_a_custom_tool_is_called_within_its_grammar(service: Running, name: str, namespace: str | None) -> None:
    tool: dict[str, Any] = {"type": "custom", "name": "patch", "format": GRAMMARS[name]}
    tools = (
        [tool] if namespace is None else [{"type": "namespace", "name": namespace, "description": "", "tools": [tool]}]
    )
    async with connected(service) as socket:
        await socket.create(**GO, tools=tools, tool_choice={"type": "custom", "name": "patch"})
        events = await socket.finish()
        call = events[-1]["response"]["output"][0]
        assert (call["type"], call["name"], call.get("namespace")) == ("custom_tool_call", "patch", namespace)
        assert re.fullmatch(EXPECTED[name], call["input"])
        deltas = [event["delta"] for event in events if event["type"] == "response.custom_tool_call_input.delta"]
        assert "".join(deltas) == call["input"]
        output = {"type": "custom_tool_call_output", "call_id": call["call_id"], "output": "ok"}
        again = await socket.response(
            **{**GO, "input": [output]}, tools=tools, previous_response_id=events[-1]["response"]["id"]
        )
    assert again["output"][0]["type"] == "message"


@pytest.mark.rule("tools.custom")
async def test_a_lark_grammar_has_to_be_played_from_a_script(service: Running) -> None:
    broken = {"type": "grammar", "syntax": "lark", "definition": 'start: "a"'}
    tools = [{"type": "custom", "name": "patch", "format": broken}]
    async with connected(service) as socket:
        last = await socket.call(**GO, tools=tools, tool_choice="required")
    assert (last["type"], last["response"]["error"]["code"]) == ("response.failed", "grammar_unreadable")


@pytest.mark.rule("tools.custom")
async def test_a_function_in_a_namespace_says_so_when_it_is_called(service: Running) -> None:
    tools = [{"type": "namespace", "name": "agents", "description": "", "tools": [READ]}]
    async with connected(service) as socket:
        response = await socket.response(**GO, tools=tools)
    assert (response["output"][0]["name"], response["output"][0]["namespace"]) == ("read", "agents")


@pytest.mark.rule("screening.told")
async def test_a_blocked_input_is_told_and_counted() -> None:
    image = {"type": "input_image", "image_url": "data:nonsense", "detail": "auto"}
    with running_service() as running:
        async with connected(running) as socket:
            failed = await socket.call(**{**GO, "input": [{"role": "user", "content": [image]}]})
            assert (failed["type"], failed["response"]["error"]["code"]) == ("response.failed", "invalid_media")
            fine = await socket.response(**GO)
        settled = await eventually(lambda: running.service_call(failed["response"]["id"]))
        assert settled.screened == "invalid_media"
        settled = await eventually(lambda: running.service_call(fine["id"]))
        assert settled.screened is None
