"""What the events of a response look like to a client: its own reader, the required keys, usage, and one end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_core.wire.codec import encode
from agent_core.wire.events import UnknownEvent, event_type, read_event
from tests.support.service.running import ENDS, Running, connected, http_client, parse_sse, playing

FRAMES = Path(__file__).parents[2] / "golden" / "frames"
GO: dict[str, Any] = {"model": "scripted", "input": "go", "store": False}
READ = {"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}}
REQUIRED = {
    *("id", "object", "created_at", "completed_at", "status", "incomplete_details", "model", "previous_response_id"),
    *("instructions", "output", "error", "tools", "tool_choice", "truncation", "parallel_tool_calls", "text", "top_p"),
    *("presence_penalty", "frequency_penalty", "top_logprobs", "temperature", "reasoning", "usage"),
    *("max_output_tokens", "max_tool_calls", "store", "background", "service_tier", "metadata"),
    *("safety_identifier", "prompt_cache_key"),
}
EVERYTHING = {
    "steps": [
        {
            "output": [
                {"reasoning": "let me think"},
                {"text": "first this"},
                {"function_call": {"name": "read", "arguments": {"path": "a"}}},
                {"custom_tool_call": {"name": "patch", "input": "*** x"}},
                {"text": "then that"},
            ]
        },
        {"output": [{"text": "half"}, {"fail": {"code": "server_is_overloaded", "message": "busy"}}]},
    ]
}


@pytest.fixture(scope="module")
def talkative(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A model that answers with every kind of item, and fails the second time."""
    with playing(tmp_path_factory.mktemp("rollout"), EVERYTHING) as running:
        yield running


async def frames_of(running: Running, **fields: Any) -> list[str]:
    """Everything that comes up to the end of one call, as text."""
    async with connected(running) as socket:
        await socket.create(**{**GO, **fields})
        frames: list[str] = []
        while not frames or json.loads(frames[-1])["type"] not in ENDS:
            frame = await socket.connection.recv()
            assert isinstance(frame, str)
            frames.append(frame)
    return frames


SECOND = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "so"}, {"role": "user", "content": "on"}]
REQUESTS: dict[str, dict[str, Any]] = {
    "everything": {"include": ["reasoning.encrypted_content"]},
    "a failure": {"input": SECOND},
    "a compaction": {"input": [*SECOND[:2], {"type": "compaction_trigger"}]},
    "a refusal": {"input": 3},
    "a named lane": {"stream_id": "side"},
}


@pytest.mark.rule("events.known")
@pytest.mark.rule("ws.text_frames")
@pytest.mark.parametrize("name", REQUESTS)
async def test_the_clients_reader_knows_every_frame_as_it_is(talkative: Running, name: str) -> None:
    for frame in await frames_of(talkative, **REQUESTS[name]):
        event = read_event(frame)
        assert not isinstance(event, UnknownEvent)
        sent = json.loads(frame)
        assert event_type(event) == sent["type"]
        assert json.loads(encode(event)) == sent


@pytest.mark.rule("events.ladder")
@pytest.mark.rule("events.output")
@pytest.mark.rule("events.sequence")
async def test_items_of_every_kind_open_grow_and_close_in_order(talkative: Running) -> None:
    events = [json.loads(frame) for frame in await frames_of(talkative)]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert done == events[-1]["response"]["output"]
    kinds = ["reasoning", "message", "function_call", "custom_tool_call", "message"]
    assert [item["type"] for item in done] == kinds
    for index, item in enumerate(done):
        own = [event for event in events if event.get("output_index") == index]
        assert own[0]["type"] == "response.output_item.added"
        assert own[-1]["type"] == "response.output_item.done"
        opened = own[0]["item"]
        assert (opened["id"], opened["type"]) == (item["id"], item["type"])
        assert not (opened.get("content") or opened.get("summary") or opened.get("arguments") or opened.get("input"))
        assert {event["item_id"] for event in own[1:-1]} == {item["id"]}
        deltas = "".join(event.get("delta", "") for event in own)
        (closed,) = (event for event in own if event["type"].endswith(("text.done", "arguments.done", "input.done")))
        whole = closed.get("text", closed.get("arguments", closed.get("input")))
        assert deltas == whole
        assert json.dumps(whole)[1:-1] in json.dumps(item)
        parts = [event["type"].rpartition(".")[2] for event in own if "part." in event["type"]]
        assert parts == (["added", "done"] if item["type"] in ("message", "reasoning") else [])


