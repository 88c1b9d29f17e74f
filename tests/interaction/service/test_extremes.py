"""Nothing that one client sends holds up another: generated extremes of every field, beside small calls.

The service is a process of its own. While it works on an extreme request a second client makes small calls, each of
which must be answered within a bound that no scheduling of a busy machine reaches, but that every one of these requests
broke once.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from agent_core.responses_server.process.coalescing import MAX_FRAGMENTS
from tests.support.extremes import EXTREMES, FIELDS, KINDS, extreme, extreme_field
from tests.support.service import ENDS, Child, Socket, child_service, connected, http_client

SMALL: dict[str, Any] = {"model": "scripted", "input": "go", "store": False}
SMALL_S = 3.0
"""Of one small call. Calm it takes some milliseconds."""
LARGE_S = 30.0
FILLED_IN_BY_NOBODY = ("invalid_tool_schema", "grammar_unreadable", "invalid_text_format")
SAMPLE = 48
SEED = 20261201

every = [(field, kind) for field in FIELDS for kind in KINDS]
some = random.Random(SEED).sample(every, SAMPLE)


@pytest.fixture
async def child(tmp_path: Path) -> AsyncIterator[Child]:
    async with child_service(tmp_path) as child:
        yield child


async def beside(child: Child, frames: list[tuple[str, str]]) -> dict[str, Any]:
    """Send each frame; its last event by name. Meanwhile small calls must be answered in time."""
    ends: dict[str, Any] = {}
    async with connected(child.running) as small:
        await small.response(**SMALL)
        done = asyncio.Event()
        watching = asyncio.create_task(_small_calls(small, done))
        try:
            for name, frame in frames:
                async with connected(child.running) as large:
                    await large.connection.send(frame)
                    ends[name] = await _end(large)
                assert not watching.done(), f"a small call was not answered beside: {name}"
        finally:
            done.set()
            await watching
    return ends


async def _small_calls(socket: Socket, done: asyncio.Event) -> None:
    while not done.is_set():
        async with asyncio.timeout(SMALL_S):
            await socket.response(**SMALL)
        await asyncio.sleep(0)


async def _end(socket: Socket) -> Any:
    async with asyncio.timeout(LARGE_S):
        while True:
            raw = await socket.connection.recv()
            event = json.loads(raw)
            if event["type"] in ENDS:
                return event


@pytest.mark.rule("work.bounded")
async def test_extremes_hold_up_nobody(child: Child) -> None:
    ends = await beside(child, [(name, extreme(name)) for name in EXTREMES])
    for name, end in ends.items():
        if end["type"] == "error":
            assert end["error"]["param"] or end["error"]["code"] in ("invalid_json", "message_too_large"), (name, end)
        elif end["type"] == "response.failed":
            assert end["response"]["error"]["code"] in FILLED_IN_BY_NOBODY
    refused = {name for name, end in ends.items() if end["type"] == "error"}
    assert {"a billion items", "two billion characters", "too many items", "many tools", "many values"} <= refused
    assert ends["a billion items"]["error"]["param"] == "tools[0].parameters"
    assert ends["empty parts"]["error"]["param"] == "input[0].content"
    assert ends["many tools in items"]["error"]["param"].startswith("input[")
    assert ends["a tree without leaves"]["response"]["error"]["code"] == "invalid_tool_schema"
    assert ends["empty items"]["type"] == ends["one letter"]["type"] == "response.completed"


@pytest.mark.rule("work.bounded")
async def test_extremes_of_any_field_hold_up_nobody(child: Child) -> None:
    await _fields(child, some)


@pytest.mark.rule("work.bounded")
@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("field", FIELDS)
async def test_extremes_of_every_field_hold_up_nobody(child: Child, field: str) -> None:
    await _fields(child, [(field, kind) for kind in KINDS])


async def _fields(child: Child, chosen: list[tuple[str, str]]) -> None:
    frames = [(f"{field} as {kind}", extreme_field(field, kind)) for field, kind in chosen]
    for name, end in (await beside(child, frames)).items():
        if end["type"] == "error":
            assert end["status"] < 500, (name, end)
            assert end["error"]["message"], name
        else:
            assert end["type"] in ("response.completed", "response.incomplete"), (name, end)


@pytest.mark.rule("work.bounded")
async def test_what_comes_compressed_is_bounded_by_what_it_unpacks_to(child: Child) -> None:
    """A frame of some kilobytes that unpacks to more than a frame may hold is cut off, and nobody else waits."""
    bomb = '{"type":"response.create","input":"' + "a" * (40 * 1024 * 1024) + '"}'
    async with connected(child.running) as small:
        await small.response(**SMALL)
        done = asyncio.Event()
        watching = asyncio.create_task(_small_calls(small, done))
        for _ in range(3):
            async with connected(child.running, compression="deflate") as large:
                with pytest.raises(ConnectionClosed):
                    await large.connection.send(bomb)
                    await _end(large)
                assert (await large.closed())[0] == 1009
        done.set()
        await watching


@pytest.mark.rule("work.bounded")
async def test_the_same_over_http(child: Child) -> None:
    names = ("a billion items", "a tree without leaves", "too many items", "empty items")
    async with connected(child.running) as small, http_client(child.running) as client:
        await small.response(**SMALL)
        done = asyncio.Event()
        watching = asyncio.create_task(_small_calls(small, done))
        for name in names:
            answer = await client.post("/responses", content=extreme(name), timeout=LARGE_S)
            assert answer.status_code in (200, 400), name
            assert not watching.done(), name
        for kind in ("deep list", "1e400", "a long number"):
            answer = await client.post("/responses", content=extreme_field("tools", kind), timeout=LARGE_S)
            assert answer.status_code == 400, kind
        done.set()
        await watching


@pytest.mark.rule("work.bounded")
async def test_a_message_in_pieces_without_end_is_cut_off(child: Child) -> None:
    async def pieces() -> AsyncIterator[str]:
        for _ in range(MAX_FRAGMENTS + 2):
            yield ""

    async with connected(child.running) as large:
        with suppress(ConnectionClosed):
            await large.connection.send(pieces())
        assert (await large.closed())[0] == 1009
