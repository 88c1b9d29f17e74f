"""The first message: what a client offers, and that its answer waits for nothing that loads slowly."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from acp import schema
from hypothesis import given
from hypothesis import strategies as st

from agent_core.errors import UsageError
from lsp_server.acp.greeting import MAX_FIRST_BYTES, PROTOCOL_VERSION, Abilities, Opening, abilities_of, welcome


def hello(**params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode() + b"\n"


class Pieces:
    """A source of bytes, in pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)

    async def __call__(self) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""


@pytest.mark.parametrize(
    ("offered", "can"),
    [
        (None, Abilities()),
        ({}, Abilities()),
        ({"fs": None, "terminal": None, "elicitation": None}, Abilities()),
        ({"fs": {"readTextFile": True}}, Abilities(reads=True)),
        ({"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}, Abilities(True, True, True)),
        ({"elicitation": {"form": {}}, "more": [1]}, Abilities(forms=True)),
        ({"elicitation": {"url": {}}}, Abilities()),
    ],
)
def test_what_a_client_offers(offered: Any, can: Abilities) -> None:
    params = {"protocolVersion": 1, "clientCapabilities": offered, "clientInfo": {"name": "x", "version": "1"}}
    assert abilities_of(params) == can
    schema.InitializeRequest.model_validate(params)


@pytest.mark.parametrize(
    "params", [None, [], {}, {"protocolVersion": "1"}, {"protocolVersion": -1}, {"protocolVersion": 70_000}]
)
def test_what_is_no_initialize(params: Any) -> None:
    with pytest.raises(UsageError):
        abilities_of(params)


def test_the_welcome_is_the_protocols() -> None:
    from acp.meta import PROTOCOL_VERSION as OF_THE_SDK

    assert PROTOCOL_VERSION == OF_THE_SDK
    schema.InitializeResponse.model_validate(welcome())


@given(st.integers(0, 400), st.integers(0, 400))
def test_any_cut_of_the_bytes_gives_the_same(one: int, two: int) -> None:
    first, rest = hello(protocolVersion=1), b'{"jsonrpc":"2.0","id":2,"method":"session/list"}\n{"jso'
    data = first + rest
    cuts = sorted({0, min(one, len(data)), min(two, len(data)), len(data)})

    async def read() -> tuple[bytes, bytes, Abilities | None]:
        opening = Opening(Pieces(*(data[a:b] for a, b in zip(cuts, cuts[1:], strict=False))))
        answer, left = await opening.answer(), b""
        while piece := await opening.read():
            left += piece
        return answer, left, opening.can

    coroutine = read()
    with pytest.raises(StopIteration) as done:  # nothing in it waits
        coroutine.send(None)
    answer, left, can = done.value.value
    assert json.loads(answer)["result"] == welcome() and left == rest and can == Abilities()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"hello\n",
        b'{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":1}}\n',
        b'{"jsonrpc":"2.0","id":[],"method":"initialize","params":{"protocolVersion":1}}\n',
        hello(),
        hello(protocolVersion=1).rstrip(),
        b'{"jsonrpc":"2.0","id":1,"method":"session/list"}\n' + hello(protocolVersion=1),
        hello(protocolVersion=1, more="x" * MAX_FIRST_BYTES),
    ],
    ids=lambda data: data[:40].decode(),
)
async def test_anything_else_is_left_to_the_agent(data: bytes) -> None:
    opening = Opening(Pieces(data))
    assert await opening.answer() == b"" and opening.can is None
    assert await opening.read() == data


def test_it_loads_neither_the_sdk_nor_the_agent() -> None:
    text = (
        "import sys, lsp_server.acp.command\n"
        "heavy = ('acp', 'pydantic', 'agent_core.hosting', 'agent_core.agent', 'agent_core.tools', 'mcp')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[]"