@pytest.mark.rule("events.required_keys")
@pytest.mark.parametrize("name", ["everything", "a failure"])
async def test_the_required_keys_are_there_from_the_start(talkative: Running, name: str) -> None:
    events = [json.loads(frame) for frame in await frames_of(talkative, **REQUESTS[name])]
    responses = [event["response"] for event in events if "response" in event]
    assert len(responses) == 3
    for response in responses:
        assert REQUIRED - set(response) == set()
    assert (responses[0]["status"], responses[0]["output"], responses[0]["usage"]) == ("in_progress", [], None)


@pytest.mark.rule("events.one_terminal")
@pytest.mark.rule("errors.before_and_after")
async def test_a_response_that_fails_says_so_once(talkative: Running) -> None:
    """The next answer on the socket begins where the failed one ended, with nothing in between."""
    async with connected(talkative) as socket:
        for bad, end in (({"input": SECOND}, "response.failed"), ({"input": 3}, "error")):
            for _ in range(3):
                await socket.create(**{**GO, **bad})
            await socket.create(**GO)
            for _ in range(3):
                events = await socket.finish()
                assert events[-1]["type"] == end
                assert events[0]["type"] == ("response.created" if end == "response.failed" else "error")
            assert (await socket.finish())[-1]["type"] == "response.completed"
    async with http_client(talkative) as client:
        answer = await client.post("/responses", json={**GO, "input": SECOND})
        streamed = parse_sse((await client.post("/responses", json={**GO, "input": SECOND, "stream": True})).text)
    assert (answer.status_code, answer.json()["status"]) == (200, "failed")
    assert answer.json()["error"] == {"code": "server_is_overloaded", "message": "busy"}
    assert [name for name, _ in streamed if name in ENDS] == ["response.failed"]


@pytest.mark.rule("events.usage")
async def test_usage_tells_what_was_new_cached_and_thought(talkative: Running) -> None:
    async with connected(talkative) as socket:
        first = (await socket.response(**GO, instructions="be brief"))["usage"]
        warm = await socket.response(**GO, instructions="be brief", generate=False)
        cached = await socket.response(
            **{**GO, "input": []}, instructions="be brief", generate=False, previous_response_id=warm["id"]
        )
    for usage in (first, warm["usage"], cached["usage"]):
        assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert first["input_tokens_details"]["cached_tokens"] == 0
    assert 0 < first["output_tokens_details"]["reasoning_tokens"] < first["output_tokens"]
    assert cached["usage"]["input_tokens_details"]["cached_tokens"] == warm["usage"]["input_tokens"] > 0


@pytest.mark.rule("ws.ignored")
@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in sorted(FRAMES.glob("create.*.json"))])
async def test_frames_of_real_clients_are_served(service: Running, path: Path) -> None:
    """As captured, but for the model and for what only the service of that time can have known."""
    frame = json.loads(path.read_bytes())
    known = [item for item in frame["input"] if item.get("type") not in ("compaction", None) or "role" in item]
    async with connected(service) as socket:
        if frame.pop("previous_response_id", None) is not None:
            calls = [
                {"type": "function_call", "call_id": item["call_id"], "name": "exec_command", "arguments": "{}"}
                for item in known
                if item.get("type") == "function_call_output"
            ]
            parent = await socket.response(input=calls, generate=False, store=False)
            frame["previous_response_id"] = parent["id"]
        await socket.send({**frame, "model": "scripted", "input": known})
        events = await socket.finish()
    assert events[-1]["type"] == "response.completed"
    assert (events[-1]["response"]["output"] == []) is (frame.get("generate") is False)


@pytest.mark.rule("http.equal")
@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in sorted(FRAMES.glob("body.*.json"))])
async def test_bodies_of_real_clients_are_served(service: Running, path: Path) -> None:
    body = {**json.loads(path.read_bytes()), "model": "scripted"}
    async with http_client(service) as client:
        answer = await client.post("/responses", json=body)
    assert answer.status_code == 200
    assert parse_sse(answer.text)[-2][0] == "response.completed"
