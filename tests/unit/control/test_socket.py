"""The control socket over a real Unix socket: who may use it, what it answers, what a slow client costs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.control.client import ControlClient, find_hosts
from agent_core.control.messages import (
    MAX_LINE,
    ControlError,
    EventMessage,
    Gap,
    Hello,
    Refused,
    UpdateMessage,
    read_message,
)
from agent_core.control.server import MAX_CLIENTS, ControlServer
from agent_core.control.sockets import clean_stale, dial, key_file, list_sockets, make_private_dir
from agent_core.tools.commands.process_family import MARK, of_a_command
from tests.support.agent.control import HandHost

WAIT_S = 10.0
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run" / "loopline"


@contextlib.asynccontextmanager
async def serving(folder: Path, host: HandHost) -> AsyncIterator[tuple[ControlServer, ControlClient]]:
    async with (
        asyncio.timeout(WAIT_S),
        ControlServer(folder, host.handlers()) as server,
        ControlClient(server.path) as client,
    ):
        yield server, client


async def raw_lines(server: ControlServer, *sent: bytes, replies: int) -> list[bytes]:
    """Lines that the server sends to a client which writes `sent`; stops after `replies` or at the end."""
    reader, writer = await asyncio.open_unix_connection(sock=dial(server.path))
    try:
        for line in sent:
            writer.write(line)
        lines: list[bytes] = []
        while len(lines) < replies and (line := await reader.readline()):
            lines.append(line)
        return lines
    finally:
        writer.transport.abort()


async def test_only_the_user_can_reach_the_socket_and_nothing_stays_behind(folder: Path) -> None:
    async with serving(folder, HandHost()) as (server, client):
        assert stat.S_IMODE(server.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert client.pid == os.getpid()
    assert list(folder.iterdir()) == []


async def test_a_start_that_is_cancelled_leaves_nothing_to_the_loop(folder: Path) -> None:
    """Another session that opens just then knocks to see whether somebody is there."""
    wrong: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: wrong.append(str(context)))
    starting = asyncio.create_task(ControlServer(folder, HandHost().handlers()).__aenter__())
    await asyncio.sleep(0)  # it listens now, and gives the loop a turn
    (path,) = list_sockets(folder)
    with socket.socket(socket.AF_UNIX) as knocking:
        knocking.connect(str(path))
        assert not starting.done()
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        await asyncio.sleep(0)
    assert wrong == [] and list(folder.iterdir()) == []


async def test_nobody_comes_in_without_the_key(folder: Path) -> None:
    async with serving(folder, HandHost()) as (server, _):
        assert key_file(server.path).stat().st_mode & 0o777 == 0o600
        for sent in (b"", b"\n", b"0" * 64 + b"\n", b'{"type":"list","id":1}\n', key_file(server.path).read_bytes()):
            with socket.socket(socket.AF_UNIX) as plain:
                plain.connect(str(server.path))
                plain.sendall(sent)
                plain.shutdown(socket.SHUT_WR)
                plain.setblocking(False)
                reader, writer = await asyncio.open_unix_connection(sock=plain)
                answer = await reader.read()
                writer.transport.abort()
            assert b"control_refused" in answer and b"hello" not in answer


async def test_a_command_of_ours_does_not_come_in_with_the_key_either(folder: Path) -> None:
    """Also from a child in a session of its own, and where the socket was handed on."""
    async with asyncio.timeout(WAIT_S), ControlServer(folder, HandHost().handlers(), of_a_command) as server:
        async with ControlClient(server.path) as client:
            assert await client.list_sessions() is not None
        text = (
            "import asyncio, os; from pathlib import Path; from agent_core.control.client import ControlClient\n"
            "os.setsid() if os.fork() == 0 else os._exit(os.waitstatus_to_exitcode(os.wait()[1]))\n"
            f"asyncio.run(ControlClient(Path({str(server.path)!r})).__aenter__())"
        )
        environment = {**os.environ, MARK: "x.1"}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", text, env=environment, cwd=ROOT, stderr=asyncio.subprocess.PIPE
        )
        _, said = await process.communicate()
        assert b"not let in" in said, said


async def test_a_folder_of_others_is_refused_and_an_open_one_is_closed(folder: Path, tmp_path: Path) -> None:
    folder.mkdir(parents=True, mode=0o755)
    folder.chmod(0o755)
    make_private_dir(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    link = tmp_path / "link"
    link.symlink_to(folder)
    with pytest.raises(ControlError):
        make_private_dir(link)


async def test_list_answer_cancel_and_steer_reach_the_host(folder: Path) -> None:
    host = HandHost()
    async with serving(folder, host) as (_, client):
        [session] = await client.list_sessions()
        assert session.turns[0].title == "fix date parsing"
        assert session.approvals[0].subject == "rm -rf build"
        await client.answer("appr_1", "allow", by="test")
        await client.cancel("turn_1")
        steered = await client.steer("turn_1", "use zoneinfo")
    assert (steered.input_id, steered.fate) == ("in_1", "steered")
    assert (host.answers, host.cancelled) == ([("appr_1", "allow")], ["turn_1"])
    assert host.steered == [("turn_1", "use zoneinfo")]


async def test_turns_are_started_and_undone_over_the_socket(folder: Path) -> None:
    host = HandHost()
    async with serving(folder, host) as (_, client):
        assert (await client.start("sess_1", "fix it")).turn == "turn_2"
        assert (await client.start("sess_1", "fix it", turn="turn_mine")).turn == "turn_mine"
        said = await client.say("sess_1", "and the docs")
        undone = await client.undo("sess_1", "turn_1", conversation=True)
        await client.compact("sess_1")
    assert (said.turn, said.fate, said.input_id) == ("turn_2", "started", None)
    assert host.started == [
        ("sess_1", "fix it", None), ("sess_1", "fix it", "turn_mine"), ("sess_1", "and the docs", None),
    ]  # fmt: skip
    assert (host.undone[0].turn, host.undone[0].files, host.undone[0].conversation) == ("turn_1", True, True)
    assert host.compacted == ["sess_1"]
    assert (undone.undo, undone.restored[0].what, undone.conflicts[0].first) == ("undo_1", "changed", 3)


async def test_telemetry_comes_to_those_who_asked_and_is_numbered_with_the_updates(folder: Path) -> None:
    host = HandHost()
    async with serving(folder, host) as (server, client), ControlClient(server.path) as plain:
        with_events, without = await client.attach("sess_1", events=True), await plain.attach("sess_1")
        host.push({"n": 1})
        host.push_event({"type": "call.sent"})
        host.push({"n": 2})
        server.end_session("sess_1")
        seen = [
            (item.seq, bytes(item.update if isinstance(item, UpdateMessage) else item.event))
            async for item in with_events
            if not isinstance(item, Gap)
        ]
        assert seen == [(1, b'{"n":1}'), (2, b'{"type":"call.sent"}'), (3, b'{"n":2}')]
        assert [item.seq async for item in without if isinstance(item, UpdateMessage | EventMessage)] == [1, 2]


async def test_the_hosts_error_keeps_its_code(folder: Path) -> None:
    async with serving(folder, HandHost()) as (_, client):
        await client.answer("appr_1", "deny", by="test")
        with pytest.raises(ControlError) as told:
            await client.answer("appr_1", "allow", by="test")
        assert told.value.code == "control_not_found"
        with pytest.raises(ControlError) as told:
            await client.attach("sess_elsewhere")
        assert told.value.code == "control_not_found"
        assert len(await client.list_sessions()) == 1, "the connection goes on"


async def test_attached_clients_get_updates_in_order_until_the_session_ends(folder: Path) -> None:
    host = HandHost()
    async with serving(folder, host) as (server, client), ControlClient(server.path) as other:
        first, second = await client.attach("sess_1"), await other.attach("sess_1")
        for number in range(50):
            host.push({"n": number})
        server.end_session("sess_1")
        for attachment in (first, second):
            updates = [item async for item in attachment]
            assert [bytes(item.update) for item in updates if isinstance(item, UpdateMessage)] == [
                b'{"n":%d}' % number for number in range(50)
            ]
            assert [item.seq for item in updates if isinstance(item, UpdateMessage)] == list(range(1, 51))


async def test_a_client_that_leaves_is_detached(folder: Path) -> None:
    host = HandHost()
    async with serving(folder, host) as (server, _):
        async with ControlClient(server.path) as leaving:
            await leaving.attach("sess_1")
        await host.left.wait()
    assert host.pushes == []


async def test_a_client_that_does_not_read_loses_updates_and_is_told(folder: Path) -> None:
    host = HandHost()
    async with serving(folder, host) as (server, client):
        reader, writer = await asyncio.open_unix_connection(sock=dial(server.path), limit=MAX_LINE)
        writer.write(b'{"op":"attach","id":1,"session":"sess_1"}\n')
        await reader.readline()
        await reader.readline()
        for number in range(20_000):
            host.push({"n": number, "text": "x" * 500})
            if number % 1_000 == 0:
                await asyncio.sleep(0)
        host.push({"n": "last"})
        seen, lost = 0, 0
        while True:
            message = read_message(await reader.readline())
            if isinstance(message, Gap):
                lost += message.lost
            elif isinstance(message, UpdateMessage):
                seen += 1
                if b'"last"' in bytes(message.update):
                    break
        writer.transport.abort()
        assert lost > 10_000
        assert seen + lost == 20_001
        assert len(await client.list_sessions()) == 1, "others are served meanwhile"


async def test_bad_messages_are_refused_and_the_connection_goes_on(folder: Path) -> None:
    async with serving(folder, HandHost()) as (server, _):
        lines = await raw_lines(
            server,
            b"nonsense\n",
            b"[1]\n",
            b'{"op":"reboot","id":7}\n',
            b'{"op":"answer","id":8,"approval":"a","decision":"yes"}\n',
            b'{"op":"list","id":9}\n',
            replies=6,
        )
    hello, *replies = [read_message(line) for line in lines]
    assert isinstance(hello, Hello)
    refused = [reply for reply in replies if isinstance(reply, Refused)]
    assert [(reply.id, reply.code) for reply in refused] == [
        (None, "control_bad_message"),
        (None, "control_bad_message"),
        (7, "control_unsupported"),
        (8, "control_bad_message"),
    ]
    assert b'"sess_1"' in lines[-1]


async def test_an_endless_line_ends_the_connection(folder: Path) -> None:
    async with serving(folder, HandHost()) as (server, _):
        lines = await raw_lines(server, b"x" * (MAX_LINE + 10), replies=3)
    message = read_message(lines[-1])
    assert isinstance(message, Refused)
    assert message.code == "control_bad_message"
    assert len(lines) == 2


async def test_there_is_a_limit_of_clients(folder: Path) -> None:
    async with contextlib.AsyncExitStack() as stack:
        server, client = await stack.enter_async_context(serving(folder, HandHost()))
        for _ in range(MAX_CLIENTS - 1):
            await stack.enter_async_context(ControlClient(server.path))
        one_more = await stack.enter_async_context(ControlClient(server.path))
        with pytest.raises(ControlError):
            await one_more.list_sessions()
        assert len(await client.list_sessions()) == 1


async def test_a_lost_host_ends_requests_and_attachments(folder: Path) -> None:
    host = HandHost()
    async with asyncio.timeout(WAIT_S):
        server = ControlServer(folder, host.handlers())
        await server.__aenter__()
        async with ControlClient(server.path) as client:
            attachment = await client.attach("sess_1")
            await server.__aexit__(None, None, None)
            assert [item async for item in attachment] == []
            with pytest.raises(ControlError) as told:
                await client.list_sessions()
    assert told.value.code == "control_gone"


def listening_process(folder: Path) -> subprocess.Popen[str]:
    program = (
        "import sys, time, pathlib; from agent_core.control.sockets import listen\n"
        "s, p = listen(pathlib.Path(sys.argv[1])); print(p, flush=True); time.sleep(60)"
    )
    return subprocess.Popen([sys.executable, "-c", program, str(folder)], stdout=subprocess.PIPE, text=True)


async def test_a_killed_hosts_socket_is_found_stale_and_removed(folder: Path) -> None:
    with listening_process(folder) as process:
        assert process.stdout is not None
        path = Path(process.stdout.readline().strip())
        assert clean_stale(folder) == [], "a living one stays"
        process.kill()
    with pytest.raises(ControlError) as told:
        dial(path)
    assert told.value.code == "control_gone"
    assert await find_hosts(folder) == []
    (folder / "999999999-0badcafe.new").touch()
    async with serving(folder, HandHost()) as (server, _):
        assert sorted(folder.iterdir()) == [key_file(server.path), server.path]


async def test_hosts_are_found_with_their_sessions(folder: Path) -> None:
    assert await find_hosts(folder) == []
    async with serving(folder, HandHost("sess_a")) as (first, _), serving(folder, HandHost("sess_b")) as (second, _):
        deaf = socket.socket(socket.AF_UNIX)
        deaf.bind(str(folder / "1-deadbeef.sock"))
        deaf.close()
        found = await find_hosts(folder)
        assert {host.path: host.sessions[0].session for host in found} == {first.path: "sess_a", second.path: "sess_b"}
        assert len(list_sockets(folder)) == 3


async def test_a_path_too_long_for_a_socket_address_works_all_the_same(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30) / "loopline"
    async with serving(folder, HandHost()) as (server, client):
        assert len(str(server.path)) > 108
        assert len(await client.list_sessions()) == 1


async def test_a_host_that_hangs_does_not_hide_the_others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_core.control.client.LOOK_S", 0.2)
    async with serving(folder, HandHost()) as (server, _):
        hanging = socket.socket(socket.AF_UNIX)
        hanging.bind(str(folder / "1-0000beef.sock"))
        hanging.listen()
        try:
            assert [host.path for host in await find_hosts(folder)] == [server.path]
        finally:
            hanging.close()
