"""POST as JSON and SSE: the same pipeline, the same items, the same ladder as over a socket."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.support.service.running import Running, connected, http_client, parse_sse

TOOL = {
    "type": "function",
    "name": "edit",
    "parameters": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "line": {"type": "integer", "minimum": 3}},
        "required": ["path", "line"],
    },
}
USER = {"role": "user", "content": "go"}
CUSTOM = {
    "type": "custom",
    "name": "patch",
    "format": {"type": "grammar", "syntax": "regex", "definition": "[a-z]{4}"},
}
HISTORY = [
    USER,
    {"type": "function_call", "name": "edit", "arguments": "{}", "call_id": "call_1"},
    {"type": "function_call_output", "call_id": "call_1", "output": "done"},
]
REQUESTS: dict[str, dict[str, Any]] = {
    "text": {"input": "hello"},
    "a tool call": {"input": [USER], "tools": [TOOL]},
    "a custom tool call": {"input": [USER], "tools": [CUSTOM], "tool_choice": "required"},
    "a tool in a namespace": {
        "input": [USER],
        "tools": [{"type": "namespace", "name": "files", "description": "", "tools": [TOOL, CUSTOM]}],
    },
    "tools that are not used": {"input": [USER], "tools": [{"type": "web_search"}, TOOL], "tool_choice": "none"},
    "tools in the input": {"input": [{"type": "additional_tools", "role": "developer", "tools": [TOOL]}, USER]},
    "with settings": {
        "input": "hello",
        "instructions": "be brief",
        "temperature": 0.2,
        "metadata": {"a": "b"},
        "text": {"format": {"type": "json_object"}},
        "reasoning": {"effort": "low", "summary": "auto"},
        "store": False,
    },
    "an updated configuration": {
        "input": [{"type": "configuration_update", "text": {"format": {"type": "text"}}}, USER],
        "text": {"format": {"type": "json_object"}},
    },
    "JSON by a schema": {
        "input": "hello",
        "text": {"format": {"type": "json_schema", "name": "x", "schema": TOOL["parameters"]}},
    },
    "warm-up": {"input": "hello", "generate": False},
    "a full history": {"input": HISTORY, "tools": [TOOL]},
    "compacted": {"input": [*HISTORY, USER], "context_management": [{"type": "compaction", "compact_threshold": 1}]},
    "a compaction alone": {"input": [*HISTORY, {"type": "compaction_trigger"}]},
    "cut by a limit": {"input": "hello", "max_output_tokens": 5},
    "a call cut by a limit": {"input": [USER], "tools": [TOOL], "max_output_tokens": 1},
    "blocked": {
        "input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:,x", "detail": "auto"}]}]
    },
    "another model": {"model": "repair", "input": "hello"},
}
FLEETING = ("id", "call_id", "item_id", "created_at", "completed_at", "encrypted_content")


def lasting(value: Any) -> Any:
    """The value without ids, what holds ids, and times, which differ from call to call."""
    if isinstance(value, dict):
        return {key: lasting(one) for key, one in value.items() if key not in FLEETING}
    return [lasting(one) for one in value] if isinstance(value, list) else value


@pytest.mark.rule("http.equal")
@pytest.mark.parametrize("name", REQUESTS)
async def test_websocket_sse_and_json_agree(service: Running, name: str) -> None:
    fields = {"model": "scripted", **REQUESTS[name]}
    async with connected(service) as socket, http_client(service) as client:
        await socket.create(**fields)
        by_socket = await socket.finish()
        streamed = await client.post("/responses", json={**fields, "stream": True})
        plain = await client.post("/responses", json=fields)
    assert streamed.headers["content-type"].startswith("text/event-stream")
    events = parse_sse(streamed.text)
    assert events[-1] == ("[DONE]", None)
    assert all(name == data["type"] for name, data in events[:-1])
    assert [lasting(data) for _, data in events[:-1]] == [lasting(event) for event in by_socket]
    assert plain.headers["content-type"] == "application/json"
    assert lasting(plain.json()) == lasting(by_socket[-1]["response"])


REFUSED: dict[str, dict[str, Any]] = {
    "no input": {},
    "no such model": {"model": "none", "input": "hello"},
    "an unknown item": {"input": [USER, {"type": "nonsense"}]},
    "an output without its call": {"input": HISTORY[2:]},
    "a setting that is not served": {"input": "hello", "background": True},
    "a tool that can't be": {"input": "hello", "tools": [{"type": "function"}]},
    "a hosted tool demanded": {"input": "hello", "tool_choice": {"type": "web_search"}},
    "a parent that is not there": {"input": "hello", "previous_response_id": "resp_none"},
    "a reference to nothing": {"input": [{"type": "item_reference", "id": "msg_none"}]},
}


@pytest.mark.rule("http.equal")
@pytest.mark.parametrize("name", REFUSED)
async def test_websocket_and_http_refuse_alike(service: Running, name: str) -> None:
    fields = {"model": "scripted", **REFUSED[name]}
    async with connected(service) as socket, http_client(service) as client:
        by_socket = await socket.call(**fields)
        for streaming in (False, True):
            by_http = await client.post("/responses", json={**fields, "stream": streaming})
            assert by_http.headers["content-type"] == "application/json"
            assert (by_http.status_code, by_http.json()["error"]) == (by_socket["status"], by_socket["error"])


@pytest.mark.rule("http.equal")
async def test_a_chain_gives_the_same_by_either_way(service: Running) -> None:
    """A tool loop by deltas over a socket, over HTTP from the store, and with the whole history every time."""
    output = {"type": "function_call_output", "output": "done"}
    by: dict[str, list[Any]] = {"socket": [], "store": [], "stateless": []}
    async with connected(service) as socket, http_client(service) as client:

        async def ask(way: str, given: list[Any], **fields: Any) -> Any:
            body = {"model": "scripted", "input": given, "tools": [TOOL], **fields}
            if way == "socket":
                by[way].append(await socket.response(**body))
            else:
                by[way].append((await client.post("/responses", json=body)).json())
            return by[way][-1]

        for way in by:
            kept = {"store": way != "stateless"}
            first = await ask(way, [USER], **kept)
            answered = {**output, "call_id": first["output"][0]["call_id"]}
            if way == "stateless":
                await ask(way, [USER, *first["output"], answered], **kept)
            else:
                await ask(way, [answered], previous_response_id=first["id"], **kept)
    for turn in range(2):
        items = [lasting(responses[turn]["output"]) for responses in by.values()]
        assert items[0] == items[1] == items[2]
        sizes = {responses[turn]["usage"]["input_tokens"] for responses in by.values()}
        assert len(sizes) == 1


@pytest.mark.rule("http.equal")
async def test_limits_are_told(service: Running) -> None:
    async with http_client(service) as client:
        cut = (await client.post("/responses", json={"model": "scripted", **REQUESTS["cut by a limit"]})).json()
        blocked = (await client.post("/responses", json={"model": "scripted", **REQUESTS["blocked"]})).json()
    assert (cut["status"], cut["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert 0 < cut["usage"]["output_tokens"] <= 5
    assert cut["output"][0]["status"] == "incomplete"
    assert (blocked["status"], blocked["error"]["code"]) == ("failed", "invalid_media")


@pytest.mark.rule("http.chunk")
async def test_each_event_is_one_chunk(service: Running) -> None:
    async with http_client(service) as client:
        body = {"model": "scripted", "input": "go", "stream": True}
        async with client.stream("POST", "/responses", json=body) as answer:
            chunks = [chunk async for chunk in answer.aiter_raw()]
    whole = b"".join(chunks)
    assert whole.endswith(b"data: [DONE]\n\n")
    assert all(chunk.endswith(b"\n\n") for chunk in chunks)


@pytest.mark.rule("http.refused")
@pytest.mark.parametrize(
    ("body", "status", "code", "param"),
    [
        (b"{", 400, "invalid_json", None),
        (b"\xff", 400, "invalid_json", None),
        (b'{"model":"scripted"}', 400, "invalid_request", "input"),
        (b'{"input":"x"}', 400, "invalid_request", "model"),
        (b'{"model":"scripted","input":"x","stream":true,"top_p":3}', 400, "invalid_request", "top_p"),
        (b'{"model":"scripted","input":"x","stream_id":"a"}', 400, "invalid_request", "stream_id"),
        (
            b'{"model":"scripted","input":"x","previous_response_id":"resp_none"}',
            400,
            "previous_response_not_found",
            "previous_response_id",
        ),
    ],
)
async def test_refusals(service: Running, body: bytes, status: int, code: str, param: str | None) -> None:
    async with http_client(service) as client:
        answer = await client.post("/responses", content=body)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert (error["code"], error.get("param")) == (code, param)


@pytest.mark.rule("http.large")
async def test_a_body_above_the_frame_limit_goes_by_http(service: Running) -> None:
    fields = {"model": "scripted", "input": "x", "generate": False, "store": False, "pad": "y" * 20_000_000}
    async with http_client(service) as client:
        answer = await client.post("/responses", json=fields)
    assert answer.status_code == 200


@pytest.mark.rule("http.models")
async def test_models_state_what_they_can(service: Running) -> None:
    async with http_client(service) as client:
        listed = (await client.get("/models")).json()
    models = {model["id"]: model for model in listed["data"]}
    assert listed["object"] == "list"
    assert {"repair", "scripted"} <= set(models)
    for model in models.values():
        assert {"tools", "chat", "repair", "steer"} <= set(model["capabilities"])
    assert models["scripted"]["capabilities"]["tools"] is models["scripted"]["capabilities"]["steer"] is True
    assert models["repair"]["capabilities"]["steer"] is False


@pytest.mark.rule("http.probes")
async def test_probes_need_no_key(service: Running) -> None:
    async with httpx.AsyncClient(base_url=service.url) as client:
        assert (await client.get("/healthz")).json() == {"status": "ok"}
        assert (await client.get("/readyz")).status_code == 200
        assert (await client.get("/v1/nothing")).status_code == 401
        assert (await client.get("/v1/nothing", headers=service.headers)).status_code == 404
