"""TCP and WebSocket: who may connect, several clients at once, and what a browser's page can't do."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin, Subprotocol

from agent_core.errors import UsageError
from lsp_server.command import lsp_command
from tests.interaction.lsp.conftest import with_answers
from tests.support.lsp.client import Json, Listening, LspClient, connected_tcp, listening
from tests.support.lsp.puppet import steps
from tests.support.suite.parts import lacking
from tests.support.system.cli import environment, loopline


@pytest.fixture
async def sockets(tmp_path: Path) -> AsyncIterator[Listening]:
    async with listening("--ws", environment(tmp_path), tmp_path) as server:
        yield server


async def test_the_ready_file_tells_address_token_and_process(sockets: Listening, tmp_path: Path) -> None:
    facts = sockets.facts
    assert facts["pid"] == sockets.process.pid and facts["url"].startswith("ws://127.0.0.1:")
    assert len(facts["token"]) >= 32
    assert stat.S_IMODE((tmp_path / "ready--ws.json").stat().st_mode) == 0o600


async def refused(server: Listening, **changes: object) -> int:
    """The status of a handshake that must be refused."""
    options: Json = {"subprotocols": [Subprotocol(f"token.{server.facts['token']}")], **changes}
    with pytest.raises(InvalidStatus) as caught:
        async with connect(server.url, **options):
            raise AssertionError("it was accepted")
    return caught.value.response.status_code


async def test_strangers_are_refused(sockets: Listening) -> None:
    port = sockets.port
    assert await refused(sockets, subprotocols=None) == 401
    assert await refused(sockets, subprotocols=[Subprotocol("token.wrong")]) == 401
    assert await refused(sockets, additional_headers={"Cookie": "loopline_token=wrong"}, subprotocols=None) == 401
    assert await refused(sockets, origin="https://evil.example") == 403
    assert await refused(sockets, origin="http://127.0.0.1.evil.example") == 403
    assert await refused(sockets, origin="null") == 403
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1:1", "127.0.0.1@evil.example"):
        assert await handshake(port, host, str(sockets.facts["token"])) == 421


async def handshake(port: int, host: str, token: str) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        f"GET / HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: {token}\r\n\r\n".encode()
    )
    line = await reader.readline()
    writer.close()
    return int(line.split()[1])


async def test_the_token_comes_as_subprotocol_or_cookie(sockets: Listening) -> None:
    token, page = sockets.facts["token"], Origin("http://localhost:8080")
    cookie = {"Cookie": f"other=1; loopline_token={token}"}
    assert await handshake(sockets.port, f"localhost:{sockets.port}", token) == 101
    async with connect(sockets.url, subprotocols=[Subprotocol(token)]) as socket:
        assert socket.subprotocol == token  # a browser refuses a handshake that chooses none of its offers
    async with connect(sockets.url, subprotocols=[Subprotocol(f"token.{token}"), Subprotocol("loopline")]) as socket:
        assert socket.subprotocol == "loopline"
    async with connect(sockets.url, additional_headers=cookie, origin=page) as socket:
        await socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "shutdown"}))
        assert json.loads(await socket.recv())["error"]["code"] == -32002


async def test_a_binary_message_is_read_like_a_text(sockets: Listening) -> None:
    async with connect(sockets.url, subprotocols=[Subprotocol(sockets.facts["token"])]) as socket:
        await socket.send(b'{"jsonrpc":"2.0","id":1,"method":"x"}')
        answer = await socket.recv()
        assert isinstance(answer, str) and json.loads(answer)["id"] == 1


async def test_clients_do_not_disturb_each_other(shared: Json, root: Path, options: Json) -> None:
    """pygls shares one protocol object between clients: the second takes the first one's answers."""
    port = int(shared["url"].rsplit(":", 1)[1])
    async with connected_tcp(port) as one, connected_tcp(port) as two:
        clients: list[LspClient] = [with_answers(client) for client in (one, two)]
        await asyncio.gather(*(client.initialize(root, options=options) for client in clients))
        ends = await asyncio.gather(
            *(client.turn(steps({"text": f"client {number}"})) for number, client in enumerate(clients))
        )
        assert [end["text"] for end in ends] == ["client 0", "client 1"]
        assert ends[0]["sessionId"] != ends[1]["sessionId"]
        assert one.events("turn.finished") == [ends[0]] and two.events("turn.finished") == [ends[1]]
        await one.shutdown()
        await one.until(one.ended.is_set)
        assert (await two.turn(steps({"text": "still here"})))["text"] == "still here"


