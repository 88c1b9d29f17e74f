"""How a server ends, and what it survives: clients that vanish, that stop reading, and editors that never answer."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.interaction.lsp.conftest import with_answers
from tests.support.lsp.client import LspClient, StreamWire, stdio
from tests.support.lsp.puppet import Puppet, puppet_env, steps
from tests.support.suite.leftovers import processes_of
from tests.support.system.cli import environment
from tests.support.system.waiting import WAIT_S, eventually

SLEEPER = "trap '' TERM INT HUP; echo up; while true; do sleep 0.1; done"


@pytest.fixture
async def single(tmp_path: Path, root: Path, model: Puppet) -> AsyncIterator[LspClient]:
    """On stdio, with a process of its own; nothing asks."""
    async with stdio(puppet_env(tmp_path, model, LOOPLINE_APPROVE="auto")) as client:
        with_answers(client)
        await client.initialize(root)
        yield client


async def end_of(client: LspClient) -> int:
    assert client.process is not None
    async with asyncio.timeout(WAIT_S):
        return await client.process.wait()


async def test_shutdown_and_exit_are_clean_with_a_turn_running(single: LspClient, tmp_path: Path) -> None:
    await single.command("loopline.turn.start", {"task": steps({"call": "shell", "args": {"command": SLEEPER}})})
    await single.event("tool.output", line="up")
    await single.shutdown()
    assert await end_of(single) == 0
    assert processes_of(tmp_path) == {}
    assert single.process is not None and single.process.stderr is not None
    assert b"Traceback" not in await single.process.stderr.read()


async def test_shutdown_with_requests_running_succeeds(single: LspClient) -> None:
    """pygls raised `dictionary changed size during iteration`."""
    running = [await single.begin("loopline/transcript", {"sessionId": "sess_x"}) for _ in range(5)]
    lists = [
        await single.begin("workspace/executeCommand", {"command": "loopline.session.list", "arguments": [{}]})
        for _ in range(20)
    ]
    assert await single.request("shutdown") is None
    async with asyncio.timeout(WAIT_S):
        await asyncio.gather(*running, *lists)
    late = await single.begin("loopline/status", {})
    async with asyncio.timeout(WAIT_S):
        assert (await late)["error"]["code"] == -32600
    await single.notify("exit")
    assert await end_of(single) == 0


async def test_exit_without_shutdown_is_code_1(single: LspClient) -> None:
    await single.notify("exit")
    assert await end_of(single) == 1


@pytest.mark.parametrize("how", ["eof", "term", "hup"])
async def test_an_editor_that_vanishes_takes_the_server_and_its_commands_along(
    single: LspClient, tmp_path: Path, how: str
) -> None:
    await single.command("loopline.turn.start", {"task": steps({"call": "shell", "args": {"command": SLEEPER}})})
    await single.event("tool.output", line="up")
    assert single.process is not None and isinstance(single.wire, StreamWire)
    if how == "eof":
        single.wire.writer.close()
    else:
        os.kill(single.process.pid, signal.SIGTERM if how == "term" else signal.SIGHUP)
    await end_of(single)
    await eventually(lambda: not processes_of(tmp_path))


async def test_the_embedded_service_ends_with_the_server(tmp_path: Path, root: Path) -> None:
    async with stdio(environment(tmp_path, LOOPLINE_APPROVE="never")) as client:
        with_answers(client)
        await client.initialize(root)
        end = await client.turn("hello")
        assert "status" in end and len(processes_of(tmp_path)) == 2
        assert client.process is not None
        os.kill(client.process.pid, signal.SIGKILL)
        await eventually(lambda: not processes_of(tmp_path))


async def test_an_editor_that_reads_nothing_does_not_hold_the_turn(single: LspClient, root: Path) -> None:
    """pygls wrote on the event loop: a full pipe stopped everything, pings to the model's service included."""
    assert isinstance(single.wire, StreamWire)
    single.wire.paused.clear()
    words = "many words " * 200
    noise = [{"call": "shell", "args": {"command": f"seq 1 3000; echo {words}"}} for _ in range(20)]
    task = steps(*noise, {"text": words * 50}, {"call": "list"})
    await single.notify("workspace/executeCommand", None)  # something to answer, or not
    first = await single.begin(
        "workspace/executeCommand", {"command": "loopline.turn.start", "arguments": [{"task": task}]}
    )
    last = steps({"call": "shell", "args": {"command": "echo x > done.txt"}}, {"text": "end"})
    await single.begin("workspace/executeCommand", {"command": "loopline.turn.start", "arguments": [{"task": last}]})
    await eventually((root / "done.txt").exists)  # both turns ran to their end though nobody reads
    single.wire.paused.set()
    async with asyncio.timeout(WAIT_S):
        assert "result" in await first
    assert isinstance(await single.request("loopline/status", {}), dict)
    numbers = [message["params"]["seq"] for message in single.of("$/loopline/event")]
    assert numbers == sorted(set(numbers))


