"""What was typed before a question was shown never answers it: with a real terminal, as lines and as raw keys."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
import tty
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ASKING = """
import asyncio, sys, time
sys.path.insert(0, {root!r})
from rich.console import Console
from agent_core.cli.approver import approver_for
from agent_core.turns.approval import Approval
async def main():
    approver = approver_for(Console(force_terminal=True))
    print("busy", flush=True)
    sys.stdin.buffer.raw.read(1) if {wait} else None
    for number in range(2):
        fields = dict(approval_id=f"a{{number}}", session_id="s", turn_id="t", kind="command", name="shell")
        asked = Approval(subject="rm x", rule="", always=True, opened="", **fields)
        print("said", await approver(asked) if hasattr(approver, "_turn") else await approver(asked), flush=True)
asyncio.run(main())
"""


class Screen:
    """All that a terminal showed so far."""

    def __init__(self, handle: int) -> None:
        self.handle, self.seen = handle, b""

    def until(self, wanted: bytes, count: int = 1) -> None:
        ends = time.monotonic() + 60
        while self.seen.count(wanted) < count and time.monotonic() < ends:
            if select.select([self.handle], [], [], 0.1)[0]:
                self.seen += os.read(self.handle, 4_096)
        assert self.seen.count(wanted) >= count, self.seen


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("ahead", [b"y\n", b"a\na\ny\n", b"y\ny\ny"])
def test_it_answers_nothing(raw: bool, ahead: bytes) -> None:
    main, side = pty.openpty()
    if raw:
        tty.setraw(side)
    code = ASKING.format(root=str(ROOT), wait=True)
    process = subprocess.Popen([sys.executable, "-c", code], stdin=side, stdout=side, stderr=side)
    try:
        screen = Screen(main)
        screen.until(b"busy")
        os.write(main, ahead + b"\n")
        screen.until(b"[N]o")
        os.write(main, b"n\n")
        screen.until(b"said deny")
        screen.until(b"[N]o", 2)
        os.write(main, b"y\n")
        screen.until(b"said allow")
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        os.close(main)
        os.close(side)


def test_a_pipe_answers_nothing() -> None:
    code = ASKING.format(root=str(ROOT), wait=False)
    done = subprocess.run([sys.executable, "-c", code], input=b"y\ny\n", capture_output=True, timeout=60)
    assert done.stdout.split(b"\n")[1:3] == [b"said None", b"said None"], done
