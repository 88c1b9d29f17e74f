"""Chains over real sockets: continuation, eviction, forks, the durable store, warm-ups, and work on new items only."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_core.responses_server.settings import FEATURES
from tests.support.service.running import Running, connected, http_client, running_service
from tests.support.system.waiting import eventually

TOOL = {"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}}


def output_for(response: Any, text: str = "ok") -> dict[str, Any]:
    call = next(item for item in response["output"] if item["type"] == "function_call")
    return {"type": "function_call_output", "call_id": call["call_id"], "output": text}


@pytest.mark.rule("chain.delta")
async def test_a_tool_loop_by_deltas(service: Running) -> None:
    async with connected(service) as socket:
        first = await socket.response(input="list the files", tools=[TOOL], store=False)
        second = await socket.response(
            input=[output_for(first)], tools=[TOOL], store=False, previous_response_id=first["id"]
        )
    assert second["previous_response_id"] == first["id"]
    assert second["output"][0]["type"] == "message"
    before, after = first["usage"], second["usage"]
    cached = after["input_tokens_details"]["cached_tokens"]
    assert cached >= before["input_tokens"] + before["output_tokens"]
    assert 0 < after["input_tokens"] - cached < 40


@pytest.mark.rule("chain.incremental")
async def test_only_new_items_are_validated_screened_and_rendered(service: Running) -> None:
    history = [{"role": "user", "content": f"message {number} " + "word " * 50} for number in range(60)]
    pipeline = service.service.pipeline

    def counters() -> tuple[int, int, int]:
        return (
            pipeline.validator.validated_items,
            pipeline.screens.screened_items,
            pipeline.renderer.rendered_items,
        )

    async with connected(service) as socket:
        first = await socket.response(input=history, instructions="be brief " * 100, store=False)
        before = counters()
        second = await socket.response(
            input=[{"role": "user", "content": "one more"}],
            instructions="be brief " * 100,
            store=False,
            previous_response_id=first["id"],
        )
    validated, screened, rendered = (after - then for after, then in zip(counters(), before, strict=True))
    assert (validated, screened) == (1, 2), "what came, and what the model said then"
    assert rendered == 2  # the new message and the answer to it
    settled = await eventually(lambda: service.service_call(second["id"]))
    assert settled.new_tokens < 20
    assert settled.reused_tokens > 3000
    assert settled.new_tokens + settled.reused_tokens == second["usage"]["input_tokens"]
    assert {"admission", "queue", "state", "validate", "screen", "route", "render", "engine", "settle"} <= set(
        settled.stages_ms
    )


@pytest.mark.rule("chain.not_found")
async def test_an_unknown_id_is_not_found_and_the_connection_goes_on(service: Running) -> None:
    async with connected(service) as socket:
        error = await socket.call(input="x", previous_response_id="resp_unknown", store=False)
        assert error["status"] == 400
        assert error["error"]["code"] == "previous_response_not_found"
        assert error["error"]["param"] == "previous_response_id"
        assert error["error"]["message"] == "Previous response with id 'resp_unknown' not found."
        assert "stream_id" not in error
        await socket.response(input="x")


@pytest.mark.rule("chain.latest")
async def test_without_store_only_the_latest_id_can_be_continued(service: Running) -> None:
    async with connected(service) as socket:
        first = await socket.response(input="one", store=False)
        second = await socket.response(input="two", store=False, previous_response_id=first["id"])
        old = await socket.call(input="three", store=False, previous_response_id=first["id"])
        assert old["error"]["code"] == "previous_response_not_found"
        await socket.response(input="three", store=False, previous_response_id=second["id"])
    async with connected(service) as other:
        gone = await other.call(input="four", store=False, previous_response_id=second["id"])
        assert gone["error"]["code"] == "previous_response_not_found"


@pytest.mark.rule("chain.evict")
async def test_a_failed_continuation_evicts_what_it_named(service: Running) -> None:
    orphan = {"type": "function_call_output", "call_id": "call_nowhere", "output": "x"}
    async with connected(service) as socket:
        first = await socket.response(input="one", store=False)
        failed = await socket.call(input=[orphan], store=False, previous_response_id=first["id"])
        assert (failed["status"], failed["error"]["code"], failed["error"]["param"]) == (
            400,
            "invalid_request",
            "input",
        )
        assert "call_nowhere" in failed["error"]["message"]
        gone = await socket.call(input="two", store=False, previous_response_id=first["id"])
        assert gone["error"]["code"] == "previous_response_not_found"


@pytest.mark.rule("chain.evict")
async def test_a_continuation_that_can_not_be_read_evicts_too(service: Running) -> None:
    async with connected(service) as socket:
        first = await socket.response(input="one", store=False)
        failed = await socket.call(input="two", store=False, temperature="hot", previous_response_id=first["id"])
        assert failed["error"]["param"] == "temperature"
        gone = await socket.call(input="two", store=False, previous_response_id=first["id"])
        assert gone["error"]["code"] == "previous_response_not_found"


@pytest.mark.rule("chain.fork")
async def test_forks_share_their_parent_and_a_failed_fork_leaves_it(service: Running) -> None:
    orphan = {"type": "function_call_output", "call_id": "call_nowhere", "output": "x"}
    async with connected(service) as socket:
        parent = await socket.response(input="the parent " * 20, store=False)
        await socket.create(input=[orphan], store=False, stream_id="bad", previous_response_id=parent["id"])
        failed = (await socket.finish())[-1]
        assert (failed["type"], failed["stream_id"]) == ("error", "bad")
        for name in ("a", "b"):
            await socket.create(input=f"fork {name}", store=False, stream_id=name, previous_response_id=parent["id"])
            forked = (await socket.finish())[-1]["response"]
            assert forked["usage"]["input_tokens_details"]["cached_tokens"] > 60
        grown = await socket.response(input="go on", store=False, previous_response_id=parent["id"])
        assert grown["usage"]["input_tokens_details"]["cached_tokens"] > 60
        late = await socket.call(input="x", store=False, stream_id="c", previous_response_id=parent["id"])
        assert late["error"]["code"] == "previous_response_not_found"


@pytest.mark.rule("chain.fresh")
async def test_a_lane_without_previous_id_starts_afresh(service: Running) -> None:
    async with connected(service) as socket:
        await socket.response(input="one " * 200, store=False)
        fresh = await socket.response(input="two", store=False)
    assert fresh["usage"]["input_tokens"] < 30


@pytest.mark.rule("chain.store")
@pytest.mark.parametrize("kept", [None, True])
async def test_stored_responses_are_continued_from_anywhere(service: Running, kept: bool | None) -> None:
    """`store` is true when it is left out."""
    store = {} if kept is None else {"store": kept}
    async with connected(service) as socket:
        first = await socket.response(input="remember me " * 30, **store)
        second = await socket.response(input="and me", previous_response_id=first["id"], **store)
    async with connected(service) as other, http_client(service) as client:
        again = await other.response(input="three", store=False, previous_response_id=second["id"])
        body = {"model": "scripted", "input": "three", "store": False, "previous_response_id": second["id"]}
        by_http = (await client.post("/responses", json=body)).json()
        # The middle of the chain can be continued too, and the same id from a third place.
        branch = await other.response(input="three", previous_response_id=first["id"])
    assert again["usage"]["input_tokens"] == by_http["usage"]["input_tokens"] > 100
    assert again["usage"]["input_tokens_details"]["cached_tokens"] == 0
    assert branch["usage"]["input_tokens"] < again["usage"]["input_tokens"]


@pytest.mark.rule("chain.store")
async def test_a_stored_child_of_an_unstored_parent_stands_alone(service: Running) -> None:
    async with connected(service) as socket:
        first = await socket.response(input="only in memory " * 30, store=False, tools=[TOOL])
        second = await socket.response(
            input=[output_for(first)], previous_response_id=first["id"], store=True, tools=[TOOL]
        )
    async with connected(service) as other:
        third = await other.response(input="go on", previous_response_id=second["id"], tools=[TOOL])
    assert third["usage"]["input_tokens"] > second["usage"]["input_tokens"]


@pytest.mark.rule("chain.store")
@pytest.mark.rule("chain.evict")
async def test_a_stored_id_survives_its_eviction_from_memory(service: Running) -> None:
    orphan = {"type": "function_call_output", "call_id": "call_nowhere", "output": "x"}
    async with connected(service) as socket:
        first = await socket.response(input="one")
        failed = await socket.call(input=[orphan], previous_response_id=first["id"])
        assert failed["type"] == "error"
        await socket.response(input="two", previous_response_id=first["id"])


@pytest.mark.rule("chain.warm_up")
async def test_a_warm_up_and_its_continuation(service: Running) -> None:
    async with connected(service) as socket:
        await socket.create(input="be ready " * 40, tools=[TOOL], store=False, generate=False)
        warm = await socket.finish()
        assert [event["type"] for event in warm] == [
            "response.created",
            "response.in_progress",
            "response.completed",
        ]
        response = warm[-1]["response"]
        assert response["output"] == []
        assert response["usage"]["output_tokens"] == 0
        assert response["usage"]["input_tokens"] > 40
        first = await socket.response(input=[], tools=[TOOL], store=False, previous_response_id=response["id"])
        assert first["output"][0]["type"] == "function_call"
        assert first["usage"]["input_tokens_details"]["cached_tokens"] == response["usage"]["input_tokens"]


@pytest.mark.rule("chain.own_settings")
async def test_settings_are_not_inherited(service: Running) -> None:
    async with connected(service) as socket:
        first = await socket.response(input="x", instructions="be brief", tools=[TOOL], store=False)
        second = await socket.response(input=[output_for(first)], store=False, previous_response_id=first["id"])
    assert second["instructions"] is None
    assert second["tools"] == []


@pytest.mark.rule("chain.ablation")
@pytest.mark.parametrize("feature", [*FEATURES, "all"])
async def test_ablations_answer_the_same(feature: str, service: Running) -> None:
    without = frozenset(FEATURES if feature == "all" else {feature})

    async def talk(running: Running) -> list[Any]:
        async with connected(running) as socket:
            first = await socket.response(input="hello " * 20_000, tools=[TOOL])
            second = await socket.response(input=[output_for(first)], tools=[TOOL], previous_response_id=first["id"])
            usage = second["usage"]
            return [first["output"][0]["name"], second["output"][0]["content"], usage["input_tokens"], usage]

    with running_service(without=without) as ablated:
        found = await talk(ablated)
    full = await talk(service)
    assert found[:3] == full[:3]
    cached = found[3]["input_tokens_details"]["cached_tokens"]
    if without & {"render-cache", "state"}:
        assert cached == 0, "nothing that was rendered is remembered"
    else:
        assert cached == full[3]["input_tokens_details"]["cached_tokens"] > 0


@pytest.mark.rule("tools.known")
async def test_tools_and_instructions_that_come_again_are_neither_parsed_nor_rendered(service: Running) -> None:
    """As Codex does it, on every call; on another connection and over HTTP too, and whatever goes on in between."""
    about = {"type": "function", "description": "what it does " * 20, "parameters": {}}
    tools = [{**about, "name": f"tool_{number}"} for number in range(60)]
    fields: dict[str, Any] = {"tools": tools, "tool_choice": "none", "instructions": "be brief " * 300, "store": False}
    sets = service.service.pipeline.validator.tool_sets
    async with connected(service) as socket:
        first = await socket.response(input="one", **fields)
        parsed, kept = sets.parsed, len(sets)
        second = await socket.response(input="two", previous_response_id=first["id"], **fields)
        await socket.response(input="else", store=False, stream_id="else")
        third = await socket.response(input="three", previous_response_id=second["id"], stream_id="fork", **fields)
    async with connected(service) as socket:
        await socket.response(input="one", **fields)
    async with http_client(service) as client:
        body = json.dumps({"model": "scripted", "input": "one", **fields})
        answer = await client.post("/responses", content=body)
        assert answer.status_code == 200
    assert (sets.parsed, len(sets)) == (parsed, kept)
    for response in (second, third):
        assert response["tools"] == first["tools"]
        assert response["usage"]["input_tokens_details"]["cached_tokens"] > 2000
        assert response["usage"]["input_tokens"] - response["usage"]["input_tokens_details"]["cached_tokens"] < 20
