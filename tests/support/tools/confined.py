"""Commands in a sandbox, as another user: a program that reads which sandbox, where and what, and prints what came.

Run by `run_confined` as a process of that user, since a test can't change its own."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
NOBODY = 65534


@functools.cache
def python_for(uid: int) -> list[str] | None:
    """An interpreter that a user can start with what we need, and where that is; None if there is none."""
    libraries = sysconfig.get_path("purelib")
    for program in (sys.executable, "/usr/bin/python3"):
        argv = [
            program,
            "-c",
            f"import sys; sys.path[:0] = {[str(ROOT), libraries]!r}; import msgspec, agent_core.launch",
        ]
        try:
            if subprocess.run(argv, capture_output=True, cwd="/", **_as(uid)).returncode == 0:
                return argv[:2]
        except OSError:
            continue
    return None


def _as(uid: int) -> dict[str, Any]:
    return {} if uid == os.geteuid() else {"user": uid, "group": uid, "extra_groups": []}


def run_confined(
    folder: Path, kind: str, script: str, *, uid: int, namespaces: bool = True, secret: str = "", beside: str = ""
) -> str:
    """What a script prints in `folder/root`, which that user must be able to enter; `$HOST` in it is the process that
    runs it, which has `secret` in its environment. The exit code is the last line. `beside`: another command, which
    runs meanwhile and writes a file `up` when it does."""
    wanted = {"folder": str(folder), "kind": kind, "namespaces": namespaces, "script": script, "beside": beside}
    python = python_for(uid)
    assert python is not None
    places = [str(ROOT), sysconfig.get_path("purelib")]
    done = subprocess.run(
        [*python, f"import sys; sys.path[:0] = {places!r}; from tests.support.tools.confined import main; main()"],
        cwd=ROOT,
        env={"PATH": os.defpath, "HOME": str(folder / "home"), "SECRET_KEY": secret, "PYTHONDONTWRITEBYTECODE": "1",
             "XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config")},
        input=json.dumps(wanted),
        capture_output=True,
        text=True,
        timeout=120,
        **_as(uid),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


async def _main() -> None:
    from agent_core.tools.sandbox.sandbox import Found, find_sandbox
    from tests.support.tools.toolbox import Bench

    wanted = json.load(sys.stdin)
    environment = dict(os.environ)
    hidden = {**environment, "PATH": "/nonexistent"}
    found = find_sandbox(environment if wanted["kind"] == "bubblewrap" else hidden)
    if not wanted["namespaces"]:
        found = Found("landlock")
    assert found.kind == wanted["kind"] and found.namespaces == wanted["namespaces"], found
    bench = Bench(Path(wanted["folder"], "root"), environment=environment, sandbox=found)
    script = wanted["script"].replace("$HOST", str(os.getpid()))
    sibling = asyncio.ensure_future(bench.run("shell", command=wanted["beside"])) if wanted["beside"] else None
    while sibling is not None and not Path(wanted["folder"], "root", "up").exists():
        await asyncio.wait({sibling}, timeout=0.05)
    print((await bench.run("shell", command=script, timeout_s=100)).output)
    if sibling is not None:
        sibling.cancel()
        await asyncio.wait({sibling})
    await bench.box.close()


def main() -> None:
    asyncio.run(_main())
