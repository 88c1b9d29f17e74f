"""What one service holds: memory of idle connections, and whether one large call starves the small ones.

1,000 idle WebSockets and 64 on which a response streams at the pace of a model; beside them small calls one after the
other, first alone, then while calls with a million tokens of history that nobody has sent before are read and rendered.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from agent_core import launch
from agent_core.bench.capacity_load import Found, rollout
from agent_core.bench.figures import Figure, rank
from agent_core.bench.scale import quick
from agent_core.bench.serving import Served, serving
from agent_core.variables import variables

TIMEOUT_S: Final = 120
TOKENS, TOKENS_PER_S = 130, 65


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """`seconds`: how long small calls are measured, each time."""

    idle: int = 1_000
    busy: int = 64
    large_tokens: int = 1_000_000
    seconds: int = 15


class Role:
    """A client process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def heard(self) -> Found:
        """Its next line; waits for it."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a client of the benchmark ended with {self._process.wait(TIMEOUT_S)}")
        return msgspec.json.decode(line, type=Found)

    def tell(self) -> None:
        """Give it a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()


def measure() -> Iterator[Figure]:
    """Memory per idle connection; latency of a small call alone, and beside large ones."""
    scale = Scale(idle=100, busy=8, large_tokens=100_000, seconds=2) if quick() else Scale()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="loopline-bench-")))
        file = folder / "rollout.json"
        file.write_bytes(rollout(TOKENS, TOKENS_PER_S))
        served = stack.enter_context(serving(folder, "--rollout", str(file)))
        with _role("small", served, 1) as warm:
            warm.heard()
            warm.heard()
        yield from _idle_memory(scale, served, stack)
        alone = _small_calls(scale, served)
        busy = stack.enter_context(_role("busy", served, scale.busy))
        busy.heard()
        yield _cpu_of_busy(scale, served)
        beside_busy = _small_calls(scale, served)
        with _role("large", served, scale.large_tokens) as large:
            large.heard()
            beside_large = _small_calls(scale, served)
            large.tell()
            rendered = large.heard()
        yield from _latencies(scale, alone, beside_busy, beside_large, rendered)
        yield Figure(
            name=f"capacity, resident after {rendered.calls} calls of {scale.large_tokens:,} tokens",
            value=served.rss_bytes() / 1e6,
            unit="MB",
        )


def _idle_memory(scale: Scale, served: Served, stack: ExitStack) -> Iterator[Figure]:
    before = served.rss_bytes()
    idle = stack.enter_context(_role("idle", served, scale.idle))
    idle.heard()
    opened = served.rss_bytes()
    idle.tell()
    idle.heard()
    talked = served.rss_bytes()
    yield Figure(
        name="capacity, memory of an idle connection",
        value=(opened - before) / scale.idle / 1000,
        unit="kB",
        note=f"{scale.idle:,} WebSockets after their handshake; growth of resident memory by their number",
    )
    yield Figure(
        name="capacity, memory of an idle connection after a call of 2 kB",
        value=(talked - before) / scale.idle / 1000,
        unit="kB",
        note="with what its lane remembers: items, tokens, screen states",
    )


def _cpu_of_busy(scale: Scale, served: Served) -> Figure:
    """Processor time says what a crowded machine's clock does not."""
    start_s, before_s = time.monotonic(), served.cpu_s()
    time.sleep(scale.seconds)
    share = (served.cpu_s() - before_s) / (time.monotonic() - start_s)
    return Figure(
        name=f"capacity, processor time of {scale.busy} busy connections",
        value=share * 100,
        unit="% of a core",
        note=f"{share / (scale.busy * TOKENS_PER_S) * 1e6:.0f} us for each delta if all came in time",
    )


def _small_calls(scale: Scale, served: Served) -> Found:
    with _role("small", served, scale.seconds) as small:
        small.heard()
        return small.heard()


def _latencies(
    scale: Scale, alone: Found, beside_busy: Found, beside_large: Found, rendered: Found
) -> Iterator[Figure]:
    idle = f"{scale.idle:,} idle"
    base_ms = rank(alone.first_ms, 0.99)
    yield Figure(name=f"capacity, small call, first event, p50, {idle}", value=statistics.median(alone.first_ms),
                 unit="ms", runs=alone.calls)  # fmt: skip
    yield Figure(name=f"capacity, small call, first event, p99, {idle}", value=base_ms, unit="ms", runs=alone.calls)
    busy_ms = rank(beside_busy.first_ms, 0.99)
    yield Figure(
        name=f"capacity, small call, first event, p99, {idle} and {scale.busy} busy",
        value=busy_ms,
        unit="ms",
        against=f"{idle} only",
        ratio=busy_ms / base_ms,
        runs=beside_busy.calls,
        note=f"each streams {TOKENS_PER_S} deltas a second",
    )
    large_ms = rank(beside_large.first_ms, 0.99)
    yield Figure(
        name=f"capacity, small call, first event, p99, while calls of {scale.large_tokens:,} tokens are rendered",
        value=large_ms,
        unit="ms",
        against=f"{idle} and {scale.busy} busy",
        ratio=large_ms / busy_ms,
        runs=beside_large.calls,
        note=f"worst {max(beside_large.first_ms):.0f} ms; {rendered.calls} large calls beside it",
    )
    whole_ms = statistics.median(rendered.whole_ms)
    yield Figure(
        name=f"capacity, a call of {scale.large_tokens:,} tokens beside all that",
        value=whole_ms,
        unit="ms",
        runs=rendered.calls,
        note=f"its first event after {statistics.median(rendered.first_ms):,.0f} ms; upload included",
    )


@contextmanager
def _role(role: str, served: Served, amount: int) -> Iterator[Role]:
    command = launch.own_module("agent_core.bench.capacity_load", role, str(served.port), str(amount))
    env, pipe = launch.own_environment(variables()), subprocess.PIPE
    process = launch.popen(command, environment=env, stdin=pipe, stdout=pipe)
    try:
        yield Role(process)
    finally:
        process.kill()
        process.communicate()
