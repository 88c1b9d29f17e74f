"""Frames that are wrong, large, or not what they should be: an error each, and the connection goes on."""

from __future__ import annotations

import asyncio
import json
import os
import struct
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed

from agent_core.responses_server.settings import FRAME_CEILING_BYTES, MAX_FRAME_BYTES
from tests.support.service import ENDS, KEY, TIMEOUT_S, Running, connected

GO = {"type": "response.create", "model": "scripted", "input": "go"}


@pytest.mark.rule("errors.form")
@pytest.mark.rule("errors.place")
@pytest.mark.rule("errors.survive")
@pytest.mark.parametrize(
    ("frame", "code", "param"),
    [
        ("", "invalid_json", None),
        ("{", "invalid_json", None),
        ("[]", "invalid_json", None),
        ('"text"', "invalid_json", None),
        ("null", "invalid_json", None),
        ("[" * 100_000, "invalid_json", None),
        ("{}", "invalid_request", "type"),
        ('{"type":7}', "invalid_request", "type"),
        ('{"type":"response.dance"}', "unsupported_event_type", "type"),
        ('{"type":"response.create"}', "invalid_request", "input"),
        ('{"type":"response.create","input":"x"}', "invalid_request", "model"),
        (json.dumps({**GO, "model": "gpt-none"}), "invalid_request", "model"),
        (json.dumps({**GO, "model": 1}), "invalid_request", "model"),
        (json.dumps({**GO, "background": True}), "invalid_request", "background"),
        (json.dumps({**GO, "input": {"role": "user"}}), "invalid_request", "input"),
        (json.dumps({**GO, "input": [7]}), "invalid_request", "input[0]"),
        (json.dumps({**GO, "tools": "all"}), "invalid_request", "tools"),
        (json.dumps({**GO, "tools": [{"type": "alien"}]}), "invalid_request", "tools[0].type"),
        (json.dumps({**GO, "tool_choice": "sometimes"}), "invalid_request", "tool_choice"),
        (json.dumps({**GO, "tool_choice": {"type": "web_search"}}), "invalid_request", "tool_choice"),
        (json.dumps({**GO, "metadata": {"a": 1}}), "invalid_request", "metadata"),
        (json.dumps({**GO, "max_output_tokens": 10**40}), "invalid_request", "max_output_tokens"),
        (
            '{"type":"response.create","model":"scripted","input":"x","temperature":1e999}',
            "invalid_request",
            "temperature",
        ),
        (json.dumps({**GO, "previous_response_id": ["a"]}), "invalid_request", "previous_response_id"),
        ('{"type":"response.steer"}', "invalid_request", None),
    ],
)
async def test_errors_have_status_code_and_place(service: Running, frame: str, code: str, param: str | None) -> None:
    async with connected(service) as socket:
        await socket.send(frame)
        error = await socket.read()
        assert error["type"] == "error"
        assert error["status"] == 400
        assert error["error"]["code"] == code
        assert isinstance(error["error"]["message"], str)
        assert error["error"]["type"] == "invalid_request_error"
        if param is not None:
            assert error["error"]["param"] == param
        await socket.response(input="go")


@pytest.mark.rule("ws.ignored")
async def test_what_is_ignored(service: Running) -> None:
    """Events of older versions, `stream`, `stream_options`, and fields that nobody knows."""
    async with connected(service) as socket:
        await socket.send({"type": "response.append", "input": []})
        await socket.send({"type": "response.processed", "response_id": "resp_1"})
        await socket.response(
            input="go",
            stream=True,
            stream_options={"reasoning_summary_delivery": "sequential_cutoff"},
            client_metadata={"a": "b"},
            of_the_future={"x": [1]},
            reasoning=None,
            background=False,
        )


@pytest.mark.rule("ws.binary")
async def test_a_binary_frame_is_an_error(service: Running) -> None:
    async with connected(service) as socket:
        await socket.send(json.dumps(GO).encode())
        error = await socket.read()
        assert (error["status"], error["error"]["code"]) == (400, "invalid_request")
        await socket.response(input="go")


@pytest.mark.rule("ws.size")
async def test_a_frame_of_sixteen_mebibytes_is_served_and_a_larger_one_told_its_limit(service: Running) -> None:
    def frame(size: int) -> str:
        empty = json.dumps({**GO, "generate": False, "store": False, "unknown": ""})
        return empty[:-2] + "x" * (size - len(empty)) + '"}'

    async with connected(service, compression=None) as socket:
        await socket.send(frame(MAX_FRAME_BYTES))
        assert (await socket.finish())[-1]["type"] == "response.completed"
        await socket.send(frame(MAX_FRAME_BYTES + 1))
        error = await socket.read()
        assert (error["status"], error["error"]["code"]) == (413, "message_too_large")
        await socket.response(input="go")


