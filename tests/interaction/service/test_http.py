"""POST as JSON and SSE: the same pipeline, the same items, the same ladder as over a socket."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.support.service import Running, connected, http_client, parse_sse

TOOL = {
    "type": "function",
    "name": "edit",
    "parameters": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "line": {"type": "integer", "minimum": 3}},
        "required": ["path", "line"],
    },
}
REQUESTS: dict[str, dict[str, Any]] = {
    "text": {"input": "hello"},
    "a tool call": {"input": [{"role": "user", "content": "go"}], "tools": [TOOL]},
    "with settings": {
        "input": "hello",
        "instructions": "be brief",
        "temperature": 0.2,
        "metadata": {"a": "b"},
        "text": {"format": {"type": "json_object"}},
        "reasoning": {"effort": "low", "summary": "auto"},
        "store": False,
    },
    "warm-up": {"input": "hello", "generate": False},
    "a full history": {
        "input": [
            {"role": "user", "content": "go"},
            {"type": "function_call", "name": "edit", "arguments": "{}", "call_id": "call_1"},
            {"type": "function_call_output", "call_id": "call_1", "output": "done"},
        ],
        "tools": [TOOL],
    },
    "cut by a limit": {"input": "hello", "max_output_tokens": 5},
    "blocked": {
        "input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:,x", "detail": "auto"}]}]
    },
}
FLEETING = ("id", "call_id", "item_id", "created_at", "completed_at")


def lasting(value: Any) -> Any:
    """The value without ids and times, which differ from call to call."""
    if isinstance(value, dict):
        return {key: lasting(one) for key, one in value.items() if key not in FLEETING}
    return [lasting(one) for one in value] if isinstance(value, list) else value


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


async def test_limits_are_told(service: Running) -> None:
    async with http_client(service) as client:
        cut = (await client.post("/responses", json={"model": "scripted", **REQUESTS["cut by a limit"]})).json()
        blocked = (await client.post("/responses", json={"model": "scripted", **REQUESTS["blocked"]})).json()
    assert (cut["status"], cut["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert 0 < cut["usage"]["output_tokens"] <= 5
    assert cut["output"][0]["status"] == "incomplete"
    assert (blocked["status"], blocked["error"]["code"]) == ("failed", "invalid_media")


async def test_each_event_is_one_chunk(service: Running) -> None:
    async with http_client(service) as client:
        body = {"model": "scripted", "input": "go", "stream": True}
        async with client.stream("POST", "/responses", json=body) as answer:
            chunks = [chunk async for chunk in answer.aiter_raw()]
    whole = b"".join(chunks)
    assert whole.endswith(b"data: [DONE]\n\n")
    assert all(chunk.endswith(b"\n\n") for chunk in chunks)


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


async def test_a_body_above_the_frame_limit_goes_by_http(service: Running) -> None:
    fields = {"model": "scripted", "input": "x", "generate": False, "store": False, "pad": "y" * 20_000_000}
    async with http_client(service) as client:
        answer = await client.post("/responses", json=fields)
    assert answer.status_code == 200


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


async def test_probes_need_no_key(service: Running) -> None:
    async with httpx.AsyncClient(base_url=service.url) as client:
        assert (await client.get("/healthz")).json() == {"status": "ok"}
        assert (await client.get("/readyz")).status_code == 200
        assert (await client.get("/v1/nothing")).status_code == 401
        assert (await client.get("/v1/nothing", headers=service.headers)).status_code == 404
