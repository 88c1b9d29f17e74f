"""Clients of the capacity scenario, each role a process of its own, so that none holds up another.

Run as `python -m agent_core.bench.capacity_load ROLE PORT AMOUNT`:

    idle COUNT      opens so many WebSockets, says so, then at each line of its input makes one small call on each
    busy COUNT      so many WebSockets on each of which one response after the other streams
    large TOKENS    one call after the other with a history of so many tokens, none of which was seen before
    small SECONDS   small calls one after the other for so long, and how long each took

A role prints a line of JSON when it is ready, and one with what it found when its input ends or its time is up.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import time
from contextlib import AsyncExitStack
from typing import Any, Final

import msgspec

from agent_core.bench.lean_client import SocketConnection, closing, open_socket

PACED: Final = 0
"""Step of the rollout for a conversation in which the model has not spoken: text at the pace of a model."""
SHORT: Final = 1
"""Step for one in which it has spoken once: a word at once."""
AT_ONCE: Final = 50
"""Handshakes and calls that `idle` has under way at the same time."""
CHARS_PER_TOKEN: Final = 4.5
ITEM_CHARS: Final = 20_000
WORDS: Final = "the engine reads every new token once and keeps what it made of it for the next call of the lane "


class Found(msgspec.Struct, kw_only=True):
    """`first_ms`: of each call, to its first event; `whole_ms`: to its last. Empty where a role has none."""

    calls: int = 0
    first_ms: list[float] = []
    whole_ms: list[float] = []


def rollout(tokens: int, tokens_per_s: float) -> bytes:
    """What the model `scripted` plays: `PACED`, then `SHORT`."""
    paced = {"output": [{"text": "word " * tokens}], "tokens_per_s": tokens_per_s}
    return msgspec.json.encode({"steps": [paced, {"output": [{"text": "fine"}], "tokens_per_s": 0}]})


def create(step: int, texts: list[str]) -> bytes:
    """A call that plays `step`: a conversation of these texts."""
    items: list[dict[str, Any]] = [{"type": "message", "role": "user", "content": text} for text in texts]
    if step == SHORT:
        items.insert(1, {"type": "message", "role": "assistant", "content": "well"})
    frame = {"type": "response.create", "model": "scripted", "store": False, "input": items}
    return msgspec.json.encode(frame)


async def call(connection: SocketConnection, frame: bytes, found: Found) -> None:
    start_s = time.perf_counter()
    reply = await connection.send(frame)
    found.calls += 1
    found.first_ms.append(reply.first_s * 1000)
    found.whole_ms.append((time.perf_counter() - start_s) * 1000)


async def idle(port: int, count: int, lines: asyncio.StreamReader) -> Found:
    found = Found()
    turns = asyncio.Semaphore(AT_ONCE)
    async with AsyncExitStack() as stack:

        async def open_one() -> SocketConnection:
            async with turns:
                return await open_socket(port)

        async def talk(connection: SocketConnection) -> None:
            async with turns:
                await call(connection, create(SHORT, ["a question of some words " * 80, "and?"]), Found())

        connections = await asyncio.gather(*(open_one() for _ in range(count)))
        for connection in connections:
            await stack.enter_async_context(closing(connection))
        say(found)
        while await lines.readline():
            await asyncio.gather(*(talk(connection) for connection in connections))
            found.calls += count
            say(found)
    return found


async def busy(port: int, count: int, lines: asyncio.StreamReader) -> Found:
    found = Found()

    async def stream(number: int) -> None:
        async with closing(await open_socket(port)) as connection:
            while True:
                await call(connection, create(PACED, [f"go {number}"]), found)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(stream(number)) for number in range(count)]
        say(found)
        await lines.readline()
        for task in tasks:
            task.cancel()
    return Found(calls=found.calls)


async def large(port: int, tokens: int, lines: asyncio.StreamReader) -> Found:
    found = Found()
    say(found)
    ended = asyncio.create_task(lines.readline())
    while not ended.done():
        frame = create(SHORT, new_texts(tokens))
        async with closing(await open_socket(port)) as connection:
            await call(connection, frame, found)
    return found


def new_texts(tokens: int) -> list[str]:
    """About so many tokens of text that nobody has sent before."""
    count = max(2, int(tokens * CHARS_PER_TOKEN / ITEM_CHARS))
    base = WORDS * (ITEM_CHARS // len(WORDS))
    return [f"{time.time_ns()} {number} {base}" for number in range(count)]


async def small(port: int, seconds: int, lines: asyncio.StreamReader) -> Found:
    found = Found()
    async with closing(await open_socket(port)) as connection:
        for _ in range(20):
            await call(connection, create(SHORT, ["x" * 100, "and?"]), Found())
        say(found)
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            await call(connection, create(SHORT, [f"{time.time_ns()} " + WORDS * 20, "and?"]), found)
    return found


ROLES: Final = {"idle": idle, "busy": busy, "large": large, "small": small}


def say(found: Found) -> None:
    sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    sys.stdout.flush()


async def run(role: str, port: int, amount: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    say(await ROLES[role](port, amount, lines))


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
