"""The command line as a real process with homes of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).resolve().parents[3]
TIMEOUT_S = 280


def environment(home: Path, **extra: str) -> dict[str, str]:
    """This process's environment without keys, and with configuration, state and sockets below `home`."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("LOOPLINE_", "OPENAI_", "XDG_"))}
    homes = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "STATE", "CACHE")}
    return {**kept, **homes, "XDG_RUNTIME_DIR": str(home / "run"), "PYTHONPATH": str(ROOT), **extra}


class Done(msgspec.Struct):
    """A finished command. `lines` are the objects of `--json`."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def summary(self) -> dict[str, Any]:
        last = self.lines[-1]
        assert last["type"] == "summary"
        return last


def loopline(*arguments: str, env: Mapping[str, str], cwd: Path = ROOT, stdin: str = "") -> Done:
    """Run `loopline ARGUMENTS` to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "agent_core", *arguments],
        env=dict(env),
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def started(*arguments: str, env: Mapping[str, str], cwd: Path = ROOT) -> subprocess.Popen[str]:
    """`loopline ARGUMENTS` as a running process in a group of its own, with its output in pipes."""
    return subprocess.Popen(
        [sys.executable, "-m", "agent_core", *arguments],
        env=dict(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below `folder` with its bytes, caches of Python left out."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and ".pytest_cache" not in path.parts
    }
