"""Frames that are wrong, large, or not what they should be: an error each, and the connection goes on."""

from __future__ import annotations

import asyncio
import json
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from agent_core.responses_server.settings import FRAME_CEILING_BYTES, MAX_FRAME_BYTES
from tests.support.service.raw import RawSocket
from tests.support.service.running import ENDLESS, TIMEOUT_S, Running, connected, playing

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
async def test_a_ping_is_answered_while_a_response_runs(tmp_path: Path) -> None:
    with playing(tmp_path, ENDLESS) as service:
        async with connected(service) as socket:
            await socket.create(input="go", store=False)
            await socket.read_until("response.output_text.delta")
            async with asyncio.timeout(TIMEOUT_S):
                await (await socket.connection.ping())
