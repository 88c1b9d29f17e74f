"""Calls to measure a service by: a history of a known size, a delta of 2 kB, and what a call took on both sides.

CPU time is that of the service's process, by the kernel's own count of nanoseconds. Everything runs in one event loop
of one client process, so ways can be measured in turn, call by call.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from agent_core.bench.lean_client import TERMINAL, TIMING, HttpConnection, Reply, SocketConnection

ITEM_BYTES: Final = 2_000
BYTES_PER_TOKEN: Final = 5.6
"""Of the words below, with what the template adds; what a history really has is told by the service."""
WORDS: Final = (
    "the parser reads one line checks its length and keeps it for later while another test waits here "
    "value return result index error count items list path name open close write first last next"
)
OUTPUT: Final = b"response.output_item.added"
REQUEST: Final = {"model": "scripted", "stream": True, "tool_choice": "none"}


class Cost(msgspec.Struct):
    """One call, in milliseconds: up to its `first` event, to the first of its `output`, and the `whole`.

    `first_cpu`: what the service spent from admission to its first event, by its own count, 0 if it does not say.
    `cpu`: of the service's process, for the whole call. `stages`: as the service tells them.
    """

    first: float
    output: float
    whole: float
    first_cpu: float
    cpu: float
    stages: dict[str, float]


def cpu_ns(pid: int) -> int:
    """What all threads of a process have run so far."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except OSError:  # the thread has just ended
            continue
    return total


def text(rng: random.Random, size: int = ITEM_BYTES) -> str:
    """About `size` bytes of words."""
    words = rng.choices(WORDS.split(), k=size // 5)
    return " ".join(words)[:size]


def history(rng: random.Random, tokens: int) -> list[Any]:
    """Calls and their outputs, as an agent leaves them behind."""
    items: list[Any] = [{"role": "user", "content": "Find out why it fails."}]
    for number in range(max(1, int(tokens * BYTES_PER_TOKEN / (ITEM_BYTES + 260)))):
        call_id = f"call_{number:06}_{rng.randrange(10**9)}"
        arguments = f'{{"path":"src/part_{number}.py","start":1,"end":60}}'
        items.append({"type": "function_call", "name": "read", "call_id": call_id, "arguments": arguments})
        items.append({"type": "function_call_output", "call_id": call_id, "output": text(rng)})
    return items


def delta(rng: random.Random) -> list[Any]:
    """What is new in a call: 2 kB."""
    return [{"role": "user", "content": text(rng)}]


class _Watched:
    """Mixed into a connection: when the output began, and what the service says of its stages."""

    stages: dict[str, float]
    output_s: float
    began_s: float
    first_cpu: float = 0.0
    tokens: int = 0
    """Of the prompt, as the last response tells."""

    def reset(self) -> None:
        self.stages, self.output_s, self.began_s = {}, 0.0, time.perf_counter()

    def see(self, kind: bytes, data: bytes) -> None:
        if kind == OUTPUT and not self.output_s:
            self.output_s = time.perf_counter() - self.began_s
        elif kind == TIMING:
            metrics = msgspec.json.decode(data)["timing_metrics"]
            self.stages = metrics["stages_ms"]
            self.first_cpu = metrics.get("first_event_cpu_ms", 0.0)
        elif kind in TERMINAL:
            usage = msgspec.json.decode(data)["response"]["usage"]
            self.tokens = usage["input_tokens"] if usage is not None else 0


class Socket(_Watched, SocketConnection):
    def event(self, kind: bytes, data: bytes) -> None:
        self.see(kind, data)
        super().event(kind, data)


class Http(_Watched, HttpConnection):
    def event(self, kind: bytes, data: bytes) -> None:
        self.see(kind, data)
        super().event(kind, data)


class Conversation:
    """One way of going on with a conversation, on a connection of its own. `pid`: of the service."""

    def __init__(self, pid: int, fields: dict[str, Any]) -> None:
        self._pid, self._fields = pid, fields

    async def open(self, port: int, items: list[Any]) -> int:
        """Connect, and say the history once. Returns its tokens."""
        raise NotImplementedError

    async def call(self, new: list[Any]) -> Cost:
        """Say what is new, and hear the answer."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of the connection."""
        raise NotImplementedError

    async def _timed(self, connection: Socket | Http, frame: bytes) -> tuple[Reply, Cost]:
        cpu = cpu_ns(self._pid)
        connection.reset()
        sent = connection.send(frame) if isinstance(connection, Socket) else connection.post(frame)
        reply = await asyncio.wait_for(sent, timeout=120)
        whole_s = time.perf_counter() - connection.began_s
        await asyncio.sleep(0.002)  # what is settled behind the last event belongs to the call
        spent = (cpu_ns(self._pid) - cpu) / 1e6
        first, output = reply.first_s * 1000, connection.output_s * 1000
        return reply, Cost(first, output, whole_s * 1000, connection.first_cpu, spent, connection.stages)


class Lane(Conversation):
    """Deltas over a WebSocket."""

    _previous = ""

    async def open(self, port: int, items: list[Any]) -> int:
        loop = asyncio.get_running_loop()
        _, self._connection = await loop.create_connection(lambda: Socket(port), "127.0.0.1", port)
        await self._connection.opened
        await self.call(items)
        return self._connection.tokens

    def warming(self) -> Lane:
        """The same lane with calls that ask for no answer."""
        lane = Lane(self._pid, {**self._fields, "generate": False})
        lane._connection, lane._previous = self._connection, self._previous
        return lane

    async def call(self, new: list[Any]) -> Cost:
        previous = {"previous_response_id": self._previous} if self._previous else {}
        frame = msgspec.json.encode({"type": "response.create", **REQUEST, **self._fields, **previous, "input": new})
        reply, cost = await self._timed(self._connection, frame)
        self._previous = reply.id
        return cost

    def close(self) -> None:
        self._connection.transport.abort()


class Stateless(Conversation):
    """The whole history each time, over one kept-alive HTTP connection."""

    async def open(self, port: int, items: list[Any]) -> int:
        loop = asyncio.get_running_loop()
        _, self._connection = await loop.create_connection(lambda: Http(port, keep=True), "127.0.0.1", port)
        self._items: list[msgspec.Raw] = []
        await self.call(items)
        return self._connection.tokens

    async def call(self, new: list[Any]) -> Cost:
        self._items += [msgspec.Raw(msgspec.json.encode(item)) for item in new]
        body = msgspec.json.encode({**REQUEST, **self._fields, "input": self._items})
        reply, cost = await self._timed(self._connection, body)
        self._items += reply.output
        return cost

    def close(self) -> None:
        self._connection.transport.abort()


def in_turn(rng: random.Random, names: list[str], rounds: int) -> Iterator[str]:
    """Each name once a round, in another order each time."""
    for _ in range(rounds):
        order = list(names)
        rng.shuffle(order)
        yield from order


def typical(costs: list[Cost], what: str) -> float:
    """The median of a CPU time, the lowest tenth of a latency: the rest of the machine can only add to that."""
    values = sorted(getattr(cost, what) for cost in costs)
    return float(statistics.median(values) if "cpu" in what else values[len(values) // 10])
