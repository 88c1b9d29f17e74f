from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

import pytest

from agent_core.tools.commands import running
from agent_core.tools.commands.processes import Processes
from agent_core.tools.port import ToolContext, ToolResult
from tests.support.system.processes import alive
from tests.support.system.waiting import lines_of_file
from tests.support.tools.toolbox import BIN, Bench, Gaps, gone

PYTHON = sys.executable

STUBBORN = "import os, signal, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"

DAEMON = STUBBORN + (
    "if os.fork(): sys.exit()\n"
    "os.setsid()\n"
    "if os.fork(): sys.exit()\n"
    "open(sys.argv[1], 'a').write(f'{os.getpid()}\\n')\n"
    "CLOSING"
    "time.sleep(300)\n"
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def pids_of(file: Path, count: int) -> list[int]:
    return [int(line) for line in await lines_of_file(file, count)]


async def test_output_of_both_streams_then_the_exit_code(bench: Bench) -> None:
    assert await bench.ok("shell", command="echo out; echo err >&2; exit 3") == "out\nerr\nexit code: 3"
    assert await bench.ok("shell", command="true") == "exit code: 0"
    result = await bench.run("shell", command="kill -9 $$")
    assert (result.output, result.data["exit_code"]) == ("exit code: 137", 137)
    assert await bench.ok("shell", command="no-such-program-x 2>/dev/null") == "exit code: 127"


async def test_commands_run_in_the_first_root_without_input(bench: Bench) -> None:
    assert await bench.ok("shell", command="pwd; cat; read x; echo $?") == f"{bench.root}\n1\nexit code: 0"


async def test_there_is_no_terminal_to_ask_on(bench: Bench) -> None:
    assert "No such device" in await bench.ok("shell", command="LC_ALL=C cat /dev/tty")


async def test_commands_get_of_the_environment_what_is_on_the_list(tmp_path: Path) -> None:
    others = {
        "OPENAI_API_KEY": "s1", "LOOPLINE_API_KEY": "s2", "LOOPLINE_HUB_TOKEN": "s3", "LOOPLINE_UPSTREAM_KEY": "s4",
        "AWS_SECRET_ACCESS_KEY": "s5", "GITHUB_TOKEN": "s6", "DB_PASSWORD": "s7", "MY_CREDENTIALS": "s8",
        "apikey": "s9", "SESSION": "under a name that says nothing", "SSH_AUTH_SOCK": "a1",
    }  # fmt: skip
    listed = {"GOPATH": "g1", "TOKENIZERS_PARALLELISM": "t1", "LC_MESSAGES": "C"}
    bench = Bench(tmp_path, environment={**BIN, **others, **listed})
    shown = await bench.ok("shell", command="env")
    assert [name for name in others if f"{name}=" in shown] == []
    assert [name for name in listed if f"{name}=" not in shown] == []


# opencode#6361, ship-safe#207: what a repository starts by itself through git.
@pytest.mark.parametrize(("trusted", "ran"), [(False, False), (True, True)])
async def test_a_folder_starts_nothing_through_git_before_it_is_trusted(
    tmp_path: Path, trusted: bool, ran: bool
) -> None:
    bench = Bench(tmp_path, trusted=trusted)
    await bench.ok("shell", command="git init -q . && git config user.email a@b.c && git config user.name n")
    bench.write("mark.sh", "#!/bin/sh\ntouch ran\n").chmod(0o755)
    await bench.ok("shell", command="git config core.fsmonitor ./mark.sh; cp mark.sh .git/hooks/pre-commit")
    await bench.ok("shell", command="git status; git commit -q --allow-empty -m x")
    assert (tmp_path / "ran").exists() == ran


async def test_the_time_limit_ends_the_command_and_keeps_its_output(bench: Bench) -> None:
    started = time.monotonic()
    result = await bench.run("shell", command="echo before; sleep 60", timeout_s=1)
    assert (result.status, result.output) == ("timeout", "before\ntimed out after 1 s")
    assert time.monotonic() - started < 30
    assert "goes from 1 to 3600" in await bench.refused("shell", command="true", timeout_s=0)


async def test_a_flood_keeps_head_and_tail_and_is_bounded(bench: Bench) -> None:
    result = await bench.run("shell", command="echo first; seq 1 200000; echo last")
    lines = result.output.split("\n")
    assert lines[0] == "first"
    assert lines[-2:] == ["last", "exit code: 0"]
    assert any("left out; read them with path='output:1'" in line for line in lines)
    assert len(result.output) < 34_000
    assert result.data["output_bytes"] > 1_000_000


async def test_a_command_that_never_stops_printing_is_stopped(bench: Bench) -> None:
    command = running.Command(
        argv=("yes",),
        cwd=str(bench.root),
        environment=BIN,
        timeout_s=60,
        max_total_bytes=3_000_000,
        max_output_bytes=99,
    )
    outcome = await Processes().run(command)
    assert (outcome.stopped_by, outcome.exit_code, outcome.survivors) == ("output", None, ())
    assert 3_000_000 < outcome.total_bytes < 4_000_000


async def test_the_event_loop_lives_on_during_a_flood(bench: Bench) -> None:
    async with Gaps() as gaps:
        await bench.run("shell", command="timeout 0.5 yes")
    assert gaps.longest_s < 0.5


async def test_progress_shows_lines_while_the_command_runs(bench: Bench) -> None:
    command = asyncio.ensure_future(
        bench.run("shell", command="printf '\\033[1mhello\\033[0m\\n'; echo x > said; while [ ! -e go ]; do :; done")
    )
    await lines_of_file(bench.root / "said")
    for _ in range(1000):
        if bench.progress:
            break
        await asyncio.sleep(0.005)
    assert (bench.progress, command.done()) == (["hello"], False)
    bench.write("go", "")
    assert (await command).status == "ok"


async def test_what_a_command_leaves_in_the_background_ends_with_it(bench: Bench) -> None:
    result = await bench.run("shell", command="sleep 300 & echo $! > pid; echo done")
    assert result.output == "done\n[ended with the command: sleep 300]\nexit code: 0"
    assert not alive(int(bench.bytes("pid")))


async def test_output_that_comes_after_the_exit_is_taken(bench: Bench) -> None:
    assert "late" in await bench.ok("shell", command="(sleep 0.02; echo late) & exit 0")


@pytest.mark.parametrize("closing", ["", "[os.close(n) for n in range(3)]\n"], ids=["holds output", "closed all"])
async def test_a_daemon_ends_with_its_command(bench: Bench, closing: str) -> None:
    bench.write("daemon.py", DAEMON.replace("CLOSING", closing))
    command = asyncio.ensure_future(bench.run("shell", command=f"{PYTHON} daemon.py pids; sleep 300"))
    pids = await pids_of(bench.root / "pids", 1)
    command.cancel()
    with pytest.raises(asyncio.CancelledError):
        await command
    assert await gone(pids)


async def test_a_daemon_that_got_away_ends_with_the_toolbox(bench: Bench) -> None:
    bench.write("daemon.py", DAEMON.replace("CLOSING", "[os.close(n) for n in range(3)]\n"))
    result = await bench.run("shell", command=f"{PYTHON} daemon.py pids; while [ ! -s pids ]; do :; done")
    pids = await pids_of(bench.root / "pids", 1)
    assert (result.output, alive(pids[0])) == ("exit code: 0", True)
    await bench.box.close()
    assert await gone(pids)


TREES = {
    "plain": "sleep 300",
    "ignores TERM": "trap '' TERM; sleep 300 & sleep 300; sleep 300",
    "children that ignore TERM": f"{PYTHON} stubborn.py & {PYTHON} stubborn.py & wait",
    "own session": f"setsid {PYTHON} stubborn.py & wait; sleep 300",
    "daemon": f"{PYTHON} daemon.py pids; sleep 300",
    "daemon that closed its files": f"{PYTHON} closed.py pids; sleep 300",
    "cleared environment": f"env -i {PYTHON} daemon.py pids; sleep 300",
    "stopped": f"{PYTHON} stopped.py & wait; sleep 300",
    "keeps forking": f"{PYTHON} forks.py; sleep 300",
    "pipeline": f"{PYTHON} stubborn.py | cat | cat",
}


def write_programs(bench: Bench) -> None:
    note = "open('pids', 'a').write(f'{os.getpid()}\\n')\n"
    bench.write("stubborn.py", STUBBORN + note + "time.sleep(300)\n")
    bench.write("daemon.py", DAEMON.replace("CLOSING", ""))
    bench.write("closed.py", DAEMON.replace("CLOSING", "[os.close(n) for n in range(3)]\n"))
    bench.write("stopped.py", STUBBORN + note + "os.kill(os.getpid(), signal.SIGSTOP)\ntime.sleep(300)\n")
    bench.write(
        "forks.py", STUBBORN + note + "for _ in range(2000):\n    if os.fork(): os._exit(0)\n    time.sleep(0.002)\n"
    )


async def started(bench: Bench, name: str) -> tuple[asyncio.Task[ToolResult], list[int]]:
    """A command that runs, and the processes of it that told their numbers."""
    write_programs(bench)
    noted = {"plain": 0, "ignores TERM": 0, "children that ignore TERM": 2}.get(name, 1)
    task = asyncio.ensure_future(bench.run("shell", command=f"echo $$ > leader; {TREES[name]}"))
    leader = [int(line) for line in await lines_of_file(bench.root / "leader")]
    return task, leader + (await pids_of(bench.root / "pids", noted) if noted else [])


# codex#7985, #26382, #25772, #12817: after a stop children lived on and held ports.
async def test_cancel_leaves_no_process(tmp_path: Path) -> None:
    """All kinds of process trees at once: each must go, and none of them by itself."""
    for name in TREES:
        (tmp_path / name).mkdir()
    benches = {name: Bench(tmp_path / name) for name in TREES}
    running = await asyncio.gather(*(started(bench, name) for name, bench in benches.items()))
    before = time.monotonic()
    for task, _ in running:
        task.cancel()
    ended = await asyncio.gather(*(task for task, _ in running), return_exceptions=True)
    assert time.monotonic() - before < 60
    assert {type(result) for result in ended} == {asyncio.CancelledError}
    left = {
        name: ([pid for pid in pids if alive(pid)], marked_processes(tmp_path / name))
        for name, (_, pids) in zip(benches, running, strict=True)
    }
    assert left == dict.fromkeys(TREES, ([], []))


@pytest.mark.soak
@pytest.mark.timeout(900)
async def test_cancel_leaves_no_process_a_hundred_times(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / str(number)).mkdir()
        await test_cancel_leaves_no_process(tmp_path / str(number))


def marked_processes(folder: Path) -> list[str]:
    """Processes that work in a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and alive(int(entry.name)):
            try:
                if (entry / "cwd").readlink() == folder:
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
    return found


async def test_a_second_cancel_kills_at_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "TERM_GRACE_S", 250.0)
    write_programs(bench)
    task = asyncio.ensure_future(bench.run("shell", command=f"{PYTHON} stubborn.py & wait"))
    pids = await pids_of(bench.root / "pids", 1)
    task.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    async with asyncio.timeout(60):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert [pid for pid in pids if alive(pid)] == []


async def test_cancel_before_the_first_step_starts_nothing(bench: Bench) -> None:
    task = asyncio.ensure_future(bench.run("shell", command="touch started"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not (bench.root / "started").exists()


def test_the_end_of_the_event_loop_leaves_no_process(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    write_programs(bench)

    async def main() -> list[int]:
        task = asyncio.ensure_future(bench.run("shell", command=f"{PYTHON} stubborn.py & wait"))
        pids = await pids_of(tmp_path / "pids", 1)
        assert not task.done()
        return pids

    assert [pid for pid in asyncio.run(main()) if alive(pid)] == []


async def test_commands_side_by_side_do_not_touch_each_other(bench: Bench) -> None:
    write_programs(bench)
    victim = asyncio.ensure_future(bench.run("shell", command=f"{PYTHON} stubborn.py & wait"))
    await pids_of(bench.root / "pids", 1)
    other = asyncio.ensure_future(bench.run("shell", command="echo on > on; while [ ! -e go ]; do :; done; echo fine"))
    await lines_of_file(bench.root / "on")
    victim.cancel()
    with pytest.raises(asyncio.CancelledError):
        await victim
    bench.write("go", "")
    assert (await other).output == "fine\nexit code: 0"


def handles() -> list[str]:
    return sorted(entry.name for entry in Path("/proc/self/fd").iterdir())


async def test_no_handle_is_left_open(bench: Bench) -> None:
    await bench.run("shell", command="true")
    before = handles()
    for _ in range(5):
        await bench.run("shell", command="sleep 60 & echo x")
        await bench.run("shell", command="true", timeout_s=1)
        await bench.box.run("shell", json.dumps({"command": "x\0"}), ToolContext(tool_call="c"))
    assert handles() == before


async def test_a_workspace_that_is_gone_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    bench = Bench(folder)
    folder.rmdir()
    assert "can't start" in await bench.refused("shell", command="true")