async def test_a_page_cannot_post_to_the_tcp_port(shared: Json, tmp_path: Path) -> None:
    """An HTTP request looks like a frame: headers, a blank line, a body. It must not be read as one."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}).encode()
    for first in (b"POST / HTTP/1.1", b"POST /a:b HTTP/1.1"):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(shared["url"].rsplit(":", 1)[1]))
        writer.write(
            first + b"\r\nHost: x\r\nOrigin: https://evil.example\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )
        async with asyncio.timeout(30):
            assert await reader.read() == b""
        writer.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stdio": True, "tcp": "127.0.0.1:0"}, "exclude"),
        ({"tcp": "127.0.0.1:0", "ws": "127.0.0.1:0"}, "exclude"),
        ({"tcp": "127.0.0.1"}, "HOST:PORT"),
        ({"tcp": "127.0.0.1:99999"}, "HOST:PORT"),
        ({"ws": "0.0.0.0:0"}, "loopback"),
        ({"tcp": "0.0.0.0:0"}, "loopback"),
        ({"tcp": "no.such.host.invalid:0"}, "no host"),
        ({"stdio": True, "ready_file": Path("x")}, "--ready-file"),
    ],
)
def test_options_that_cannot_be_are_named(options: Json, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        given: Json = {"stdio": False, "tcp": None, "ws": None, "ready_file": None} | options
        lsp_command(**given)


def test_the_command_line_has_it(tmp_path: Path) -> None:
    done = loopline("lsp", "--tcp", "0.0.0.0:0", env=environment(tmp_path))
    assert done.code == 2 and "loopback" in done.err


async def test_a_signal_ends_it_though_an_editor_is_there(sockets: Listening) -> None:
    async with sockets.client() as client:
        await client.initialize(None)
        os.kill(sockets.process.pid, 15)
        async with asyncio.timeout(30):
            assert await sockets.process.wait() == 0


def other_user(code: str) -> str:
    """What a program of another user prints."""
    python = "/usr/bin/python3"
    if os.geteuid() != 0 or not os.access(python, os.X_OK):
        lacking("root")
    done = subprocess.run(
        [python, "-c", code], user=65534, group=65534, extra_groups=[], capture_output=True, text=True
    )
    return done.stdout + done.stderr


async def test_over_tcp_only_this_user_is_let_in(tmp_path: Path) -> None:
    async with listening("--tcp", environment(tmp_path), tmp_path) as server:
        async with connected_tcp(server.port) as client:
            await client.initialize(tmp_path)
        for address in ("127.0.0.1", "::ffff:127.0.0.1"):
            code = f"import socket; s = socket.create_connection(({address!r}, {server.port}), 20); s.settimeout(20)\n"
            body = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}'
            code += f"s.sendall(b'Content-Length: {len(body)}\\r\\n\\r\\n' + {body.encode()!r})\n"
            code += "try: print('heard', s.recv(9))\nexcept OSError: print('heard', b'')"
            assert "heard b''" in await asyncio.to_thread(other_user, code)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs linux")
async def test_no_key_stays_in_the_environment_that_other_processes_can_read(tmp_path: Path) -> None:
    keys = {"OPENAI_API_KEY": "sk-one", "LOOPLINE_UPSTREAM_KEY": "sk-two", "NPM_TOKEN": "three", "PLAIN": "four"}
    async with listening("--tcp", environment(tmp_path, **keys), tmp_path) as server:
        shown = Path(f"/proc/{server.process.pid}/environ").read_bytes()
    assert b"PLAIN=four" in shown and b"OPENAI_API_KEY=\0" in shown
    assert not any(value in shown for value in (b"sk-one", b"sk-two", b"three"))
    done = await asyncio.to_thread(loopline, "auth", "status", env=environment(tmp_path, **keys))
    assert "OPENAI_API_KEY" in done.out, "it is used all the same"
