"""Stored responses over HTTP: read, listed, deleted, cancelled; each key sees its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from agent_core.responses_server.settings import ApiKey
from tests.support.service.running import KEY, Running, connected, http_client, parse_sse, running_service
from tests.support.system.waiting import eventually

READ = {"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}}
GO: dict[str, Any] = {"model": "scripted", "input": "go"}


def error(answer: httpx.Response) -> tuple[int, str, str | None]:
    body = answer.json()["error"]
    return answer.status_code, body["code"], body.get("param")


@pytest.mark.rule("http.retrieve")
async def test_a_stored_response_is_read_as_it_ended(service: Running) -> None:
    async with http_client(service) as client, connected(service) as socket:
        by_socket = await socket.response(input="go", metadata={"a": "b"})
        by_http = (await client.post("/responses", json=GO)).json()
        for response in (by_socket, by_http):
            assert (await client.get(f"/responses/{response['id']}")).json() == response
        unstored = await socket.response(input="go", store=False)
        for wanted in (unstored["id"], "resp_none", "x" * 300):
            assert error(await client.get(f"/responses/{wanted}")) == (404, "not_found", "response_id")
        url = f"/responses/{by_http['id']}"
        assert (await client.get(url, params={"include[]": "reasoning.encrypted_content"})).status_code == 200
        assert (await client.get(url, params={"stream": "false"})).status_code == 200
        assert error(await client.get(url, params={"stream": "true"})) == (400, "invalid_request", "stream")
        assert error(await client.get(url, params={"starting_after": "3"})) == (
            400,
            "invalid_request",
            "starting_after",
        )
        assert error(await client.get(url, params={"include": "all"})) == (400, "invalid_request", "include")


@pytest.mark.rule("http.delete")
async def test_a_deleted_response_is_gone(service: Running) -> None:
    async with http_client(service) as client:
        first = (await client.post("/responses", json=GO)).json()
        second = (await client.post("/responses", json={**GO, "previous_response_id": first["id"]})).json()
        gone = await client.delete(f"/responses/{first['id']}")
        assert gone.json() == {"id": first["id"], "object": "response", "deleted": True}
        assert error(await client.delete(f"/responses/{first['id']}"))[0] == 404
        assert error(await client.get(f"/responses/{first['id']}"))[0] == 404
        assert (await client.get(f"/responses/{second['id']}")).status_code == 200
        for parent in (first, second):
            continued = await client.post("/responses", json={**GO, "previous_response_id": parent["id"]})
            assert error(continued) == (400, "previous_response_not_found", "previous_response_id")


@pytest.mark.rule("http.input_items")
async def test_what_a_response_was_made_from_a_page_at_a_time(service: Running) -> None:
    given = [
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": [{"type": "input_text", "text": "one"}]},
        {"type": "function_call", "id": "fc_mine", "name": "read", "arguments": "{}", "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
    ]
    async with http_client(service) as client:
        first = (await client.post("/responses", json={**GO, "input": given})).json()
        second = (await client.post("/responses", json={**GO, "previous_response_id": first["id"]})).json()
        url = f"/responses/{second['id']}/input_items"
        listed = (await client.get(url, params={"order": "asc"})).json()
        assert (listed["object"], listed["has_more"]) == ("list", False)
        data = listed["data"]
        assert [item["type"] for item in data] == [
            "message",
            "message",
            "function_call",
            "function_call_output",
            "message",
            "message",
        ]
        assert data[2]["id"] == "fc_mine"
        assert data[4] == first["output"][0]
        assert data[5]["content"] == [{"type": "input_text", "text": "go"}]
        assert all(item["status"] == "completed" for item in data if item["type"] == "message")
        ids = [item["id"] for item in data]
        assert len(set(ids)) == 6
        assert (listed["first_id"], listed["last_id"]) == (ids[0], ids[-1])
        assert [item["id"] for item in (await client.get(url)).json()["data"]] == ids[::-1]
        pages: list[str] = []
        page = (await client.get(url, params={"limit": 4, "order": "asc"})).json()
        while True:
            pages += [item["id"] for item in page["data"]]
            if not page["has_more"]:
                break
            page = (await client.get(url, params={"limit": 4, "order": "asc", "after": page["last_id"]})).json()
        assert pages == ids
        for params, wrong in (
            ({"limit": "0"}, "limit"),
            ({"limit": "101"}, "limit"),
            ({"limit": "many"}, "limit"),
            ({"order": "up"}, "order"),
            ({"after": "msg_none"}, "after"),
            ({"include": "all"}, "include"),
        ):
            assert error(await client.get(url, params=params)) == (400, "invalid_request", wrong)
        assert error(await client.get("/responses/resp_none/input_items"))[0] == 404


@pytest.mark.rule("items.reference")
async def test_stored_items_can_be_referred_to(service: Running) -> None:
    async with http_client(service) as client, connected(service) as socket:
        first = await socket.response(input="remember this", tools=[READ])
        call = first["output"][0]
        url = f"/responses/{first['id']}/input_items"
        said = (await client.get(url)).json()["data"][0]
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": "ok"}
        whole = await socket.response(input=[said, call, output], store=False)
        for other in (
            [{"type": "item_reference", "id": said["id"]}, {"type": "item_reference", "id": call["id"]}, output],
            [said, {"id": call["id"]}, output],
        ):
            by_reference = await socket.response(input=other, store=False)
            assert by_reference["usage"]["input_tokens"] == whole["usage"]["input_tokens"]
        kept = await socket.response(input=[{"type": "item_reference", "id": said["id"]}])
        listed = (await client.get(f"/responses/{kept['id']}/input_items")).json()["data"]
        assert listed[0]["content"] == said["content"]
        unstored = await socket.response(input="x", store=False)
        for item_id in ("msg_none", unstored["output"][0]["id"], f"msg_{first['id'][5:]}o9", f"rs_{first['id'][5:]}o0"):
            refused = await socket.call(input=["x", {"type": "item_reference", "id": item_id}][1:])
            assert (refused["error"]["code"], refused["error"]["param"]) == ("invalid_request", "input[0].id")


@pytest.mark.rule("http.cancel")
async def test_a_response_that_runs_is_cancelled_from_anywhere(service: Running) -> None:
    slow = {"model": "scripted:slow", "input": "go", "store": False}
    async with http_client(service) as client, connected(service) as socket:
        await socket.create(**slow, stream_id="side")
        response_id = (await socket.read_until("response.output_text.delta"))[0]["response"]["id"]
        cancelled = (await client.post(f"/responses/{response_id}/cancel")).json()
        assert (cancelled["id"], cancelled["status"]) == (response_id, "cancelled")
        assert (await socket.finish())[-1]["response"] == cancelled
        async with client.stream("POST", "/responses", json={**slow, "stream": True}) as streamed:
            lines = streamed.aiter_lines()
            async for line in lines:
                if line.startswith("data: "):
                    break
            response_id = line.partition('"id":"')[2].partition('"')[0]
            cancelled = (await client.post(f"/responses/{response_id}/cancel")).json()
            assert cancelled["status"] == "cancelled"
            rest = [line async for line in lines]
        assert any('"type":"response.incomplete"' in line for line in rest)
        assert error(await client.post(f"/responses/{response_id}/cancel"))[0] == 404
        done = (await client.post("/responses", json=GO)).json()
        assert error(await client.post(f"/responses/{done['id']}/cancel")) == (400, "invalid_request", "response_id")


@pytest.mark.rule("http.cancel")
async def test_a_json_request_that_is_cancelled_is_answered(service: Running) -> None:
    async with http_client(service) as client:
        waiting = asyncio.create_task(client.post("/responses", json={"model": "scripted:slow", "input": "go"}))
        running = service.service.in_flight._running
        response_id = next(iter(await eventually(lambda: list(running))))
        assert (await client.post(f"/responses/{response_id}/cancel")).json()["status"] == "cancelled"
        answer = await waiting
    assert (answer.status_code, answer.json()["id"], answer.json()["status"]) == (200, response_id, "cancelled")


@pytest.fixture(scope="module")
def shared() -> Iterator[Running]:
    with running_service(api_keys=(ApiKey("one", KEY), ApiKey("two", "other-key"))) as running:
        yield running


@pytest.mark.rule("http.owner")
async def test_each_key_sees_its_own_responses(shared: Running) -> None:
    other = {"Authorization": "Bearer other-key"}
    async with http_client(shared) as client, connected(shared, headers=other) as socket:
        mine = (await client.post("/responses", json=GO)).json()
        url = f"/responses/{mine['id']}"
        for method, path in (("GET", url), ("DELETE", url), ("GET", f"{url}/input_items"), ("POST", f"{url}/cancel")):
            assert (await client.request(method, path, headers=other)).status_code == 404
        assert (await client.get(url)).status_code == 200
        refused = await socket.call(input="x", previous_response_id=mine["id"])
        assert refused["error"]["code"] == "previous_response_not_found"
        refused = await socket.call(input=[{"type": "item_reference", "id": mine["output"][0]["id"]}])
        assert refused["error"]["param"] == "input[0].id"
        await socket.create(model="scripted:slow", input="go", store=False)
        running = (await socket.read_until("response.created"))[-1]["response"]["id"]
        assert (await client.post(f"/responses/{running}/cancel")).status_code == 404
        assert (await client.post(f"/responses/{running}/cancel", headers=other)).json()["status"] == "cancelled"


@pytest.mark.rule("http.input_tokens")
async def test_tokens_are_counted_as_a_response_counts_them(service: Running) -> None:
    fields = {"input": "count me " * 20, "instructions": "be brief", "tools": [READ]}
    async with http_client(service) as client:
        first = (await client.post("/responses", json={"model": "scripted", **fields})).json()
        counted = (await client.post("/responses/input_tokens", json={"model": "scripted", **fields})).json()
        assert counted == {"object": "response.input_tokens", "input_tokens": first["usage"]["input_tokens"]}
        chained = {"previous_response_id": first["id"], "input": "more"}
        second = (await client.post("/responses", json={"model": "scripted", **chained})).json()
        counted = (await client.post("/responses/input_tokens", json=chained)).json()
        assert counted["input_tokens"] == second["usage"]["input_tokens"]
        refused = await client.post("/responses/input_tokens", json={"model": "scripted", "input": [{"type": "x"}]})
        assert error(refused) == (400, "invalid_request", "input[0].type")
        assert error(await client.post("/responses/input_tokens", content=b"{"))[:2] == (400, "invalid_json")


@pytest.mark.rule("http.models")
async def test_one_model(service: Running) -> None:
    async with http_client(service) as client:
        assert (await client.get("/models/scripted")).json()["id"] == "scripted"
        assert error(await client.get("/models/gpt-none")) == (404, "model_not_found", "model")


@pytest.mark.rule("http.unserved")
async def test_what_is_not_served_is_told_as_json(service: Running) -> None:
    async with http_client(service) as client:
        assert error(await client.get("/conversations"))[:2] == (404, "not_found")
        assert error(await client.put("/models"))[:2] == (405, "method_not_allowed")
        assert error(await client.get("/responses/input_tokens"))[0] in (404, 405)
        streamed = await client.post("/responses", json={**GO, "stream": True})
    assert parse_sse(streamed.text)[-1] == ("[DONE]", None)
