"""Damaged frames by the thousand: no crash, no stuck lane, no leak, and no code that is not documented."""

from __future__ import annotations

import asyncio
import json
import os
import random
import struct
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.service.fuzz import Damage, Seen, memory_kb, quiet, talk
from tests.support.service.raw import RawSocket
from tests.support.service.running import Running, running_service
from tests.support.service.soak import SoakJournal

PER_CONNECTION = 100
SEEDS, PER_SEED = 20, 5_000
"""The long run: as many frames as their product."""


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Running]:
    with running_service() as running:
        yield running


async def many(running: Running, seed: int, count: int, seen: Seen) -> None:
    """Frames of one seed over several connections, four at a time."""
    damage = Damage(seed)
    batches = [list(damage.frames(PER_CONNECTION)) for _ in range(count // PER_CONNECTION)]
    gate = asyncio.Semaphore(4)

    async def one(batch: list[str | bytes]) -> None:
        async with gate:
            await talk(running, batch, seen)

    await asyncio.gather(*(one(batch) for batch in batches))
    await quiet(running)


@pytest.mark.rule("ws.robust", "errors.form", "errors.place")
async def test_damaged_frames() -> None:
    with running_service() as running:
        seen = Seen()
        await many(running, 7, 2_000, seen)
        assert sum(seen.ends.values()) > 1_000
        assert {"invalid_json", "invalid_request", "invalid_stream_id", "unsupported_event_type"} <= set(seen.codes)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.rule("ws.robust")
async def test_a_hundred_thousand_damaged_frames() -> None:
    journal = SoakJournal("service_frames")
    with running_service() as running:
        await many(running, 1_000_000, 2_000, Seen())
        before_kb = memory_kb()
        for seed in range(SEEDS):
            row = journal.done(f"seed {seed}")
            if row is None:
                seen, start = Seen(), time.monotonic()
                await many(running, seed, PER_SEED, seen)
                running.sink.events.clear()
                row = journal.note(
                    f"seed {seed}",
                    frames=PER_SEED,
                    ends=dict(seen.ends),
                    codes=dict(seen.codes),
                    seconds=round(time.monotonic() - start, 1),
                )
            print(f"service frames: {row}")
        grown_kb = memory_kb() - before_kb
        print(f"service frames: memory grew by {grown_kb} kB")
        assert grown_kb < 30_000


_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_names = st.sampled_from(
    [
        *("type", "model", "input", "tools", "tool_choice", "stream_id", "previous_response_id", "generate", "store"),
        *("text", "reasoning", "include", "context_management", "metadata", "max_output_tokens", "max_tool_calls"),
        *("truncation", "instructions", "prompt_cache_options"),
    ]
)
_kinds = st.sampled_from(["response.create"] * 6 + ["response.steer", "response.cancel", "response.append", "x"])
_frames = st.builds(
    lambda kind, fields: json.dumps({"type": kind, "model": "scripted", "input": "go", "store": False, **fields}),
    _kinds,
    st.dictionaries(_names, _json, max_size=5),
)
_COMMON: Any = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}


@pytest.mark.rule("ws.robust")
@settings(max_examples=12, **_COMMON)
@given(st.lists(_frames, min_size=1, max_size=40))
def test_frames_of_any_shape(fuzzed: Running, frames: list[str]) -> None:
    asyncio.run(talk(fuzzed, frames, Seen()))


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.rule("ws.robust")
@settings(max_examples=1_000, **{**_COMMON, "derandomize": False})
@given(st.lists(_frames, min_size=1, max_size=60))
def test_a_thousand_connections_of_any_shape(fuzzed: Running, frames: list[str]) -> None:
    asyncio.run(talk(fuzzed, frames, Seen()))


@pytest.mark.rule("ws.leave")
async def test_abrupt_ends_at_any_moment() -> None:
    """Sockets that are cut in the middle of a frame, of an answer, of a close; afterwards nothing of them is left."""
    chance = random.Random(11)
    with running_service() as running:

        async def one() -> None:
            raw = await RawSocket.open(running)
            for _ in range(chance.randint(0, 3)):
                raw.send(1, json.dumps({"type": "response.create", "model": "scripted:slow", "input": "go"}).encode())
            if chance.random() < 0.5:
                await asyncio.sleep(chance.random() / 20)
            match chance.randrange(4):
                case 0:
                    raw.writer.write(bytes([0x81, 0xFE]) + struct.pack("!H", 900) + os.urandom(40))
                case 1:
                    raw.writer.write(os.urandom(chance.randint(1, 300)))
                case 2:
                    raw.send(8, struct.pack("!H", 1000))
                case _:
                    pass
            raw.writer.transport.abort()

        async with asyncio.timeout(60):
            await asyncio.gather(*(one() for _ in range(60)))
        await quiet(running)
        await talk(running, [], Seen())


@pytest.mark.rule("ws.utf8")
async def test_bytes_that_are_no_text_close_their_own_connection_only(fuzzed: Running) -> None:
    chance = random.Random(5)
    for _ in range(40):
        payload = bytes(chance.randrange(256) for _ in range(chance.randint(1, 60)))
        raw = await RawSocket.open(fuzzed)
        raw.send(1, payload)
        opcode, data = await raw.frame()
        if opcode == 8:
            assert struct.unpack("!H", data[:2])[0] == 1007
        else:
            Seen().take(data.decode())
        await raw.close()
    await talk(fuzzed, [], Seen())
