"""A client that goes, is silent or reads nothing: the process ends with it, and its turns are kept."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from pathlib import Path

import pytest

from tests.support.acp.client import AcpError, agent, prompting
from tests.support.lsp.puppet import puppet, puppet_env, steps
from tests.support.system.cli import environment, loopline
from tests.support.system.processes import wait_until_none

pytestmark = pytest.mark.timeout(300)


async def test_it_ends_with_its_client_and_the_turn_can_be_resumed(tmp_path: Path) -> None:
    async with puppet() as model:
        env = puppet_env(tmp_path / "home", model)
        async with agent(env) as client:
            await client.initialize()
            session = await client.new(tmp_path)
            await client.prompt(session, steps({"text": "First."}))
            turn = client.begin("session/prompt", prompting(session, steps({"hold": "gone"})))[1]
            await model.reached("gone")
            assert client.process.stdin is not None
            client.process.stdin.close()
            assert await client.ended() == 0
            assert turn.cancelled() or (await turn)["stopReason"] == "cancelled"
        async with agent(env) as client:
            await client.initialize()
            terms = {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []}
            await client.ask("session/load", terms)
            assert client.text(session).startswith("First.")
            assert (await client.prompt(session, steps({"text": "Third."})))["stopReason"] == "end_turn"


async def test_a_signal_ends_it_and_nothing_is_left(tmp_path: Path) -> None:
    async with puppet() as model, agent(puppet_env(tmp_path / "home", model)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        command = {"call": "shell", "args": {"command": f"echo {tmp_path}; exec sleep 300"}}
        client.begin("session/prompt", prompting(session, steps(command)))[1].cancel()
        await client.until(lambda: any("tool_call_update" in str(each) for each in client.updates))
        client.process.send_signal(signal.SIGTERM)
        assert await client.ended() == 0
    assert wait_until_none(tmp_path, 10) == {}


async def test_a_silent_client_holds_one_turn_and_nothing_else(tmp_path: Path) -> None:
    """It never answers a permission: another session goes on, and what it asked can be cancelled."""
    async with puppet() as model, agent(puppet_env(tmp_path / "home", model)) as client:
        await client.initialize()
        client.handlers["session/request_permission"] = lambda params: asyncio.Event().wait()  # type: ignore[assignment, return-value]
        held, free = await client.new(tmp_path), await client.new(tmp_path)
        call = {"call": "shell", "args": {"command": "true"}}
        turn = client.begin("session/prompt", prompting(held, steps(call)))[1]
        await client.until(lambda: client.asked)
        assert (await client.prompt(free, steps({"text": "Free."})))["stopReason"] == "end_turn"
        await client.notify("session/cancel", {"sessionId": held})
        assert (await asyncio.wait_for(turn, 60))["stopReason"] == "cancelled"


async def test_a_service_that_is_not_there_is_an_answer(tmp_path: Path) -> None:
    env = environment(tmp_path / "home", LOOPLINE_BASE_URL="http://127.0.0.1:9/v1", LOOPLINE_MODEL="none")
    async with agent(env) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        with pytest.raises(AcpError) as failed:
            await client.prompt(session, "hello")
        assert failed.value.code == -32603 and failed.value.data["status"] == "failed"
        assert "sessions" in await client.ask("session/list")


async def test_the_same_session_in_two_processes(tmp_path: Path) -> None:
    """What one client hosts another works on as well; both are told of it, and either may answer what is asked."""
    async with puppet() as model:
        env = puppet_env(tmp_path / "home", model)
        async with agent(env) as one, agent(env) as two:
            await one.initialize()
            await two.initialize()
            session = await one.new(tmp_path)
            await one.prompt(session, steps({"text": "One."}))
            await two.ask("session/resume", {"sessionId": session, "cwd": str(tmp_path)})
            assert (await two.prompt(session, steps({"text": "Two."})))["stopReason"] == "end_turn"
            await one.until(lambda: one.text(session) == "One.Two.")
            assert two.text(session) == "Two."
        listed = loopline("sessions", "--json", env=env, cwd=tmp_path)
        assert listed.code == 0 and session in listed.out


async def test_a_client_that_reads_no_more_is_given_up(tmp_path: Path) -> None:
    """What it does not read is held up to a bound; then it counts as gone, and the process ends."""
    async with puppet() as model, agent(puppet_env(tmp_path / "home", model), 2 << 20) as client:
        await client.initialize()
        client.listens.clear()
        client.may_be_cut = True
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        exit_handle = os.pidfd_open(client.process.pid)

        def gone() -> None:
            asyncio.get_running_loop().remove_reader(exit_handle)
            ended.set_result(None)

        asyncio.get_running_loop().add_reader(exit_handle, gone)
        name = "x" * (1 << 20)  # each answer carries the id of its request
        line = json.dumps({"jsonrpc": "2.0", "id": name, "method": "session/none"}).encode() + b"\n"
        try:
            with contextlib.suppress(ConnectionError):
                for _ in range(80):
                    await client.raw(line)
            await asyncio.wait_for(ended, 120)
        finally:
            asyncio.get_running_loop().remove_reader(exit_handle)
            os.close(exit_handle)
            client.listens.set()
        assert await client.ended() == 0
