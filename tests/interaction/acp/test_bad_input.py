"""What is no message, no method, or comes out of order: each is refused by its own number, and the process goes on."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.acp.client import AcpClient, AcpError, agent
from tests.support.lsp.puppet import puppet, puppet_env, steps

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AcpClient]:
    home = tmp_path_factory.mktemp("home")
    async with puppet() as model, agent(puppet_env(home, model)) as client:
        with pytest.raises(AcpError) as early:
            await client.ask("session/list")
        assert early.value.code == -32600
        await client.initialize()
        yield client


LINES: dict[bytes, tuple[int, Any]] = {
    b"{": (-32700, None),
    b"hello": (-32700, None),
    b"\xff\xfe\x00": (-32700, None),
    b"[" * 100_000: (-32700, None),
    b"[]": (-32600, None),
    b"null": (-32600, None),
    b'"text"': (-32600, None),
    b"{}": (-32600, None),
    b'{"jsonrpc":"2.0","id":7}': (-32600, 7),
    b'{"jsonrpc":"2.0","id":[1],"method":"session/list"}': (-32600, None),
    b'{"jsonrpc":"2.0","id":true,"method":"session/list"}': (-32600, None),
    b'{"jsonrpc":"2.0","id":8,"method":["initialize"]}': (-32600, 8),
    b'{"jsonrpc":"2.0","id":{},"result":{}}': (-32600, None),
    b'{"jsonrpc":"2.0","id":9,"method":"session/dance"}': (-32601, 9),
    b'{"jsonrpc":"2.0","id":"ten","method":"_vendor/thing","params":{}}': (-32601, "ten"),
    b'{"jsonrpc":"2.0","id":11,"method":"session/cancel","params":{"sessionId":"s"}}': (-32601, 11),
    b'{"jsonrpc":"2.0","id":12,"method":"session/new"}': (-32602, 12),
    b'{"jsonrpc":"2.0","id":13,"method":"session/new","params":[1]}': (-32602, 13),
    b'{"jsonrpc":"2.0","id":14,"method":"session/prompt","params":{"sessionId":"sess_none","prompt":[]}}': (-32602, 14),
    b'{"jsonrpc":"2.0","id":15,"method":"session/set_mode","params":{"sessionId":"x","modeId":"ask"}}': (-32602, 15),
    b'{"jsonrpc":"2.0","id":16,"method":"session/close","params":{"sessionId":"\\ud800"}}': (-32602, 16),
    b'{"jsonrpc":"2.0","id":17,"method":"initialize","params":{}}': (-32602, 17),
}


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[:60].decode("latin-1"))
async def test_a_line_that_is_refused(client: AcpClient, line: bytes) -> None:
    before = len(client.answers)
    await client.raw(line + b"\n")
    answer = await client.until(lambda: client.answers[before:])
    assert (answer[0]["error"]["code"], answer[0]["id"]) == LINES[line]
    assert "sessions" in await client.ask("session/list")


async def test_what_nobody_answers(client: AcpClient) -> None:
    """Answers to nothing, notifications that are none of ours, empty lines."""
    before = len(client.answers)
    for line in (
        b"",
        b"   ",
        b'{"jsonrpc":"2.0","id":99999,"result":{}}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}',
        b'{"jsonrpc":"2.0","id":"a","error":"wrong"}',
        b'{"jsonrpc":"2.0","method":"$/unheard","params":[]}',
        b'{"jsonrpc":"2.0","method":"session/prompt","params":{}}',
        b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"none"}}',
        b'{"jsonrpc":"2.0","method":"session/cancel"}',
    ):
        await client.raw(line + b"\r\n")
    await client.ask("session/list")
    assert len(client.answers) == before + 1


async def test_a_line_in_pieces_and_many_in_one(client: AcpClient) -> None:
    line = json.dumps({"jsonrpc": "2.0", "id": 70_001, "method": "session/list", "params": {}}).encode()
    for at in range(0, len(line), 7):
        await client.raw(line[at : at + 7])
    await client.raw(b"\n" + line.replace(b"70001", b"70002") + b"\n{\n" + line.replace(b"70001", b"70003") + b"\n")
    wanted = {70_001, 70_002, 70_003}
    await client.until(lambda: wanted <= {each["id"] for each in client.answers if isinstance(each["id"], int)})


async def test_text_that_is_no_unicode_gets_through(client: AcpClient, tmp_path: Path) -> None:
    session = await client.new(tmp_path)
    text = steps({"text": "fine"}) + "\nlone \ud800 half"
    assert (await client.prompt(session, text))["stopReason"] == "end_turn"
    assert client.text(session) == "fine"
