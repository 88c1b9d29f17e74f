"""What screening does to a response: flags show, blocks end it before any output, long input is screened on the way."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.service.running import Running, connected, http_client, parse_sse
from tests.support.system.waiting import eventually

TOKEN = "gh" + "p_aB3dE5gH7jK9lM1nP3qR5tU7wX9zA1bC3dE5"
LONG = "some words of a file\n" * 5_000
BAD_IMAGE = {"type": "input_image", "image_url": "data:,x", "detail": "auto"}


def message(*parts: Any) -> list[Any]:
    return [{"role": "user", "content": list(parts)}]


def text(given: str) -> dict[str, str]:
    return {"type": "input_text", "text": given}


@pytest.mark.rule("screen.flag")
@pytest.mark.parametrize("before", ["", LONG], ids=["short", "long"])
async def test_a_flag_shows_in_the_response_and_in_telemetry(service: Running, before: str) -> None:
    async with connected(service) as socket:
        response = await socket.response(input=before + TOKEN, store=False, metadata={"mine": "1"})
        assert response["metadata"] == {"mine": "1", "loopline.screening": "leaked_credential"}
        settled = await eventually(lambda: service.service_call(response["id"]))
        assert settled.screened == "leaked_credential"
        later = await socket.response(input="go on", store=False, previous_response_id=response["id"])
        assert later["metadata"] == {"loopline.screening": "leaked_credential"}, "it is still in the conversation"


@pytest.mark.rule("screen.flag")
async def test_a_flag_of_long_input_is_the_same_over_http(service: Running) -> None:
    async with http_client(service) as client:
        body = {"model": "scripted", "input": LONG + TOKEN, "store": False}
        response = (await client.post("/responses", json=body)).json()
    assert response["metadata"] == {"loopline.screening": "leaked_credential"}


@pytest.mark.rule("screen.before_output")
@pytest.mark.parametrize("before", ["", LONG], ids=["short", "long"])
async def test_no_output_leaves_before_a_block(service: Running, before: str) -> None:
    given = message(text(before + "look"), BAD_IMAGE)
    async with connected(service) as socket:
        await socket.create(input=given, store=False)
        events = await socket.finish()
    assert [event["type"] for event in events] == ["response.created", "response.in_progress", "response.failed"]
    assert events[-1]["response"]["error"]["code"] == "invalid_media"
    async with http_client(service) as client:
        body = {"model": "scripted", "input": given, "store": False, "stream": True}
        names = [name for name, _ in parse_sse((await client.post("/responses", json=body)).text)]
    assert names == ["response.created", "response.in_progress", "response.failed", "[DONE]"]


@pytest.mark.rule("screen.said")
async def test_what_the_model_said_is_screened_for_the_next_call(service: Running) -> None:
    """On a lane the model's items are seen once they are said, over stateless HTTP when they come back: the same."""
    tool = {"type": "function", "name": "look", "parameters": {"type": "object", "required": ["path"],
            "properties": {"path": {"type": "string", "const": TOKEN}}}}  # fmt: skip
    async with connected(service) as socket:
        first = await socket.response(input="look", tools=[tool], store=False)
        assert first["metadata"] == {}
        call = first["output"][0]
        answered = {"type": "function_call_output", "call_id": call["call_id"], "output": "nothing"}
        on_lane = await socket.response(input=[answered], store=False, previous_response_id=first["id"])
    async with http_client(service) as client:
        history = [*message(text("look")), call, answered]
        body = {"model": "scripted", "input": history, "store": False}
        stateless = (await client.post("/responses", json=body)).json()
    assert on_lane["metadata"] == stateless["metadata"] == {"loopline.screening": "leaked_credential"}
