"""Plays a case of the corpus and judges what came of it by asserts that the engine never saw."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from tests.support.repair.cases import HELD_OUT, Case
from tests.support.repair.tools import LEAN, CodexTools, LooplineTools, Played, play
from tests.support.system.cli import ROOT, environment

GIVE_UP_S = 300
"""What a case may take at all; what took longer than a minute is told, and counts as a failure of the soak."""
TASK = "make the failing tests pass"
Way = Literal["cli", "loopline", "codex"]
"""How a case is played: `loopline run`, or the engine with Loopline's tools or Codex's shell tool in this process."""


@dataclass(frozen=True)
class Verdict:
    """What became of a case. `outcome`: fixed, overfitted (held-out asserts fail), not_fixed, broken (tree changed)."""

    name: str
    kind: str
    way: Way
    outcome: str
    seconds: float
    cpu_s: float
    """Processor time of the commands that measure and try; `loopline` itself and runs of the tests in place not."""
    replies: int
    calls: int
    edits_found: int
    edits_kept: int
    last: str


async def judge(case: Case, way: Way = "loopline") -> Verdict:
    """Plays a case in a copy and judges the result."""
    with tempfile.TemporaryDirectory(prefix="corpus-") as place:
        root = Path(place).resolve() / "project"
        case.write(root)
        before = snapshot(root)
        if way == "cli":
            played = await asyncio.to_thread(_run, root, Path(place) / "home")
        else:
            played = await play(CodexTools(root) if way == "codex" else LooplineTools(root))
        changed = sorted(path for path, text in snapshot(root).items() if before.get(path) != text)
        outcome = _outcome(case, root, played, changed, before)
        kept = len(re.findall(r"` line \d+: ", played.last.splitlines()[0])) if played.fixed else 0
        together = [found for text in played.texts if (found := re.match(r"(\d+) edits together pass", text))]
        return Verdict(
            case.name, case.kind, way, outcome, round(played.seconds, 1), round(_cpu_s(played), 1), played.replies,
            len(played.calls), int(together[-1][1]) if together else kept, kept, played.last,
        )  # fmt: skip


def _run(root: Path, home: Path) -> Played:
    """What a user does, with this process's Python for the tests."""
    python = str(Path(sys.executable).parent)
    env = environment(home, PATH=python + os.pathsep + os.environ["PATH"], **LEAN)
    started = time.monotonic()
    words = [sys.executable, "-m", "agent_core", "run", TASK, "-w", str(root), "--approve", "auto", "--json"]
    done = subprocess.run(words, env=env, cwd=ROOT, capture_output=True, text=True, timeout=GIVE_UP_S)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines, done.stderr
    calls = [
        (str(line["name"]), json.loads(line["arguments"]), str(line["output"]))
        for line in lines
        if line["type"] == "tool.finished"
    ]
    return Played(
        [], [line["text"] for line in lines if line["type"] == "text.done"], calls, lines[-1]["calls"],
        time.monotonic() - started,
    )  # fmt: skip


def _cpu_s(played: Played) -> float:
    """Processor time of the engine's commands, as they tell it."""
    return sum(float(told) for _, _, output in played.calls for told in re.findall(r'"cpu_s": ([\d.]+)', output))


def _outcome(case: Case, root: Path, played: Played, changed: list[str], before: dict[str, bytes]) -> str:
    if not played.fixed:
        return "broken" if changed or set(snapshot(root)) != set(before) else "not_fixed"
    if any(path.startswith("tests/") or path == "conftest.py" for path in changed):
        return "broken"
    case.write(root, held_out=True)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", HELD_OUT]
    done = subprocess.run(
        words, cwd=root, env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin", **LEAN}, capture_output=True, timeout=60
    )
    return "fixed" if done.returncode == 0 else "overfitted"


def snapshot(root: Path) -> dict[str, bytes]:
    """Every file and folder below the root; folders end with a slash and hold nothing."""
    return {
        str(path.relative_to(root)) + ("/" if path.is_dir() else ""): b"" if path.is_dir() else path.read_bytes()
        for path in sorted(root.rglob("*"))
    }


def verdict_line(verdict: Verdict) -> str:
    return json.dumps(asdict(verdict), ensure_ascii=False)
