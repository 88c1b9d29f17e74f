"""An upstream that misbehaves: each time one terminal event with a cause, and a connection that goes on."""

from __future__ import annotations

import asyncio
import socket as sockets
from typing import Any

import pytest

from tests.support.engines.upstream_server import CHAT_HELLO, CHAT_USAGE, Answer, Upstream, chunk, completed, upstream
from tests.support.service.running import connected, http_client, running_service

KEY = "s3cret-upstream-key"


async def last_event(server: Upstream | str, caplog: pytest.LogCaptureFixture | None = None, **call: Any) -> Any:
    """The terminal event of one call; nothing may follow it, and the connection answers another model."""
    options = {"key": KEY, **call.pop("options", {})}
    url = server if isinstance(server, str) else server.url
    with running_service(engines={"far": f"upstream:{url}#m"}, engine_options={"far": options}) as running:
        async with connected(running) as socket:
            await socket.create(model="far", input="hi", store=False, **call)
            events = await socket.finish()
            assert (await socket.response(model="scripted", input="hi"))["status"] == "completed"
    assert KEY not in str(events)
    if caplog is not None:
        assert KEY not in caplog.text
    return events[-1]


async def failure(server: Upstream | str, **call: Any) -> tuple[str, str]:
    last = await last_event(server, **call)
    assert last["type"] == "response.failed", last
    error = last["response"]["error"]
    return error["code"], error["message"]


def refused(status: int, code: str | None = None, headers: dict[str, str] | None = None) -> Answer:
    body = {"error": {"message": "They said so", "code": code, "type": "x"}}
    return Answer(status, body=body, headers=headers or {})


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (refused(401), "upstream_auth_refused", "set LOOPLINE_UPSTREAM_KEY"),
        (refused(403), "upstream_auth_refused", "refused the key"),
        (refused(404, "model_not_found"), "model_not_found", "has no model 'm'"),
        (refused(429, headers={"Retry-After": "7"}), "rate_limit_exceeded", "Please try again in 7s."),
        (refused(429, "insufficient_quota"), "insufficient_quota", "They said so"),
        (refused(400, "context_length_exceeded"), "context_length_exceeded", "They said so"),
        (refused(400), "upstream_refused", "They said so"),
        (refused(500), "server_error", "They said so"),
        (refused(503), "server_is_overloaded", "They said so"),
        (Answer(200, body={"fine": True}), "upstream_not_understood", "check the address"),
        (Answer(502, body=b"<html>"), "server_error", "HTTP 502"),
    ],
)
async def test_refusals(api: str, answer: Answer, code: str, said: str, caplog: pytest.LogCaptureFixture) -> None:
    async with upstream(**{api: answer}) as server:
        told = await failure(server, options={"api": api}, caplog=caplog)
    assert told[0] == code
    assert said in told[1]


async def test_a_server_that_is_not_there() -> None:
    with sockets.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code, message = await failure(f"http://127.0.0.1:{port}/v1")
    assert code == "upstream_unreachable"
    assert f"127.0.0.1:{port}" in message
    assert "check that the server runs" in message


HALF_CHAT = [chunk(content="Hel")]
HALF_RESPONSE = completed()[:2]


@pytest.mark.parametrize(("api", "events"), [("chat", HALF_CHAT), ("responses", HALF_RESPONSE)])
@pytest.mark.parametrize("breaks", [True, False])
async def test_a_stream_that_dies_in_the_middle(api: str, events: list[Any], breaks: bool) -> None:
    """By the socket's death, or by an end of the body that is none of the answer."""
    async with upstream(**{api: Answer(events=events, breaks=breaks)}) as server:
        last = await last_event(server, options={"api": api})
    assert last["response"]["error"]["code"] == "server_error"
    assert "input_tokens_details" not in last["response"]["usage"], "what was cached is not known"


@pytest.mark.parametrize(("api", "events"), [("chat", HALF_CHAT), ("responses", HALF_RESPONSE)])
async def test_a_server_that_falls_silent(api: str, events: list[Any]) -> None:
    async with upstream(**{api: Answer(events=events, hangs=True)}) as server:
        code, message = await failure(server, options={"api": api, "silence_s": 0.3})
    assert code == "server_error"
    assert "nothing for 0.3 s" in message


@pytest.mark.parametrize("arguments", ['{"path": ', "read it", "[]"])
async def test_malformed_tool_arguments_are_the_tools_to_judge(arguments: str) -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "read", "arguments": arguments}}
    answer = Answer(events=[chunk(tool_calls=[call]), chunk("tool_calls"), "[DONE]"])
    tools = [{"type": "function", "name": "read", "parameters": {}}]
    async with upstream(chat=answer) as server:
        last = await last_event(server, tools=tools)
    assert last["type"] == "response.completed"
    assert [(item["name"], item["arguments"]) for item in last["response"]["output"]] == [("read", arguments)]


@pytest.mark.parametrize(
    ("api", "event"),
    [("chat", chunk(content="again " * 50)), ("responses", {**completed()[1], "delta": "again " * 50})],
)
async def test_a_model_that_never_stops(api: str, event: dict[str, Any]) -> None:
    async with upstream(**{api: Answer(events=[event], endless=True)}) as server:
        last = await last_event(server, options={"api": api}, max_output_tokens=20)
        async with asyncio.timeout(30):
            await server.gone.wait()
    assert last["type"] == "response.incomplete"
    assert last["response"]["incomplete_details"] == {"reason": "max_output_tokens"}


