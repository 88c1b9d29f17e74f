"""Everything that Chat Completions servers send (`chat_shapes`), over a real socket: what comes of it as deltas."""

from __future__ import annotations

from typing import Any

import pytest

from agent_core.errors import EngineError
from agent_core.responses_server.engine import Finish, ItemEnd, ReasoningDelta, TextDelta, ToolCallDelta, ToolCallStart
from agent_core.responses_server.engines.upstream.engine import UpstreamEngine
from tests.support.engines.chat_shape import Shape, asks, fn, part
from tests.support.engines.chat_shapes import SHAPES
from tests.support.engines.upstream_requests import engine_request
from tests.support.engines.upstream_server import Answer, Upstream, upstream


async def answer(server: Upstream, **options: Any) -> list[Any]:
    engine = UpstreamEngine("far", f"{server.url}#m", {"api": "chat", "silence_s": 5, **options})
    try:
        return [delta async for delta in engine.stream(engine_request())]
    finally:
        await engine.close()


def told(deltas: list[Any]) -> tuple[str, str, list[tuple[str, str]], int]:
    """Text, reasoning, calls, and how many messages there are."""
    text = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    reasoning = "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))
    calls: list[tuple[str, str]] = []
    messages, kind = 0, ""
    for delta in deltas:
        if isinstance(delta, ToolCallStart):
            calls.append((delta.name, ""))
        elif isinstance(delta, ToolCallDelta):
            calls[-1] = (calls[-1][0], calls[-1][1] + delta.text)
        elif isinstance(delta, TextDelta):
            messages += kind != "text"
        kind = "" if isinstance(delta, ItemEnd) else "text" if isinstance(delta, TextDelta) else kind
    return text, reasoning, calls, messages


@pytest.mark.parametrize("name", SHAPES)
async def test_what_a_server_sends_is_read(name: str) -> None:
    shape: Shape = SHAPES[name]
    kind = {"Content-Type": "text/event-stream"}
    given = Answer(events=shape.events) if shape.raw is None else Answer(body=shape.raw, headers=kind)
    async with upstream(chat=given) as server:
        deltas = await answer(server)
    assert told(deltas) == (shape.text, shape.reasoning, shape.calls, bool(shape.text))
    end = deltas[-1]
    assert isinstance(end, Finish)
    assert end.reason == shape.reason
    if shape.counts is not None:
        assert (end.input_tokens, end.cached_tokens, end.output_tokens) == shape.counts


WHOLE = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    "kind", ["application/json", "application/json; charset=utf-8", "text/plain", "", "application/octet-stream"]
)
async def test_one_json_value_or_a_stream_of_another_type(kind: str) -> None:
    """Servers without streaming ignore the wish for it (ggml-org/llama.cpp, mudler/LocalAI)."""
    body = WHOLE if "json" in kind else b'data: {"choices":[{"delta":{"content":"Hello"}}]}\n\ndata: [DONE]\n\n'
    async with upstream(chat=Answer(body=body, headers={"Content-Type": kind})) as server:
        assert told(await answer(server))[0] == "Hello"


CUT = {
    "after a finish reason that is on every chunk": [part("stop", content="Hel")],
    "after an empty finish reason": [part("", content="Hel")],
    "amid the arguments of a call": [asks(index=0, id="c", function=fn("read", '{"pa'))],
    "before anything": [],
    "after text without a word of its end": [part(content="Hel")],
}


@pytest.mark.parametrize("name", CUT)
async def test_a_stream_that_is_cut_off_is_no_answer(name: str) -> None:
    """anomalyco/opencode#39968: half an answer passed for a whole one."""
    async with upstream(chat=Answer(events=CUT[name], breaks=True)) as server:
        with pytest.raises(EngineError) as failure:
            await answer(server)
    assert failure.value.code == "server_error"


@pytest.mark.parametrize("name", ["amid the arguments of a call", "after text without a word of its end"])
async def test_an_orderly_end_amid_something_is_no_answer_either(name: str) -> None:
    """vaadin/flow-components#9195."""
    async with upstream(chat=Answer(events=CUT[name])) as server:
        with pytest.raises(EngineError) as failure:
            await answer(server)
    assert failure.value.code == "server_error"


ERRORS: dict[str, tuple[Any, str]] = {
    "an error object": ({"error": {"message": "full", "code": 429}}, "rate_limit_exceeded"),
    "an error beside empty choices": ({"choices": [], "error": {"code": 502, "message": "gone"}}, "server_error"),
    "object error": ({"object": "error", "message": "too long", "code": 400}, "upstream_refused"),
    "error a text": ({"error": "out of memory"}, "server_error"),
    "a detail": ({"detail": "overloaded"}, "server_error"),
    "an event named error": ({"type": "error", "message": "x"}, "server_error"),
    "finish_reason error": (part("error"), "server_error"),
}


@pytest.mark.parametrize("name", ERRORS)
async def test_errors_amid_a_stream(name: str) -> None:
    """diegosouzapw/OmniRoute#8210, vercel/ai#17279, apache/rocketmq-dashboard#2178."""
    event, code = ERRORS[name]
    async with upstream(chat=Answer(events=[part(content="Hel"), event])) as server:
        with pytest.raises(EngineError) as failure:
            await answer(server)
    assert failure.value.code == code


async def test_a_page_for_people_is_a_clear_error() -> None:
    async with upstream(chat=Answer(body=b"<html>log in</html>", headers={"Content-Type": "text/html"})) as server:
        with pytest.raises(EngineError, match="check the address") as failure:
            await answer(server)
    assert failure.value.code == "upstream_not_understood"


SERVED_AT = {"Date": "Tue, 01 Dec 2026 10:00:00 GMT"}
WAITS: dict[str, tuple[dict[str, str], float | None]] = {
    "seconds": ({"Retry-After": "7"}, 7),
    "a fraction": ({"Retry-After": "0.5"}, 0.5),
    "milliseconds": ({"retry-after-ms": "1500"}, 1.5),
    "a date by the server's clock": (SERVED_AT | {"Retry-After": "Tue, 01 Dec 2026 10:00:30 GMT"}, 30),
    "a date that is over": ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
    "negative": ({"Retry-After": "-3"}, None),
    "garbage": ({"Retry-After": "in a while"}, None),
    "the far future": (SERVED_AT | {"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}, None),
    "a day": ({"Retry-After": "86400"}, 86400),
    "the reset of a limit": ({"X-RateLimit-Reset": "40", "X-RateLimit-Remaining": "0"}, 40),
    "the reset of one of two limits": (
        {
            "x-ratelimit-remaining-requests": "9",
            "x-ratelimit-reset-requests": "8h",
            "x-ratelimit-remaining-tokens": "0",
            "x-ratelimit-reset-tokens": "1m2.5s",
        },
        62.5,
    ),
    "none": ({}, None),
}


@pytest.mark.parametrize("name", WAITS)
async def test_how_long_to_wait(name: str) -> None:
    headers, wait_s = WAITS[name]
    async with upstream(
        chat=Answer(429, body=b"slow down", headers={"Content-Type": "text/plain", **headers})
    ) as server:
        with pytest.raises(EngineError) as failure:
            await answer(server)
    assert failure.value.code == "rate_limit_exceeded"
    assert failure.value.retry_after_s == wait_s
