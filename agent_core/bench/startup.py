"""Start of the command line: `loopline --help` against `python -c pass`, interleaved."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Iterator

from agent_core import launch
from agent_core.bench.figures import Figure
from agent_core.variables import variables

RUNS = 15


def measure() -> Iterator[Figure]:
    """The target is a ratio below 25."""
    bare, started = [], []
    for _ in range(RUNS):
        bare.append(_wall_ms(launch.own_python("-c", "pass")))
        started.append(_wall_ms(launch.own_module("agent_core", "--help")))
    floor, value = statistics.median(bare), statistics.median(started)
    yield Figure(name="python -c pass", value=floor, unit="ms", runs=RUNS)
    yield Figure(
        name="loopline --help", value=value, unit="ms", against="python -c pass", ratio=value / floor, runs=RUNS
    )


def _wall_ms(command: list[str]) -> float:
    environment = launch.own_environment(variables())
    started = time.perf_counter()
    with launch.popen(command, environment=environment, stdout=subprocess.DEVNULL) as process:
        if process.wait(30) != 0:
            raise RuntimeError(f"{command[-1]} ended with {process.returncode}")
    return (time.perf_counter() - started) * 1000
