from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.tools.port import ToolContext
from agent_core.tools.standard import standard_toolbox
from agent_core.tools.toolbox import MAX_WIRE_BYTES
from tests.support.system.processes import alive
from tests.support.system.waiting import lines_of_file
from tests.support.tools.toolbox import BIN, Bench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    bench.box = standard_toolbox(bench.workspace, environment=BIN, background=True)
    yield bench
    await bench.box.close()


async def test_a_background_command_is_read_fed_and_stopped(bench: Bench) -> None:
    script = "import sys\nfor line in sys.stdin: print('got', line.strip(), flush=True)\n"
    bench.write("echo.py", script)
    assert await bench.ok("shell", command=f"{sys.executable} echo.py", background=True) == "started p1"
    assert await bench.ok("process", id="p1") == "running"
    seen = await bench.ok("process", id="p1", input="one\ntwo\n")
    while "got two" not in seen:
        seen += "\n" + await bench.ok("process", id="p1")
    assert [line for line in seen.split("\n") if line != "running"] == ["got one", "got two"]
    assert await bench.ok("process", id="p1", stop=True) == "stopped"
    assert "takes no input" in await bench.refused("process", id="p1", input="x")


async def test_a_background_command_that_ends_tells_its_exit_code(bench: Bench) -> None:
    await bench.ok("shell", command="echo done; exit 4", background=True)
    assert await bench.ok("process", id="p1", wait_s=20) == "done\nexit code: 4"
    assert await bench.ok("process", id="p1") == "exit code: 4"
    await bench.ok("shell", command="sleep 60", background=True, timeout_s=1)
    assert await bench.ok("process", id="p2", wait_s=20) == "stopped by a limit"


async def test_input_that_nobody_reads_is_bounded(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_core.tools.commands.running.WRITE_LIMIT_S", 0.05)
    await bench.ok("shell", command="sleep 60", background=True)
    assert "read nothing for" in await bench.refused("process", id="p1", input="x" * 1_000_000)


async def test_handles_are_named_and_limited(bench: Bench) -> None:
    assert await bench.refused("process", id="p9") == "unknown_process: there is no process 'p9'; there are none"
    for _ in range(8):
        await bench.ok("shell", command="sleep 60", background=True)
    assert "8 processes are running already" in await bench.refused("shell", command="sleep 60", background=True)
    assert "there are p1 (running), p2" in await bench.refused("process", id="x")


async def test_nothing_outlives_the_toolbox(bench: Bench) -> None:
    stubborn = "trap '' TERM; echo $$ >> pids; sleep 300 & echo $! >> pids; wait; sleep 300"
    await bench.ok("shell", command=stubborn, background=True)
    pids = [int(line) for line in await lines_of_file(bench.root / "pids", 2)]
    await bench.box.close()
    assert [pid for pid in pids if alive(pid)] == []


async def test_cancel_of_a_wait_leaves_the_process_running(bench: Bench) -> None:
    await bench.ok("shell", command="echo $$ > pid; sleep 60", background=True)
    pid = int((await lines_of_file(bench.root / "pid"))[0])
    arguments = json.dumps({"id": "p1", "wait_s": 30})
    task = asyncio.ensure_future(bench.box.run("process", arguments, ToolContext(tool_call="c")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert alive(pid)


async def test_the_definitions_stay_small(bench: Bench) -> None:
    assert len(bench.box.wire_json()) <= MAX_WIRE_BYTES
    assert [spec.name for spec in bench.box.specs][-1] == "process"