@pytest.mark.rule("ws.size")
async def test_the_limit_counts_bytes(service: Running) -> None:
    text = json.dumps({**GO, "unknown": "€" * (MAX_FRAME_BYTES // 3)}, ensure_ascii=False)
    assert len(text) < MAX_FRAME_BYTES < len(text.encode())
    async with connected(service, compression=None) as socket:
        await socket.send(text)
        assert (await socket.read())["error"]["code"] == "message_too_large"


@pytest.mark.rule("ws.size")
async def test_beyond_the_ceiling_the_connection_is_closed(service: Running) -> None:
    async with connected(service, compression=None) as socket:
        with suppress(ConnectionClosed):
            await socket.send("x" * (FRAME_CEILING_BYTES + 1))
        assert (await socket.closed())[0] == 1009


class RawSocket:
    """A socket below any WebSocket library, for frames that no library would send."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, running: Running) -> RawSocket:
        address = urlsplit(running.url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        lines = [
            "GET /v1/responses HTTP/1.1",
            f"Host: {address.netloc}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            f"Authorization: Bearer {KEY}",
        ]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        async with asyncio.timeout(TIMEOUT_S):
            head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101"), head
        return cls(reader, writer)

    def send(self, opcode: int, payload: bytes, *, fin: bool = True) -> None:
        mask = os.urandom(4)
        head = bytes([(0x80 if fin else 0) | opcode])
        size = len(payload)
        head += bytes([0x80 | size]) if size < 126 else bytes([0x80 | 126]) + struct.pack("!H", size)
        self.writer.write(head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload)))

    async def frame(self) -> tuple[int, bytes]:
        async with asyncio.timeout(TIMEOUT_S):
            first, second = await self.reader.readexactly(2)
            size = second & 0x7F
            if size == 126:
                (size,) = struct.unpack("!H", await self.reader.readexactly(2))
            return first & 0x0F, await self.reader.readexactly(size)

    async def close(self) -> None:
        self.writer.close()


@pytest.mark.rule("ws.utf8")
@pytest.mark.parametrize("payload", [b"\xff\xfe", b'{"type":"\xc3"}', b"\xed\xa0\x80"])
async def test_invalid_utf8_closes_with_1007(service: Running, payload: bytes) -> None:
    raw = await RawSocket.open(service)
    raw.send(1, payload)
    opcode, data = await raw.frame()
    assert opcode == 8
    assert struct.unpack("!H", data[:2])[0] == 1007
    await raw.close()


@pytest.mark.rule("ws.fragments")
async def test_a_message_in_many_fragments(service: Running) -> None:
    raw = await RawSocket.open(service)
    payload = json.dumps({**GO, "generate": False}).encode()
    raw.send(1, payload[:1], fin=False)
    for at in range(1, len(payload) - 1):
        raw.send(0, payload[at : at + 1], fin=False)
    raw.send(0, payload[-1:])
    opcode, data = await raw.frame()
    assert opcode == 1
    assert json.loads(data)["type"] == "response.created"
    await raw.close()


@pytest.mark.rule("ws.ping")
async def test_a_ping_is_answered_while_a_response_runs(service: Running) -> None:
    async with connected(service) as socket:
        await socket.create(model="scripted:slow", input="go", store=False)
        await socket.read_until("response.created")
        async with asyncio.timeout(1):
            await (await socket.connection.ping())


_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_fields = st.dictionaries(
    st.sampled_from(
        [
            "type",
            "model",
            "input",
            "tools",
            "tool_choice",
            "stream_id",
            "previous_response_id",
            "generate",
            "store",
            "text",
        ]
    ),
    _json,
    max_size=6,
)


@pytest.mark.rule("ws.robust")
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_fields.map(lambda fields: {**GO, **fields}), max_size=5))
def test_no_frame_breaks_a_connection(service: Running, frames: list[Any]) -> None:
    """Each frame of any shape is answered or ignored; the next good one is served, and no lane is stuck."""

    async def talk() -> None:
        async with connected(service) as socket:
            for frame in frames:
                await socket.send(json.dumps(frame))
            await socket.create(input="the last", metadata={"last": "yes"}, stream_id=None)
            while True:
                event = await socket.read()
                if event["type"] == "error":
                    assert isinstance(event["status"], int)
                    assert isinstance(event["error"]["code"], str)
                elif event["type"] in ENDS and event["response"]["metadata"].get("last") == "yes":
                    assert event["type"] == "response.completed"
                    return

    asyncio.run(talk())