async def test_an_editor_that_never_answers_holds_nothing_for_ever(single: LspClient, root: Path) -> None:
    async def never(params: object) -> None:
        await asyncio.get_running_loop().create_future()

    single.handlers |= {"window/workDoneProgress/create": never, "window/showDocument": never,
                        "workspace/configuration": never}  # fmt: skip
    assert (await single.turn(steps({"text": "one"})))["text"] == "one"
    await single.shutdown()
    assert await end_of(single) == 0


async def test_a_late_answer_to_a_withdrawn_question_is_passed_over(tmp_path: Path, root: Path, model: Puppet) -> None:
    """pygls#621: it raised in the read loop."""
    held: list[asyncio.Future[None]] = []

    async def late(params: object) -> dict[str, str]:
        held.append(asyncio.get_running_loop().create_future())
        try:
            await asyncio.shield(held[0])
        except asyncio.CancelledError:  # the question was withdrawn; this editor answers all the same
            await asyncio.wait_for(held[0], 10)
        return {"title": "Allow"}

    async with stdio(puppet_env(tmp_path, model)) as client:
        with_answers(client)
        client.handlers["window/showMessageRequest"] = late
        await client.initialize(root)
        task = steps({"call": "shell", "args": {"command": "true"}}, {"text": "x"})
        started = await client.command("loopline.turn.start", {"task": task})
        await client.event("approval.opened")
        await client.until(lambda: held)
        await client.command("loopline.turn.cancel", {"turnId": started["turnId"]})
        await client.event("turn.finished", turnId=started["turnId"])
        held[0].set_result(None)
        await client.request("loopline/status", {})
        assert (await client.turn(steps({"text": "goes on"})))["text"] == "goes on"


async def test_standard_output_carries_messages_only(single: LspClient) -> None:
    """Whatever is printed by mistake, by us or a child, lands on standard error."""
    noisy = steps(
        {"call": "shell", "args": {"command": "echo loud; echo louder >/proc/$PPID/fd/1 || true"}}, {"text": "x"}
    )
    assert (await single.turn(noisy))["text"] == "x"
    await single.shutdown()
    assert await end_of(single) == 0


@pytest.fixture
async def lingering(
    request: pytest.FixtureRequest, tmp_path: Path, root: Path, model: Puppet
) -> AsyncIterator[LspClient]:
    """As `single`, with `--linger-s`."""
    env = puppet_env(tmp_path, model, LOOPLINE_APPROVE="auto")
    async with stdio(env, "--stdio", "--linger-s", str(getattr(request, "param", 20))) as client:
        with_answers(client)
        await client.initialize(root)
        yield client


def vanish(client: LspClient) -> None:
    assert isinstance(client.wire, StreamWire) and client.process is not None
    client.wire.vanish()
    os.kill(client.process.pid, signal.SIGHUP)


async def test_a_turn_outlives_the_window_and_is_found_again(
    lingering: LspClient, tmp_path: Path, root: Path, model: Puppet
) -> None:
    slow = {"call": "shell", "args": {"command": "until [ -e go ]; do sleep 0.1; done; echo ran > ran.txt"}}
    started = await lingering.command("loopline.turn.start", {"task": steps(slow, {"text": "end"})})
    await lingering.event("tool.started")
    vanish(lingering)
    async with stdio(puppet_env(tmp_path, model)) as again:
        with_answers(again)
        await again.initialize(root)
        listed = (await again.command("loopline.session.list", {}))["sessions"]
        assert [(one["sessionId"], one["state"]) for one in listed] == [(started["sessionId"], "elsewhere")]
        assert [(turn["turnId"], turn["status"]) for turn in listed[0]["turns"]] == [(started["turnId"], "running")]
        assert (await again.command("loopline.session.resume", {"sessionId": started["sessionId"]}))[
            "state"
        ] == "attached"
        (root / "go").touch()
        end = await again.event("turn.finished", turnId=started["turnId"])
        assert (end["status"], end["text"]) == ("completed", "end") and (root / "ran.txt").exists()
        assert await end_of(lingering) == 1  # nothing is left to do
        await again.event("session.hosting", state="live")
        assert (await again.turn(steps({"text": "here"}), sessionId=started["sessionId"]))["text"] == "here"


@pytest.mark.parametrize("lingering", [0.3], indirect=True)
async def test_a_turn_that_nobody_comes_back_for_is_cancelled(
    lingering: LspClient, tmp_path: Path, root: Path, model: Puppet
) -> None:
    started = await lingering.command("loopline.turn.start", {"task": steps({"hold": "a"})})
    await model.reached("a")
    vanish(lingering)
    assert await end_of(lingering) == 1
    async with stdio(puppet_env(tmp_path, model)) as again:
        with_answers(again)
        await again.initialize(root)
        found = await again.command("loopline.session.resume", {"sessionId": started["sessionId"]})
        assert [(turn["turnId"], turn["status"]) for turn in found["turns"]] == [(started["turnId"], "cancelled")]


async def test_without_a_turn_nothing_lingers(lingering: LspClient) -> None:
    vanish(lingering)
    assert await end_of(lingering) == 1
