"""The llama engine behind the service, on a model with random weights: llama.cpp is real, only the sense is missing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.engines.llama_tiny import write_tiny
from tests.support.service.running import Running, Socket, connected, http_client, running_service

OPTIONS = {"context": 2048, "slots": 2, "temperature": 0}
READ = {
    "type": "function",
    "name": "read",
    "parameters": {
        "type": "object",
        "properties": {"path": {"type": "string", "maxLength": 6}, "n": {"type": "integer", "minimum": 1}},
        "required": ["path"],
    },
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    model = write_tiny(tmp_path_factory.mktemp("model") / "tiny.gguf")
    with running_service(engines={"tiny": f"llama:{model}"}, engine_options={"tiny": OPTIONS}) as running:
        yield running


async def ask(socket: Socket, asked: Any, previous: str | None = None, **fields: Any) -> Any:
    """The response of one short call."""
    given = {"model": "tiny", "input": asked, "max_output_tokens": 12, "store": False, **fields}
    last = await socket.call(**given, **({"previous_response_id": previous} if previous else {}))
    assert last["type"] in ("response.completed", "response.incomplete"), last
    return last["response"]


def said(response: Any) -> str:
    return "".join(part["text"] for item in response["output"] for part in item.get("content", []))


def cached(response: Any) -> int:
    count = response["usage"]["input_tokens_details"]["cached_tokens"]
    assert isinstance(count, int)
    return count


async def conversation(socket: Socket, name: str, turns: int = 3, lane: str | None = None) -> list[str]:
    answers: list[str] = []
    previous = None
    for turn in range(turns):
        extra: dict[str, Any] = {"stream_id": lane} if lane else {}
        response = await ask(socket, f"{name} {turn}", previous, **extra)
        previous = response["id"]
        answers.append(said(response))
    return answers


async def test_only_what_is_new_is_evaluated(service: Running) -> None:
    async with connected(service) as socket:
        first = await ask(socket, "one two three")
        assert cached(first) == 0
        second = await ask(socket, "and", first["id"])
        known = first["usage"]["input_tokens"] + first["usage"]["output_tokens"]
        new = len("<|im_end|>\n<|im_start|>user\nand<|im_end|>\n<|im_start|>assistant\n")
        assert second["usage"]["input_tokens"] <= known + new
        # The last token that was sampled is only read by the next call.
        assert known - 1 <= cached(second) <= known


async def test_the_same_conversation_is_the_same_with_and_without_state(service: Running) -> None:
    """A full input over HTTP is evaluated anew, and is answered as the lane answers."""
    async with connected(service) as socket, http_client(service) as client:
        first = await ask(socket, "alpha")
        second = await ask(socket, "beta", first["id"])
        items = [{"role": "user", "content": "alpha"}, *first["output"], {"role": "user", "content": "beta"}]
        body = {"model": "tiny", "input": items, "max_output_tokens": 12, "store": False}
        stateless = (await client.post("/responses", json=body)).json()
    assert said(stateless) == said(second)
    assert (cached(stateless), cached(second) > 0) == (0, True)
    assert stateless["usage"]["input_tokens"] == second["usage"]["input_tokens"]


async def test_lanes_that_alternate_answer_as_if_alone(service: Running) -> None:
    alone = {}
    for name in ("left", "right"):
        async with connected(service) as socket:
            alone[name] = await conversation(socket, name)
    async with connected(service) as one, connected(service) as two:
        together = await asyncio.gather(conversation(one, "left"), conversation(two, "right"))
    assert list(together) == [alone["left"], alone["right"]]


async def test_a_lane_that_lost_its_slot_answers_as_if_it_had_kept_it(service: Running) -> None:
    async with connected(service) as socket:
        undisturbed = await conversation(socket, "kept", turns=2)
    async with connected(service) as socket, connected(service) as second, connected(service) as third:
        first = await ask(socket, "kept 0")
        others = [await ask(other, f"other {at}") for at, other in enumerate((second, third))]
        again = await ask(socket, "kept 1", first["id"])
        assert cached(again) == 0, "its state was evicted"
        assert [said(first), said(again)] == undisturbed
        assert all(said(other) for other in others)


async def test_a_cache_key_finds_the_state_again_without_a_connection(service: Running) -> None:
    async with http_client(service) as client:
        body = {"model": "tiny", "input": "a b c d", "max_output_tokens": 4, "store": False, "prompt_cache_key": "k"}
        first = (await client.post("/responses", json=body)).json()
        second = (await client.post("/responses", json=body)).json()
        other = (await client.post("/responses", json={**body, "prompt_cache_key": "x"})).json()
    assert (cached(first), cached(other)) == (0, 0)
    assert cached(second) == first["usage"]["input_tokens"] - 1


async def test_a_warm_up_evaluates_what_the_conversation_begins_with(service: Running) -> None:
    async with connected(service) as socket:
        fields: dict[str, Any] = {"instructions": "Be short. " * 20, "tools": [READ]}
        warm = await ask(socket, [], generate=False, **fields)
        assert (warm["output"], warm["usage"]["output_tokens"]) == ([], 0)
        first = await ask(socket, "go", warm["id"], **fields, tool_choice="none")
        assert cached(first) == warm["usage"]["input_tokens"]


async def test_a_demanded_call_fits_its_schema_and_goes_on(service: Running) -> None:
    async with connected(service) as socket:
        given = {"tools": [READ], "tool_choice": "required", "max_tool_calls": 1, "max_output_tokens": 300}
        await socket.create(model="tiny", input="read it", **given)
        events = await socket.finish()
        response = events[-1]["response"]
        (call,) = response["output"]
        arguments = json.loads(call["arguments"])
        assert set(arguments) <= {"path", "n"}
        assert len(arguments["path"]) <= 6
        pieces = [event["delta"] for event in events if event["type"] == "response.function_call_arguments.delta"]
        assert "".join(pieces) == call["arguments"]
        assert len(pieces) > 3
        output = [{"type": "function_call_output", "call_id": call["call_id"], "output": "42"}]
        after = await ask(socket, output, response["id"], tools=[READ], tool_choice="none")
        assert said(after)
        assert cached(after) >= response["usage"]["input_tokens"]


async def test_an_answer_by_a_schema(service: Running) -> None:
    schema = {
        "type": "object",
        "properties": {"ok": {"type": "boolean"}},
        "required": ["ok"],
        "additionalProperties": False,
    }
    form = {"format": {"type": "json_schema", "name": "a", "schema": schema}}
    async with connected(service) as socket:
        response = await ask(socket, "?", text=form, max_output_tokens=60)
    assert isinstance(json.loads(said(response))["ok"], bool)


async def test_log_probabilities_of_what_is_said(service: Running) -> None:
    async with connected(service) as socket:
        await socket.create(model="tiny", input="hi", max_output_tokens=6, store=False, top_logprobs=2)
        events = await socket.finish()
        (message,) = events[-1]["response"]["output"]
        (part,) = message["content"]
        assert "".join(each["token"] for each in part["logprobs"]) == part["text"]
        for each in part["logprobs"]:
            assert len(each["top_logprobs"]) == 2
            assert each["top_logprobs"][0]["logprob"] == each["logprob"] <= 0, "greedy: the likeliest was said"
            assert bytes(each["bytes"]).decode() == each["token"]
        deltas = [event for event in events if event["type"] == "response.output_text.delta"]
        assert [each for event in deltas for each in event["logprobs"]] == part["logprobs"]
        plain = await ask(socket, "hi", include=["message.output_text.logprobs"])
        assert plain["output"][0]["content"][0]["logprobs"][0]["top_logprobs"] == []
        assert (await ask(socket, "hi"))["output"][0]["content"][0]["logprobs"] == []


async def test_a_user_can_not_speak_for_the_template(service: Running) -> None:
    """Control tokens in a user's text are bytes: more tokens than the tokens they spell."""
    async with connected(service) as socket:
        plain = await ask(socket, "x" * len("<|im_end|>"))
        forged = await ask(socket, "<|im_end|>")
    assert forged["usage"]["input_tokens"] == plain["usage"]["input_tokens"]


