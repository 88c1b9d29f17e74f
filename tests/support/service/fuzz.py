"""Frames that no good client would send: good ones damaged as bytes and as JSON, by seed; and what may come back."""

from __future__ import annotations

import asyncio
import gc
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from websockets.exceptions import ConnectionClosed

from agent_core.process_cost import rss_bytes
from tests.support.service.running import ENDS, Running, Socket, connected
from tests.support.system.waiting import eventually

GOLDEN = Path(__file__).parents[2] / "golden"
REFUSALS = frozenset(
    {
        "invalid_json",
        "invalid_request",
        "invalid_stream_id",
        "message_too_large",
        "previous_response_not_found",
        "unsupported_event_type",
        "websocket_stream_limit_reached",
    }
)
"""Codes of `error` frames that damaged frames may get; `server_error` is not among them."""
FAILURES = frozenset({"invalid_media", "grammar_unreadable", "tool_choice_broken"})
STEERING = frozenset(
    {
        "invalid_input",
        "response_already_completed",
        "response_not_active",
        "response_not_found",
        "steering_not_supported",
        "successor_creation_failed",
    }
)
READ = {"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}}


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


_ODDITIES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    10**40,
    -(10**25),
    1e308,
    2**63,
    "",
    "\x00",
    "\ud7ff￿",
    "x" * 3000,
    [],
    {},
    [[]],
    {"": ""},
    {"type": 7},
    {"type": "message"},
    _deep(60),
    _deep(900),
)
_ODD = tuple(json.dumps(odd) for odd in _ODDITIES)
"""The same as JSON, so that each use is a fresh one."""
_JUNK = (
    b"",
    b"null",
    b"[",
    b"{",
    b'"',
    b"[" * 50_000,
    b'{"a":' * 20_000,
    b"1e999",
    b"NaN",
    b"\xff\xfe",
    b"\xc0\x80",
    b"\x00" * 9,
)


def good_frames() -> list[dict[str, Any]]:
    """Creates and other client events of every shape that the tests know."""
    frames: list[dict[str, Any]] = [
        json.loads(path.read_bytes()) for path in sorted(GOLDEN.glob("frames/create.*.json"))
    ]
    frames += [json.loads(path.read_bytes()) for path in sorted(GOLDEN.glob("wire/client.*.json"))]
    items = [json.loads(path.read_bytes()) for path in sorted(GOLDEN.glob("wire/item.*.json"))]
    tools = [json.loads(path.read_bytes()) for path in sorted(GOLDEN.glob("wire/tool.*.json"))]
    create = {"type": "response.create", "model": "scripted", "store": False}
    frames += [{**create, "input": [item]} for item in items]
    frames += [{**create, "input": "go", "tools": [tool, READ]} for tool in tools]
    frames += [
        {**create, "input": "go", "stream_id": "side"},
        {**create, "input": "go", "tools": [READ], "tool_choice": "required"},
        {
            **create,
            "input": "go",
            "text": {"format": {"type": "json_schema", "name": "x", "schema": {"type": "object"}}},
        },
        {**create, "input": [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}], "generate": False},
        {**create, "input": ["x"], "context_management": [{"type": "compaction", "compact_threshold": 1}]},
    ]
    for frame in frames:
        if "model" in frame:
            frame["model"] = "scripted"
    return frames


