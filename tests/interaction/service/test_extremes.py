"""Nothing that one client sends holds up another: generated extremes of every field, beside small calls.

The service is a process of its own. While it works on an extreme request a second client makes small calls, each of
which must be answered before the service has worked for `HELD_S` more. That is CPU time of its process, so that a busy
machine, which gives it little, fails nothing here; every one of these requests broke it once.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from agent_core.responses_server.process.coalescing import MAX_FRAGMENTS
from agent_core.responses_server.settings import MAX_BODY_BYTES
from tests.support.service.extremes import EXTREMES, FIELDS, KINDS, extreme, extreme_field
from tests.support.service.running import ENDS, Child, Socket, child_service, connected, http_client

SMALL: dict[str, Any] = {"model": "scripted", "input": "go", "store": False}
HELD_S = 1.0
"""What the service may work between a small call and its answer. Alone it takes some milliseconds."""
SMALL_S = 30.0
LARGE_S = 60.0
FILLED_IN_BY_NOBODY = ("invalid_tool_schema", "grammar_unreadable", "invalid_text_format")
SAMPLE, SAMPLE_FIELDS = 4, 16
SEED = 20261201
TOLD = {
    "a billion items": "tools[0].parameters",
    "two billion characters": "tools[0].parameters",
    "too many items": "input",
    "many tools": "tools",
    "many values": "tools[0].parameters",
    "empty parts": "input[0].content",
}
"""Refused, with the field that is."""

every = [(field, kind) for field in FIELDS for kind in KINDS]
some_fields = random.Random(SEED).sample(every, SAMPLE_FIELDS)
others = [name for name in EXTREMES if name not in TOLD]
some = [*TOLD, "a tree without leaves", "empty items", *random.Random(SEED).sample(others, SAMPLE)]


@dataclass
class Held:
    """How long small calls were held up, in seconds that the service worked meanwhile."""

    pid: int
    beside: str = ""
    worst_s: float = 0.0
    worst_beside: str = ""
    answers: int = 0

    def cpu_s(self) -> float:
        """What the process has used so far. Source: proc(5), `utime` and `stime`."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def answered(self, after_s: float) -> None:
        self.answers += 1
        if after_s > self.worst_s:
            self.worst_s, self.worst_beside = after_s, self.beside
        assert after_s < HELD_S, f"a small call was held up for {after_s:.2f} s beside: {self.beside}"


@pytest.fixture
async def child(tmp_path: Path) -> AsyncIterator[Child]:
    async with child_service(tmp_path) as child:
        yield child


@asynccontextmanager
async def small_calls(child: Child) -> AsyncIterator[Held]:
    """A second client whose small calls go on for the length of the block, each of them answered in time."""
    held, done = Held(child.process.pid), asyncio.Event()
    async with connected(child.running) as small:
        await small.response(**SMALL)
        watching = asyncio.create_task(_small_calls(small, held, done))
        try:
            yield held
        finally:
            done.set()
            await watching
            print(f"worst: {held.worst_s:.2f} s beside {held.worst_beside or 'nothing'}, {held.answers} small calls")


async def _small_calls(socket: Socket, held: Held, done: asyncio.Event) -> None:
    while not done.is_set():
        began_s = held.cpu_s()
        async with asyncio.timeout(SMALL_S):
            await socket.response(**SMALL)
        held.answered(held.cpu_s() - began_s)
        await asyncio.sleep(0)


