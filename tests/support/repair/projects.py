"""Bugs planted in real projects that lie in a folder of one's own: plants one, runs `loopline run`, judges the result.

The folder holds cases in the form of the corpus (`tests/support/repair/cases.py`) without files: `project` names the
sub-folder of `src/` whose copy gets the bug, the fix of the case taken backwards; `task` what is asked for. The
projects are data of whoever runs this and are not part of the repository.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.repair.cases import Hunk, read_head
from tests.support.repair.corpus import TASK
from tests.support.system.cli import ROOT, environment

GIVE_UP_S = 300


@dataclass(frozen=True)
class Planted:
    name: str
    kind: str
    project: Path
    task: str
    fix: Sequence[Hunk]

    def write(self, root: Path) -> None:
        """A copy of the project with the bug."""
        shutil.copytree(self.project, root, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", ".git"))
        for hunk in self.fix:  # from the top, where every line number still holds in the text with the bug
            path = root / hunk.path
            lines = path.read_text(encoding="utf-8").split("\n")
            start = hunk.first - 1
            if lines[start : start + len(hunk.right)] != hunk.right:
                raise ValueError(f"{self.name}: {hunk.path} does not hold what the fix puts at line {hunk.first}")
            lines[start : start + len(hunk.right)] = hunk.wrong
            path.write_text("\n".join(lines), encoding="utf-8")


@dataclass(frozen=True)
class Row:
    """What became of a planted bug. `outcome`: fixed as it was, fixed otherwise, not fixed, broken (tests changed)."""

    name: str
    kind: str
    outcome: str
    first_answer_s: float
    """Until what fails and where it looks had been said."""
    seconds: float
    cpu_s: float
    """User and system time of everything that was started."""
    last: str


def planted(folder: Path) -> list[Planted]:
    found = []
    for path in sorted(folder.glob("*.txt")):
        facts, sections, fix = read_head(path)
        project = folder / "src" / facts["project"]
        found.append(Planted(path.stem, facts["kind"], project, facts.get("task", TASK), fix))
    return found


def play_planted(case: Planted, place: Path, python: str) -> Row:
    """Plays the case with `python` for the project's tests; `place` is an empty folder."""
    root = place / "project"
    case.write(root)
    original = {hunk.path: (case.project / hunk.path).read_text(encoding="utf-8") for hunk in case.fix}
    buggy = {path: (root / path).read_text(encoding="utf-8") for path in original}
    words = [sys.executable, "-m", "agent_core", "run", case.task, "-w", str(root), "--approve", "auto", "--json"]
    env = environment(place / "home", PATH=os.environ["PATH"])
    started, before_s = time.monotonic(), _children_s()
    first_s, texts = 0.0, []
    with subprocess.Popen(
        [*words, "--python", python], env=env, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            told = json.loads(line) if line.startswith("{") else {"type": "text.done", "text": line}
            if told["type"] == "text.done":
                texts.append(str(told["text"]))
                if not first_s and re.search(r"\bfails?\b|failing tests?:", texts[-1]) and ".py" in texts[-1]:
                    first_s = time.monotonic() - started
    seconds = time.monotonic() - started
    now = {path: (root / path).read_text(encoding="utf-8") for path in original}
    last = texts[-1] if texts else ""
    outcome = (
        "not_fixed" if now == buggy and not last.startswith("Fixed")
        else "as_it_was" if now == original
        else "otherwise" if last.startswith("Fixed")
        else "broken"
    )  # fmt: skip
    cpu_s = round(_children_s() - before_s, 1)
    return Row(case.name, case.kind, outcome, round(first_s, 1), round(seconds, 1), cpu_s, last)


def _children_s() -> float:
    """Processor time of the processes that were started and waited for, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