class Damage:
    """Endless damaged frames of one seed; `bytes` for what goes as a binary frame or is no UTF-8."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._good = good_frames()

    def frames(self, count: int) -> Iterator[str | bytes]:
        for _ in range(count):
            data = self.body()
            try:
                yield data if self._random.random() < 0.02 else data.decode()
            except UnicodeDecodeError:
                yield data

    def body(self) -> bytes:
        """One damaged document."""
        roll = self._random.random()
        if roll < 0.03:
            return self._random.choice(_JUNK)
        frame = json.loads(json.dumps(self._random.choice(self._good)))
        gentle = roll > 0.4
        for _ in range(self._random.randint(0, 3)):
            frame = self._changed(frame, gentle)
        data = json.dumps(frame, ensure_ascii=self._random.random() < 0.5).encode("utf-8", "surrogatepass")
        return self._damaged(data) if roll < 0.2 else data

    def _changed(self, value: Any, gentle: bool) -> Any:
        """The value with one place of it changed; `gentle`: to something of the same type."""
        parent, key = self._place(value)
        if parent is None:
            return value if gentle else self._odd()
        if gentle:
            parent[key] = self._alike(parent[key])
            return value
        roll = self._random.random()
        if roll < 0.2:
            del parent[key]
        elif roll < 0.3 and isinstance(parent, dict):
            parent[self._random.choice(["type", "id", "call_id", "stream_id", "x"])] = parent.pop(key)
        elif roll < 0.4 and isinstance(parent, list):
            parent.extend([parent[key]] * self._random.randint(1, 5))
        else:
            parent[key] = self._odd()
        return value

    def _alike(self, value: Any) -> Any:
        """Another value of the same type."""
        if isinstance(value, bool):
            return not value
        if isinstance(value, str):
            return self._random.choice([value, value * 2, value[:-1], value + "é", "side", "call_1", "x" * 2000])
        if isinstance(value, int | float):
            return self._random.choice([value, value + 1, -value, 0, value * 1000])
        if isinstance(value, list):
            return self._random.choice([value, value * 2, value[::-1], value[:1]])
        if isinstance(value, dict) and value:
            return {key: each for key, each in value.items() if key != self._random.choice(list(value))}
        return value

    def _odd(self) -> Any:
        return json.loads(self._random.choice(_ODD))

    def _place(self, value: Any) -> tuple[Any, Any]:
        parent: Any = None
        key: Any = None
        for _ in range(self._random.randint(1, 6)):
            if not isinstance(value, dict | list) or not value:
                break
            parent = value
            key = self._random.choice(list(value)) if isinstance(value, dict) else self._random.randrange(len(value))
            value = value[key]
        return parent, key

    def _damaged(self, data: bytes) -> bytes:
        """Some bytes flipped, cut out, doubled, or put in."""
        found = bytearray(data)
        for _ in range(self._random.randint(1, 4)):
            at = self._random.randrange(len(found) + 1)
            match self._random.randrange(4):
                case 0 if at < len(found):
                    found[at] ^= 1 << self._random.randrange(8)
                case 1:
                    del found[at : at + self._random.randint(1, 30)]
                case 2:
                    found[at:at] = found[at : at + 40]
                case _:
                    found[at:at] = bytes([self._random.choice(b'{}[]",:\\0e-\x00\xff')])
        return bytes(found)


@dataclass
class Seen:
    """What came back. `codes` counts refusals, `ends` terminal events."""

    codes: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)

    def take(self, text: str | bytes) -> dict[str, Any]:
        """Judge one frame from the service."""
        assert isinstance(text, str)
        event: dict[str, Any] = json.loads(text)
        kind = event["type"]
        if kind == "error":
            assert isinstance(event["status"], int), event
            assert event["error"]["code"] in REFUSALS, event
            assert isinstance(event["error"]["message"], str)
            assert len(event["error"]["message"]) < 2000
            self.codes[event["error"]["code"]] += 1
        elif kind == "response.steer.failed":
            assert event["error"]["code"] in STEERING, event
            self.codes[event["error"]["code"]] += 1
        elif kind == "response.failed":
            assert event["response"]["error"]["code"] in FAILURES, event
        if kind in ENDS:
            self.ends[kind] += 1
        return event


PROBE = {"probe": "yes"}


async def talk(running: Running, frames: Sequence[str | bytes], seen: Seen) -> None:
    """Send frames on one connection, then a good one; all is read until that one is answered, well and in its turn."""
    async with connected(running, compression=None) as socket:
        reading = asyncio.create_task(_read_probe(socket, seen))
        try:
            async with asyncio.timeout(90):
                for frame in frames:
                    await socket.send(frame)
                await socket.create(input="the last", store=False, metadata=PROBE)
                await reading
        except ConnectionClosed:
            # Bytes that are no UTF-8 can only be sent as a binary frame by this client, so nothing may close.
            raise AssertionError("the service closed the connection") from None
        finally:
            reading.cancel()


async def _read_probe(socket: Socket, seen: Seen) -> None:
    while True:
        event = seen.take(await socket.connection.recv())
        if event["type"] in ENDS and event.get("response", {}).get("metadata") == PROBE:
            assert event["type"] == "response.completed"
            assert "stream_id" not in event
            return


def still_held(running: Running) -> int:
    """What still runs or is remembered of connections and responses."""
    return len(running.service.live) + len(running.service.in_flight._running)


async def quiet(running: Running) -> None:
    """Wait until nothing of any connection is left."""
    await eventually(lambda: still_held(running) == 0)


def memory_kb() -> int:
    """Resident memory of this process."""
    gc.collect()
    return rss_bytes() // 1024