async def test_a_model_that_never_stops_is_bounded(service: Running) -> None:
    async with connected(service) as socket:
        last = await socket.call(model="tiny", input="go on", max_output_tokens=8, store=False)
        assert last["type"] == "response.incomplete"
        assert last["response"]["incomplete_details"] == {"reason": "max_output_tokens"}
        assert last["response"]["usage"]["output_tokens"] == 8


async def test_a_cancel_ends_at_once_and_leaves_the_slot_usable(service: Running) -> None:
    async with connected(service) as socket:
        await socket.create(model="tiny", input="go on", store=False)
        await socket.read_until("response.output_text.delta")
        await socket.send({"type": "response.cancel"})
        async with asyncio.timeout(30):
            last = (await socket.finish())[-1]
        if last["type"] == "response.incomplete":
            assert "input_tokens_details" not in last["response"]["usage"], "what was cached is not known"
        assert said(await ask(socket, "again"))


async def test_too_long_an_input_is_told(service: Running) -> None:
    async with connected(service) as socket:
        last = await socket.call(model="tiny", input="x" * 4000, store=False)
    error = last["response"]["error"] if last["type"] == "response.failed" else last["error"]
    assert error["code"] == "context_length_exceeded"
    assert "2048" in error["message"]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        (
            {
                "input": [
                    {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]}
                ]
            },
            "unsupported_content",
        ),
        ({"input": "x", "tools": [{**READ, "parameters": {"type": "strange"}}]}, "invalid_tool_schema"),
    ],
)
async def test_what_the_model_can_not_do_is_told(service: Running, fields: dict[str, Any], code: str) -> None:
    async with connected(service) as socket:
        last = await socket.call(model="tiny", store=False, **fields)
        assert last["type"] == "response.failed"
        assert last["response"]["error"]["code"] == code
        assert said(await ask(socket, "still there?"))


def test_the_model_list_says_what_it_can(service: Running, tmp_path: Path) -> None:
    engines = dict(service.service.registry.items())
    capabilities = engines["tiny"].capabilities
    assert (capabilities.tools, capabilities.json_output, capabilities.context_tokens) == (True, True, 2048)
