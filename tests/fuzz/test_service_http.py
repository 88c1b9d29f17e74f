"""Damaged bodies over HTTP, cut anywhere; and our own streams, read back from any cut."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.wire.sse import SseDecoder
from tests.support.service.fuzz import REFUSALS, Damage, quiet
from tests.support.service.running import KEY, Running, http_client, parse_sse, running_service

PATHS = ("/responses", "/responses/input_tokens", "/responses/compact")


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Running]:
    with running_service() as running:
        yield running


def pieces(body: bytes, chance: random.Random) -> list[bytes]:
    """The body cut in several places."""
    cuts = sorted(chance.randrange(len(body) + 1) for _ in range(chance.randint(0, 6)))
    return [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]


@pytest.mark.rule("http.refused", "errors.place")
async def test_damaged_bodies_in_pieces(fuzzed: Running) -> None:
    damage, chance = Damage(3), random.Random(3)
    statuses = set()
    async with http_client(fuzzed) as client:
        for number in range(400):
            body = damage.body()

            async def streamed(body: bytes = body) -> AsyncIterator[bytes]:
                for piece in pieces(body, chance):
                    yield piece

            answer = await client.post(PATHS[number % 3], content=streamed())
            statuses.add(answer.status_code)
            assert answer.status_code in (200, 400, 413), answer.text
            if answer.status_code != 200:
                assert answer.json()["error"]["code"] in REFUSALS
            elif answer.headers["content-type"].startswith("text/event-stream"):
                assert parse_sse(answer.text)[-1] == ("[DONE]", None)
    assert statuses >= {200, 400}


@pytest.mark.rule("http.leave")
async def test_requests_that_are_never_finished(fuzzed: Running) -> None:
    """Half a head, half a body, half an answer read; each connection is dropped, and nothing is left of it."""
    address = urlsplit(fuzzed.url)
    body = b'{"model":"scripted:slow","input":"go","stream":true,"store":false}'
    head = (
        f"POST /v1/responses HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {KEY}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()
    whole = head + body

    async def one(length: int) -> None:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(whole[:length])
        await writer.drain()
        if length == len(whole):
            await reader.read(10)
        writer.transport.abort()

    async with asyncio.timeout(60):
        await asyncio.gather(*(one(length) for length in (1, 20, len(head), len(head) + 9, *[len(whole)] * 20)))
    await quiet(fuzzed)


@pytest.fixture(scope="module")
def stream(fuzzed: Running) -> bytes:
    """A whole SSE answer."""

    async def read() -> bytes:
        async with http_client(fuzzed) as client:
            return (await client.post("/responses", json={"model": "scripted", "input": "go", "stream": True})).content

    return asyncio.run(read())


@pytest.mark.rule("http.chunk")
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 20_000), max_size=30))
def test_a_stream_is_read_from_any_cut(stream: bytes, cuts: list[int]) -> None:
    whole = SseDecoder().feed(stream)
    assert whole[0].event == "response.created"
    decoder, found = SseDecoder(), []
    places = sorted({cut % len(stream) for cut in cuts})
    for start, end in zip([0, *places], [*places, len(stream)], strict=True):
        found += decoder.feed(stream[start:end])
    assert found == whole
    assert decoder.done
