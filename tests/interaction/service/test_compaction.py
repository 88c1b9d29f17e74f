"""Compaction over real sockets: by threshold, by trigger, by its own endpoint; and what counts as said afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.service.running import Running, connected, http_client, playing

READ = {"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}}
LONG = "long words of an answer " * 150
TASK = {"type": "message", "role": "user", "content": "mend the parser"}
SPOKEN = {"type": "message", "role": "assistant", "content": LONG}
CALL = {"type": "function_call", "name": "read", "arguments": '{"path":"a.py"}', "call_id": "call_1"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": LONG}
ASK = {"type": "message", "role": "user", "content": "and now?"}
HISTORY = [TASK, SPOKEN, CALL, OUTPUT, SPOKEN, ASK]
ABOVE_1000 = [{"type": "compaction", "compact_threshold": 1000}]


async def count(running: Running, given: list[Any]) -> int:
    async with http_client(running) as client:
        body = {"model": "scripted", "input": given}
        return int((await client.post("/responses/input_tokens", json=body)).json()["input_tokens"])


def compaction_of(response: Any) -> dict[str, Any]:
    (item,) = (item for item in response["output"] if item["type"] == "compaction")
    return dict(item)


@pytest.mark.rule("compaction.threshold")
async def test_above_the_threshold_a_compaction_comes_before_the_reply(service: Running) -> None:
    async with connected(service) as socket:
        await socket.create(input=HISTORY, context_management=ABOVE_1000, store=False)
        events = await socket.finish()
    response = events[-1]["response"]
    assert [item["type"] for item in response["output"]] == ["compaction", "message"]
    kinds = [event["type"] for event in events]
    assert kinds[2:5] == ["response.output_item.added", "response.compaction.compacting", "response.output_item.done"]
    item = compaction_of(response)
    assert (events[3]["item_id"], events[3]["output_index"]) == (item["id"], 0)
    assert events[2]["item"]["encrypted_content"] == ""
    assert events[4]["item"] == item
    assert response["usage"]["input_tokens"] < await count(service, HISTORY) / 2


@pytest.mark.rule("compaction.threshold")
async def test_below_the_threshold_nothing_is_compacted(service: Running) -> None:
    async with connected(service) as socket:
        for entries in ([{"type": "compaction", "compact_threshold": 100_000}], [{"type": "compaction"}], []):
            response = await socket.response(input=HISTORY, context_management=entries, store=False)
            assert [item["type"] for item in response["output"]] == ["message"]
        warm = await socket.response(input=HISTORY, context_management=ABOVE_1000, store=False, generate=False)
        assert warm["output"] == []


@pytest.mark.rule("compaction.continue")
async def test_a_chain_goes_on_behind_its_compaction(service: Running) -> None:
    """By id, and by each way in which a client may send the items again, the same counts as said."""
    async with connected(service) as socket:
        before = await socket.response(input=HISTORY, store=False)
        first = await socket.response(input=HISTORY, context_management=ABOVE_1000, store=False)
        by_id = await socket.response(
            input="go on", context_management=ABOVE_1000, store=False, previous_response_id=first["id"]
        )
        item, reply = first["output"]
        go_on = {"type": "message", "role": "user", "content": "go on"}
        sizes = []
        for earlier in (HISTORY, [TASK, ASK], []):
            again = await socket.response(input=[*earlier, item, reply, go_on], store=False)
            sizes.append(again["usage"]["input_tokens"])
    assert sizes == [by_id["usage"]["input_tokens"]] * 3
    assert sizes[0] < before["usage"]["input_tokens"]
    assert [item["type"] for item in by_id["output"]] == ["message"]


@pytest.mark.rule("compaction.continue")
@pytest.mark.parametrize("stored", [True, False])
async def test_a_call_that_waits_for_its_output_survives_its_compaction(service: Running, stored: bool) -> None:
    async with connected(service) as socket:
        first = await socket.response(input=HISTORY, tools=[READ], tool_choice="required", store=stored)
        (call,) = (item for item in first["output"] if item["type"] == "function_call")
        trigger = {"type": "compaction_trigger"}
        small = await socket.response(input=[trigger], previous_response_id=first["id"], store=stored)
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": "ok"}
        by_id = await socket.response(input=[output], previous_response_id=small["id"], store=stored)
        by_item = await socket.response(input=[compaction_of(small), output], store=stored)
    assert by_id["usage"]["input_tokens"] == by_item["usage"]["input_tokens"]
    if stored:
        async with connected(service) as other:
            again = await other.response(input=[output], previous_response_id=small["id"])
        assert again["usage"]["input_tokens"] == by_id["usage"]["input_tokens"]


@pytest.mark.rule("compaction.trigger")
async def test_a_trigger_gives_exactly_one_compaction_item(service: Running) -> None:
    trigger = {"type": "compaction_trigger"}
    async with connected(service) as socket:
        first = await socket.response(input=HISTORY, store=False)
        by_id = await socket.response(input=[trigger], store=False, previous_response_id=first["id"], tools=[READ])
        by_array = await socket.response(input=[*HISTORY, trigger], store=False)
        empty = await socket.response(input=[TASK, trigger], store=False)
        for response in (by_id, by_array, empty):
            assert [item["type"] for item in response["output"]] == ["compaction"]
            assert response["usage"]["output_tokens"] > 0
        misplaced = await socket.call(input=[trigger, TASK], store=False)
    assert (misplaced["error"]["code"], misplaced["error"]["param"]) == ("invalid_request", "input[0].type")


@pytest.mark.rule("compaction.standalone")
async def test_the_endpoint_gives_a_context_to_go_on_with(service: Running) -> None:
    async with http_client(service) as client, connected(service) as socket:
        made = (await client.post("/responses/compact", json={"model": "scripted", "input": HISTORY})).json()
        assert (made["object"], [item["type"] for item in made["output"]]) == (
            "response.compaction",
            ["message", "message", "compaction"],
        )
        assert [item["content"][0]["text"] for item in made["output"][:2]] == [TASK["content"], ASK["content"]]
        assert all(item["id"] for item in made["output"])
        assert made["usage"]["input_tokens"] == await count(service, HISTORY)
        assert made["usage"]["output_tokens"] > 0
        fresh = await socket.response(input=[*made["output"], ASK], store=False)
        assert fresh["usage"]["input_tokens"] < made["usage"]["input_tokens"] / 2
        again = await socket.call(input="x", store=False, previous_response_id=made["id"])
        assert again["error"]["code"] == "previous_response_not_found"


@pytest.mark.rule("compaction.standalone")
async def test_the_endpoint_takes_a_stored_chain(service: Running) -> None:
    async with http_client(service) as client, connected(service) as socket:
        first = await socket.response(input=HISTORY)
        body = {"model": "scripted", "previous_response_id": first["id"], "input": "more"}
        made = (await client.post("/responses/compact", json=body)).json()
        assert [item["type"] for item in made["output"]] == ["message", "message", "message", "compaction"]
        refused = [
            await client.post("/responses/compact", json={"input": "x"}),
            await client.post("/responses/compact", json={"model": "none", "input": "x"}),
            await client.post("/responses/compact", json={"model": "scripted"}),
            await client.post("/responses/compact", json={**body, "previous_response_id": "resp_none"}),
        ]
    assert [answer.status_code for answer in refused] == [400] * 4
    assert [answer.json()["error"]["param"] for answer in refused] == [
        "model",
        "model",
        "input",
        "previous_response_id",
    ]


@pytest.mark.rule("compaction.foreign")
@pytest.mark.parametrize("content", ["", "gAAAAABo", "llc1.", "llc1.AAAAAAAA", "llc1.!", "llr1.AAAA"])
async def test_a_compaction_of_another_service_is_refused(service: Running, content: str) -> None:
    async with connected(service) as socket:
        refused = await socket.call(input=[{"type": "compaction", "encrypted_content": content}, ASK])
    assert (refused["error"]["code"], refused["error"]["param"]) == ("invalid_request", "input[0].encrypted_content")


@pytest.fixture(scope="module")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A model whose context holds 400 tokens."""
    steps = [{"output": [{"text": "ok"}]}] * 8
    folder: Path = tmp_path_factory.mktemp("rollout")
    with playing(folder, {"steps": steps, "context_tokens": 400}) as running:
        yield running