async def beside(child: Child, frames: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Send each frame; its last event by name. Meanwhile small calls must be answered in time."""
    ends: dict[str, Any] = {}
    async with small_calls(child) as held:
        for name, frame in frames:
            held.beside = name
            async with connected(child.running) as large:
                await large.connection.send(frame)
                ends[name] = await _end(large)
    return ends


async def _end(socket: Socket) -> Any:
    async with asyncio.timeout(LARGE_S):
        while True:
            raw = await socket.connection.recv()
            event = json.loads(raw)
            if event["type"] in ENDS:
                return event


async def _named(child: Child, names: Iterable[str]) -> None:
    ends = await beside(child, ((name, extreme(name)) for name in names))
    for name, end in ends.items():
        if end["type"] == "error":
            assert end["error"]["param"] or end["error"]["code"] in ("invalid_json", "message_too_large"), (name, end)
        elif end["type"] == "response.failed":
            assert end["response"]["error"]["code"] in FILLED_IN_BY_NOBODY
    for name in TOLD.keys() & ends.keys():
        assert ends[name]["error"]["param"] == TOLD[name], (name, ends[name])
    if "many tools in items" in ends:
        assert ends["many tools in items"]["error"]["param"].startswith("input[")
    if "a tree without leaves" in ends:
        assert ends["a tree without leaves"]["response"]["error"]["code"] == "invalid_tool_schema"
    for name in {"empty items", "one letter"} & ends.keys():
        assert ends[name]["type"] == "response.completed", name


@pytest.mark.rule("work.bounded")
async def test_extremes_hold_up_nobody(child: Child) -> None:
    await _named(child, some)
    await _fields(child, some_fields)


@pytest.mark.rule("work.bounded")
@pytest.mark.soak
@pytest.mark.timeout(600)
async def test_all_extremes_hold_up_nobody(child: Child) -> None:
    await _named(child, EXTREMES)


@pytest.mark.rule("work.bounded")
@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("field", FIELDS)
async def test_extremes_of_every_field_hold_up_nobody(child: Child, field: str) -> None:
    await _fields(child, [(field, kind) for kind in KINDS])


async def _fields(child: Child, chosen: list[tuple[str, str]]) -> None:
    frames = ((f"{field} as {kind}", extreme_field(field, kind)) for field, kind in chosen)
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
    async with small_calls(child) as held:
        held.beside = "a bomb"
        for _ in range(2):
            async with connected(child.running, compression="deflate") as large:
                with pytest.raises(ConnectionClosed):
                    await large.connection.send(bomb)
                    await _end(large)
                assert (await large.closed())[0] == 1009


@pytest.mark.rule("work.bounded")
async def test_the_same_over_http(child: Child) -> None:
    async with small_calls(child) as held, http_client(child.running) as client:
        for name in ("a billion items", "too many items", "empty items"):
            held.beside = name
            answer = await client.post("/responses", content=extreme(name), timeout=LARGE_S)
            assert answer.status_code in (200, 400), name
        for kind in ("deep list", "1e400", "a long number"):
            held.beside = kind
            answer = await client.post("/responses", content=extreme_field("tools", kind), timeout=LARGE_S)
            assert answer.status_code == 400, kind


@pytest.mark.rule("work.bounded")
@pytest.mark.soak
@pytest.mark.timeout(300)
async def test_large_bodies_hold_up_nobody(child: Child) -> None:
    """Up to what HTTP takes: as one item, as a few and as many."""
    words = "The quick brown fox jumps over lazy dogs. " * 1_000
    bodies: dict[str, Any] = {
        "one": words * 1_000,
        "few": [{"role": "user", "content": words * 145}] * 8,
        "many": [{"role": "user", "content": words[:1_200]}] * 40_000,
        "too many": [{"role": "user", "content": words[:60]}] * 450_000,
    }
    async with small_calls(child) as held, http_client(child.running) as client:
        for name, given in bodies.items():
            held.beside = name
            content = await asyncio.to_thread(json.dumps, {**SMALL, "input": given})
            answer = await client.post("/responses", content=content, timeout=LARGE_S)
            assert answer.status_code == (400 if name == "too many" else 200), name


@pytest.mark.rule("work.bounded")
@pytest.mark.timeout(300)
async def test_what_http_takes_at_most_holds_up_nobody_and_more_is_refused(child: Child) -> None:
    """Before anything is made of the items: empty ones are millions in such a body."""
    room = MAX_BODY_BYTES - 100
    bodies: dict[str, tuple[str, int]] = {
        "empty lists": ("[]," * (room // 3) + "[]", 400),
        "numbers": ("1," * (room // 2) + "1", 400),
        "one item of many fields": ("{" + '"a":1,' * (room // 6) + '"b":1}', 400),
        "one byte too many": (" " * MAX_BODY_BYTES, 413),
    }
    async with small_calls(child) as held, http_client(child.running) as client:
        for name, (given, status) in bodies.items():
            held.beside = name
            content = f'{{"model":"scripted","store":false,"input":[{given}]}}'.encode()
            answer = await client.post("/responses", content=content, timeout=LARGE_S)
            assert answer.status_code == status, (name, answer.text)


@pytest.mark.rule("work.bounded")
async def test_a_message_in_pieces_without_end_is_cut_off(child: Child) -> None:
    async def pieces() -> AsyncIterator[str]:
        # An empty last one follows by itself, and is the one too many: what would come after it could make the system
        # reset the connection before its close frame is read.
        for _ in range(MAX_FRAGMENTS):
            yield ""

    async with connected(child.running) as large:
        with suppress(ConnectionClosed):
            await large.connection.send(pieces())
        assert (await large.closed())[0] == 1009
