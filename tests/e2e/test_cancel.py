"""Ctrl-C on the command line while a command's processes resist: all are gone, and soon."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path

from agent_core.agent.history import History
from tests.support.agent.tree import MEMBERS, TREE, pids
from tests.support.model import events as make
from tests.support.model.scripted_service import replies, running
from tests.support.system.cli import environment, started
from tests.support.system.processes import alive, wait_until_none


async def test_ctrl_c_ends_a_tree_of_processes_that_resists(tmp_path: Path) -> None:
    home, project, script = tmp_path / "home", tmp_path / "project", tmp_path / "tree.py"
    project.mkdir()
    script.write_text(TREE)
    # The tree tells its process numbers in files outside of the workspace, which a sandbox would keep it from.
    env = environment(home, LOOPLINE_SANDBOX="off") | {"OPENAI_API_KEY": "sk-test"}
    command = json.dumps({"command": f"echo begun; {sys.executable} {script} {tmp_path}/pid"})
    asks = make.ladder("resp_1", make.tool_call("call_1", name="shell", arguments=command))
    async with running(replies(make.warm("resp_w"), asks)) as service, asyncio.timeout(60):
        arguments = ["run", "run it", "-w", str(project), "--approve", "auto", "--json", "--model", "m"]
        process = started(*arguments, "--base-url", service.base_url, env=env)
        while len(pids(tmp_path)) < MEMBERS:  # noqa: ASYNC110 - other processes tell nobody
            await asyncio.sleep(0.01)
        process.send_signal(signal.SIGINT)
        while any(map(alive, pids(tmp_path))):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        out, err = await asyncio.to_thread(process.communicate, timeout=30)
    assert process.returncode == 130, err
    assert json.loads(out.splitlines()[-1])["status"] == "cancelled"
    assert wait_until_none(home, 5) == {}
    (file,) = (Path(env["XDG_STATE_HOME"]) / "loopline" / "sessions").glob("*.jsonl")
    history = History.read(file)
    assert [record.status for record in history.turns] == ["started", "cancelled"]
    assert json.loads(history.items.raw(0)[-1])["output"].startswith("begun\n[cancelled by the user")
