"""The service as a process: ready file, signals, a parent that dies, exit codes, what is left on disk."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import stat
import sys
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from websockets.asyncio.client import connect

from tests.support.engines.upstream_server import CHAT_USAGE, Answer, chunk, upstream
from tests.support.service.running import ENDLESS, Child, child_service, connected, http_client
from tests.support.system.waiting import eventually

SLOW = {"model": "scripted:slow", "input": "go", "store": False}


@pytest.mark.rule("process.ready")
@pytest.mark.rule("ws.drain")
async def test_ready_file_and_a_clean_end(tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with child_service(tmp_path, state_dir=state) as child:
        ready = json.loads(child.ready_file.read_text())
        assert ready == {"url": child.url, "pid": child.process.pid}
        assert stat.S_IMODE(child.ready_file.stat().st_mode) == 0o600
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
        async with connected(child.running) as socket:
            response = await socket.response(input="remember", metadata={"a": "b"})
            child.process.send_signal(signal.SIGTERM)
            assert await socket.closed() == (1001, "server shutting down")
        assert await child.ended() == 0
    with closing(sqlite3.connect(state / "responses.db")) as store:
        assert store.execute("SELECT id FROM responses").fetchall() == [(response["id"],)]
    assert list((state / "telemetry").glob("*.db"))


@pytest.mark.rule("process.store")
async def test_stored_responses_outlive_the_process(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/shared.db"
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    async with child_service(tmp_path / "one", store=store) as first:
        async with connected(first.running) as socket:
            response = await socket.response(input="remember me " * 20)
        first.process.send_signal(signal.SIGTERM)
        assert await first.ended() == 0
    async with child_service(tmp_path / "two", store=store) as second, connected(second.running) as socket:
        again = await socket.response(input="and?", previous_response_id=response["id"])
        assert again["usage"]["input_tokens"] > response["usage"]["input_tokens"]


@pytest.mark.rule("process.signal")
@pytest.mark.rule("ws.drain")
async def test_a_signal_lets_what_runs_end(tmp_path: Path) -> None:
    """The model, a server elsewhere, goes on when the test has seen how the service drains."""
    held = Answer(events=[chunk(content="a ")], rest=[chunk(content="b"), chunk("stop"), CHAT_USAGE, "[DONE]"])
    async with (
        upstream(chat=held) as model,
        child_service(tmp_path, engines={"far": f"upstream:{model.url}#m"}) as child,
    ):
        async with connected(child.running) as socket, connected(child.running) as idle:
            await socket.create(model="far", input="go")
            await socket.read_until("response.output_text.delta")
            child.process.send_signal(signal.SIGTERM)
            assert (await idle.closed())[0] == 1001
            late = await late_status(child)
            assert late in (503, None)
            await socket.create(input="too late")
            held.go_on.set()
            assert (await socket.finish())[-1]["type"] == "response.completed"
            error = await socket.read()
            assert (error["status"], error["error"]["code"]) == (503, "server_is_overloaded")
            assert error["error"]["headers"]["retry-after"] == "1"
            assert (await socket.closed())[0] == 1001
        assert await child.ended() == 0


def endless(folder: Path) -> Path:
    path = folder / "endless.json"
    path.write_text(json.dumps(ENDLESS))
    return path


async def late_status(child: Child) -> int | None:
    """Status of a request that comes while the service drains; None if it does not even listen any more."""
    async with http_client(child.running) as client:
        try:
            return (await client.post("/responses", json={"model": "scripted", "input": "x"})).status_code
        except (OSError, httpx.TransportError):
            return None


@pytest.mark.rule("process.signal")
async def test_the_grace_is_bounded(tmp_path: Path) -> None:
    async with (
        child_service(tmp_path, rollout_file=endless(tmp_path), shutdown_grace_s=0.2) as child,
        connected(child.running) as socket,
    ):
        await socket.create(input="go", store=False)
        await socket.read_until("response.output_text.delta")
        child.process.send_signal(signal.SIGTERM)
        assert await child.ended() == 0
        assert await socket.closed() == (1001, "server shutting down"), "it did not wait for what runs"


@pytest.mark.rule("process.signal")
async def test_a_second_signal_ends_at_once(tmp_path: Path) -> None:
    async with (
        child_service(tmp_path, rollout_file=endless(tmp_path), shutdown_grace_s=3600) as child,
        connected(child.running) as socket,
    ):
        await socket.create(input="go", store=False)
        await socket.read_until("response.output_text.delta")
        child.process.send_signal(signal.SIGINT)
        await late_status(child)
        child.process.send_signal(signal.SIGINT)
        await child.ended()


@pytest.mark.rule("process.parent")
async def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    async with child_service(tmp_path, rollout_file=endless(tmp_path)) as child, connected(child.running) as socket:
        for lane in ("a", "b", "c"):
            await socket.create(input="go", store=False, stream_id=lane)
        await socket.read_until("response.output_text.delta")
        child.let_go()
        await child.ended()


@pytest.mark.rule("process.parent")
async def test_it_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    """The real thing: a parent with the pipe's write end, killed without a chance to clean up."""
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    parent = await asyncio.create_subprocess_exec(
        *("python3", str(script)), stdout=asyncio.subprocess.PIPE, env={**os.environ, "READY": str(tmp_path / "r.json")}
    )
    assert parent.stdout is not None
    async with asyncio.timeout(60):
        pid = int(await parent.stdout.readline())
        parent.kill()
        await parent.wait()
        await eventually(lambda: not alive(pid))