@pytest.mark.rule("settings.truncation")
async def test_a_context_that_is_too_long_is_refused_or_truncated(small_model: Running) -> None:
    texts = [{"role": "user", "content": f"number {number} " + "words " * 60} for number in range(12)]
    async with connected(small_model) as socket, http_client(small_model) as client:
        for fields in ({}, {"truncation": "disabled"}):
            refused = await socket.call(input=texts, store=False, **fields)
            assert (refused["type"], refused["status"]) == ("error", 400)
            assert (refused["error"]["code"], refused["error"]["param"]) == ("context_length_exceeded", "input")
        body = {"model": "scripted", "input": texts}
        assert (await client.post("/responses", json=body)).status_code == 400
        cut = await socket.response(input=texts, store=False, truncation="auto")
        assert 300 < cut["usage"]["input_tokens"] <= 400
        assert cut["truncation"] == "auto"
        calls = [CALL, {**CALL, "call_id": "call_2"}]
        outputs = [{**OUTPUT, "call_id": call["call_id"], "output": "words " * 190} for call in calls]
        orphaned = await socket.response(input=[TASK, *calls, *outputs, ASK], store=False, truncation="auto")
        assert orphaned["usage"]["input_tokens"] < 250
        hopeless = await socket.call(input=LONG, store=False, truncation="auto")
        assert hopeless["error"]["code"] == "context_length_exceeded"


@pytest.mark.rule("compaction.threshold")
async def test_without_a_number_the_models_context_decides(small_model: Running) -> None:
    short = [TASK, {**SPOKEN, "content": "words of an answer " * 80}, ASK]
    async with connected(small_model) as socket:
        response = await socket.response(input=short, store=False, context_management=[{"type": "compaction"}])
    assert [item["type"] for item in response["output"]] == ["compaction", "message"]
