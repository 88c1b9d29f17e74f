"""Copies of the sample project, and its tests run apart from the agent, as an independent judge."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

import msgspec

from agent_core import launch
from agent_core.errors import UsageError
from agent_core.variables import variables

SAMPLE = Path(__file__).with_name("sample")
TASK = "make the tests pass"
TEST_TIMEOUT_S = 60.0

_RAN = re.compile(r"^Ran (\d+) tests?", re.MULTILINE)
_FAILED = re.compile(r"^FAILED \((?:failures=(\d+))?(?:, )?(?:errors=(\d+))?", re.MULTILINE)


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The sample's own test run. `passed` counts tests; `output` is what unittest printed."""

    ok: bool
    passed: int
    failed: int
    output: str


def copy_to(folder: Path) -> Path:
    """Copy the sample into `folder`, which must be new or empty. Raises UsageError otherwise."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty", hint="name a new or an empty folder")
    shutil.copytree(SAMPLE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


async def run_tests(folder: Path) -> Verdict:
    """Run the tests of a copy with unittest, in a process of their own."""
    process = await launch.start(
        launch.own_python("-B", "-m", "unittest", "discover"),
        environment=launch.own_environment(variables()),
        cwd=folder,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(TEST_TIMEOUT_S):
            _, stderr = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    output = stderr.decode("utf-8", "replace")
    ran = _RAN.search(output)
    failures = _FAILED.search(output)
    failed = sum(int(count or 0) for count in failures.groups()) if failures else 0
    total = int(ran.group(1)) if ran else 0
    return Verdict(ok=process.returncode == 0 and total > 0, passed=total - failed, failed=failed, output=output)