PARENT = f"""
import json, os, subprocess, sys, time
read_end, write_end = os.pipe()
settings = json.dumps({{"ready_file": os.environ["READY"], "parent_pipe_fd": read_end}})
code = (
    "import sys; from tests.support.service.running import settings_from_json;"
    "from agent_core.responses_server.app import serve; sys.exit(serve(settings_from_json(sys.argv[1])))"
)
command = [{sys.executable!r}, "-c", code, settings]
child = subprocess.Popen(command, pass_fds=[read_end], cwd={str(Path(__file__).parents[3])!r})
os.close(read_end)
while not os.path.exists(os.environ["READY"]):
    time.sleep(0.01)
print(child.pid, flush=True)
time.sleep(60)
"""


def alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and was not waited for counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.rule("process.rollout")
@pytest.mark.parametrize(("calls", "code"), [(2, 0), (1, 1)])
async def test_a_rollout_that_was_not_played_to_its_end_fails_the_process(
    tmp_path: Path, calls: int, code: int
) -> None:
    rollout = tmp_path / "rollout.json"
    rollout.write_text(json.dumps({"steps": [{"output": [{"text": "one"}]}, {"output": [{"text": "two"}]}]}))
    async with child_service(tmp_path, rollout_file=rollout) as child:
        async with connected(child.running) as socket:
            previous: dict[str, str] = {}
            for _ in range(calls):
                response = await socket.response(input="go", store=False, **previous)
                previous = {"previous_response_id": response["id"]}
        child.process.send_signal(signal.SIGTERM)
        assert await child.ended() == code


@pytest.mark.rule("process.start")
async def test_a_service_that_can_not_start_says_why(tmp_path: Path) -> None:
    """203.0.113.0/24 is for documentation: no machine has it."""
    async with child_service(tmp_path, host="203.0.113.1") as child:
        assert await child.ended() == 1
        assert not child.ready_file.exists()
        assert child.process.stderr is not None
        assert b"ConfigError" in await child.process.stderr.read()


@pytest.mark.rule("process.log")
async def test_no_key_and_no_content_in_the_log(tmp_path: Path) -> None:
    secret = "the-secret-words"
    async with child_service(tmp_path) as child:
        async with connected(child.running) as socket:
            await socket.response(input=secret, instructions=secret)
            await socket.send('{"type":"response.create","input":[{"type":"' + secret + '"}]}')
            await socket.read()
        with pytest.raises(Exception, match="401"):
            async with connect(child.running.ws_url, additional_headers={"Authorization": f"Bearer {secret}"}):
                pass
        child.process.send_signal(signal.SIGTERM)
        await child.ended()
        assert child.process.stderr is not None
        assert secret.encode() not in await child.process.stderr.read()


@pytest.mark.rule("process.store")
async def test_a_store_that_can_not_be_opened(tmp_path: Path) -> None:
    (tmp_path / "broken.db").mkdir()
    async with child_service(tmp_path, store=f"sqlite:///{tmp_path}/broken.db") as child:
        assert await child.ended() == 1
        assert not child.ready_file.exists()
        assert child.process.stderr is not None
        said = await child.process.stderr.read()
    assert b"StateError" in said
    assert b"broken.db" in said