async def test_errors_within_a_stream_keep_their_codes() -> None:
    error = {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}
    async with upstream(chat=Answer(events=[*HALF_CHAT, error])) as server:
        assert (await failure(server))[0] == "rate_limit_exceeded"
    failed = {"type": "response.failed", "response": {"id": "r", "error": {"code": "server_error", "message": "oh"}}}
    async with upstream(responses=Answer(events=[*HALF_RESPONSE, failed])) as server:
        assert (await failure(server))[0] == "server_error"


async def test_a_demanded_call_that_is_not_made() -> None:
    tools = [{"type": "function", "name": "read", "parameters": {}}]
    async with upstream(chat=CHAT_HELLO) as server:
        assert (await failure(server, tools=tools, tool_choice="required"))[0] == "tool_choice_broken"


async def test_a_cancel_reaches_the_server() -> None:
    async with upstream(chat=Answer(events=HALF_CHAT, hangs=True)) as server:
        with running_service(engines={"far": f"upstream:{server.url}#m"}) as running:
            async with connected(running) as socket:
                await socket.create(model="far", input="hi", store=False)
                await socket.read_until("response.output_text.delta")
                await socket.send({"type": "response.cancel"})
                last = (await socket.finish())[-1]
                async with asyncio.timeout(30):
                    await server.gone.wait()
        assert last["response"]["status"] == "cancelled"


async def test_which_api_there_is_is_asked_once() -> None:
    async with upstream(chat=CHAT_HELLO) as server:
        with running_service(engines={"far": f"upstream:{server.url}#m"}) as running:
            async with http_client(running) as client:
                for _ in range(3):
                    answer = (await client.post("/responses", json={"model": "far", "input": "hi"})).json()
                    assert answer["output"][0]["content"][0]["text"] == "Hello"
                    assert answer["usage"]["input_tokens"] == 7
                    assert "input_tokens_details" not in answer["usage"]
    paths = [path for path, _, _ in server.seen]
    assert paths.count("/responses") == 1
    assert paths.count("/chat/completions") == 3
    assert server.connections <= 3, "connections are kept"


async def test_a_server_with_responses_is_asked_by_them() -> None:
    usage = {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 1, "total_tokens": 10}
    async with upstream(responses=Answer(events=completed(usage=usage)), chat=CHAT_HELLO) as server:
        last = await last_event(server)
    assert last["response"]["usage"]["input_tokens_details"]["cached_tokens"] == 4
    assert server.bodies("/chat/completions") == []
    (path, headers, body) = server.seen[-1]
    assert (path, headers["authorization"], body["model"]) == ("/responses", f"Bearer {KEY}", "m")


async def test_an_outage_while_asking_is_not_remembered() -> None:
    async with upstream(responses=Answer(events=completed())) as server:
        server.asked = refused(503)
        with running_service(engines={"far": f"upstream:{server.url}#m"}) as running:
            async with connected(running) as socket:
                first = await socket.call(model="far", input="hi", store=False)
                assert first["response"]["error"]["code"] == "server_is_overloaded"
                assert server.bodies("/responses") == []
                server.asked = None
                assert (await socket.call(model="far", input="hi", store=False))["type"] == "response.completed"
    assert len(server.bodies("/responses")) == 1


async def test_a_conversation_is_sent_back_with_its_call() -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "read", "arguments": '{"path": "a"}'}}
    first = Answer(events=[chunk(tool_calls=[call]), chunk("tool_calls"), CHAT_USAGE, "[DONE]"])
    tools = [{"type": "function", "name": "read", "parameters": {"type": "object"}}]
    async with upstream(chat=[first, CHAT_HELLO]) as server:
        with running_service(engines={"far": f"upstream:{server.url}#m"}) as running:
            async with connected(running) as socket:
                made = await socket.response(model="far", input="read a", tools=tools, store=False)
                output = [{"type": "function_call_output", "call_id": "c1", "output": "42"}]
                await socket.response(
                    model="far", input=output, tools=tools, previous_response_id=made["id"], store=False
                )
        one, two = server.bodies("/chat/completions")
    assert two["messages"][: len(one["messages"])] == one["messages"]
    assert [message["role"] for message in two["messages"]] == ["user", "assistant", "tool"]
    assert one["prompt_cache_key"] == two["prompt_cache_key"]


async def test_a_llama_cpp_server_gets_each_conversation_in_its_slot() -> None:
    async with upstream(chat=CHAT_HELLO) as server:
        server.answers["/props"] = [Answer(body={"total_slots": 2})]
        with running_service(engines={"far": f"upstream:{server.url}#m"}) as running:
            async with connected(running) as one, connected(running) as two:
                for socket in (one, two):
                    first = await socket.response(model="far", input="a", store=False)
                    await socket.response(model="far", input="b", previous_response_id=first["id"], store=False)
        slots = [body["id_slot"] for body in server.bodies("/chat/completions")]
    assert slots == [slots[0], slots[0], 1 - slots[0], 1 - slots[0]]
