"""`loopline serve` as a process of its own, in a home of its own, for scenarios that measure the service."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from agent_core import launch, process_cost
from agent_core.ready_file import wait_ready_blocking
from agent_core.variables import variables

KEY: Final = "bench"
START_S: Final = 60


class Served(msgspec.Struct, frozen=True):
    """A service that listens on loopback."""

    port: int
    pid: int

    def rss_bytes(self) -> int:
        """What is resident of it now."""
        return process_cost.rss_bytes(self.pid)

    def cpu_s(self) -> float:
        """User and system time that it has taken."""
        return process_cost.cpu_s(self.pid)


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Served]:
    """Start it with `options`, wait until it listens, end it. `folder` is new, or of an earlier one."""
    ready = folder / "ready.json"
    ready.unlink(missing_ok=True)
    homes = {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("CONFIG", "STATE", "CACHE")}
    process = launch.popen(
        launch.own_module("agent_core", "serve", "--ready-file", str(ready), *options),
        environment=launch.own_environment(variables(), LOOPLINE_API_KEY=KEY, **homes),
        stderr=subprocess.DEVNULL,
    )
    try:
        listening = wait_ready_blocking(lambda: process.poll() is not None, ready, START_S)
        if listening is None:
            raise RuntimeError("the service of the benchmark did not start")
        told = json.loads(listening)
        yield Served(int(told["url"].rpartition(":")[2]), told["pid"])
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
