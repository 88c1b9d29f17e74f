"""Finds and runs the tests for a client that has only a shell: pytest where it is there, else unittest."""

# Sent as text to interpreters that may be older: short beats modern.
# ruff: noqa: PTH106, PTH112, PTH208

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from typing import Any

JOB: dict[str, Any] = {}

LIMIT_S = 100
SHOWN = 24000


def interpreter() -> tuple[str, bool]:
    """An interpreter of the workspace, and whether it has pytest."""
    for python in [sys.executable, "python3", "python"]:
        try:
            if (
                subprocess.run([python, "-c", "import pytest"], stdin=-3, stdout=-3, stderr=-3, timeout=20).returncode
                == 0
            ):
                return python, True
        except (OSError, subprocess.TimeoutExpired):
            continue
    return sys.executable, False


def run(words: list[str]) -> tuple[int, str]:
    """Exit status and output; status -1 where the time was up."""
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(words, stdin=-3, stdout=out, stderr=out, env=environment, start_new_session=True)
        try:
            status = process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = -1
        out.seek(0)
        return status, out.read().decode(errors="replace")


def tally(runner: str, status: int, output: str) -> tuple[str, int, int]:
    """(passed|failed|none|error, failed, passed)."""
    if runner == "pytest":
        counts = (
            {
                word: int(number)
                for number, word in re.findall(r"(\d+) (failed|passed|error)", output.strip().splitlines()[-1])
            }
            if output.strip()
            else {}
        )
        bad, good = counts.get("failed", 0) + counts.get("error", 0), counts.get("passed", 0)
        return {0: "passed", 1: "failed", 2: "failed", 5: "none"}.get(status, "error"), bad, good
    ran = re.search(r"^Ran (\d+) tests?", output, re.MULTILINE)
    bad = sum(int(number) for number in re.findall(r"(?:failures|errors)=(\d+)", output))
    if not ran or ran.group(1) == "0":
        return "none" if ran else "error", bad, 0
    return ("passed" if status == 0 else "failed" if status > 0 else "error"), bad, int(ran.group(1)) - bad


def main() -> None:
    if JOB["command"]:
        words = shlex.split(JOB["command"])
    else:
        python, has_pytest = interpreter()
        words = (
            [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
            if has_pytest
            else [python, "-m", "unittest", "discover"]
        )
    runner = "unittest" if "unittest" in words else "pytest"
    command = shlex.join(words)
    if JOB["target"] and runner == "pytest":
        words.append(JOB["target"])
    elif JOB["target"]:
        words = [*words[: words.index("unittest") + 1], JOB["target"]]
    before = set(os.listdir("."))
    status, output = run(words)
    for name in set(os.listdir(".")) - before:
        if os.path.isdir(name) and not os.listdir(name):
            os.rmdir(name)  # left by a plug-in of the runner
    word, bad, good = tally(runner, status, output)
    shown = output if len(output) <= SHOWN else output[: SHOWN // 2] + "\n...\n" + output[-SHOWN // 2 :]
    facts = {"status": word, "failed": bad, "passed": good, "runner": runner, "command": command, "exit": status}
    print(shown.rstrip("\n") + "\nloopline: " + json.dumps(facts))  # noqa: T201


if JOB:
    main()
