"""One recorded rollout of 40 calls, five ways, at three speeds of sampling and three round trips: who gains what.

All ways meet the same service in the same run. Where sampling is slow, and so the machine idle, they run side by side;
else one after the other, several times, in another order each time. Baselines are clients as lean as ours.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from agent_core import launch
from agent_core.bench.figures import Figure
from agent_core.bench.rollout_shares import saved, speed_for, split
from agent_core.bench.rollout_ways import WAYS, Measured, Plan
from agent_core.bench.scale import quick
from agent_core.bench.serving import serving
from agent_core.variables import variables

TITLES: Final = {
    "new": "HTTP, new connections, full history",
    "kept": "HTTP kept alive, full history",
    "stored": "HTTP kept alive, by id from the store",
    "deltas": "WebSocket deltas",
    "rollout": "rollout prototype",
}
SLOW_SAMPLING: Final = 100
"""Tokens a second up to which all ways run at the same time: the machine is idle then."""
TIMEOUT_S: Final = 300
GOAL: Final = 0.4


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """`rtts_ms`: round trips. `slow_start_at`: the (speed, round trip) that is also measured with slow start; None:
    none. `repeats` where the ways run one after the other."""

    plan: Plan
    speeds: tuple[float, ...]
    rtts_ms: tuple[int, ...]
    slow_start_at: tuple[float, int] | None
    repeats: int


FULL: Final = Scale(plan=Plan(), speeds=(65, 1_000, 4_000), rtts_ms=(0, 20, 80), slow_start_at=(1_000, 80), repeats=2)
QUICK: Final = Scale(
    plan=Plan(calls=6, tokens=20), speeds=(1_000, 4_000), rtts_ms=(0, 20), slow_start_at=None, repeats=1
)


class Cell(msgspec.Struct, frozen=True):
    """Where a rollout is measured."""

    tokens_per_s: float
    rtt_ms: int
    slow_start: bool = False

    def __str__(self) -> str:
        return f"{self.tokens_per_s:g} tok/s, {self.rtt_ms} ms{', slow start (model)' if self.slow_start else ''}"


Found = dict[tuple[Cell, str], list[Measured]]


def measure() -> Iterator[Figure]:
    """What each way takes, what is saved against which, where that comes from."""
    scale = QUICK if quick() else FULL
    found: Found = {}
    for speed in scale.speeds:
        _measure_speed(scale, speed, found)
        yield from at_speed(scale, found, speed)
    yield from conclusions(scale, found)


def at_speed(scale: Scale, found: Found, speed: float) -> Iterator[Figure]:
    """The figures of each round trip at one speed."""
    at = {cell for cell, _ in found if cell.tokens_per_s == speed}
    cells = sorted(at, key=lambda cell: (cell.slow_start, cell.rtt_ms))
    plan = scale.plan
    size = (
        f"{plan.calls} calls of {plan.tokens} tokens; history {plan.history_bytes // 1000} kB in {plan.history_items} "
        f"items, {plan.output_bytes // 1000} kB more with each call"
    )
    for cell in cells:
        seconds = {way: _median_s(found[cell, way]) for way in WAYS}
        runs = len(found[cell, "new"])
        for way in WAYS:
            against, ratio = (None, None) if way == "new" else (TITLES["new"], seconds[way] / seconds["new"])
            name = f"rollout, {cell}: {TITLES[way]}"
            yield Figure(
                name=name,
                value=seconds[way],
                unit="s",
                against=against,
                ratio=ratio,
                runs=runs,
                note=size if way == "new" else "",
            )
        yield Figure(name=f"rollout, {cell}: {TITLES['deltas']}", value=seconds["deltas"], unit="s",
                     against=TITLES["kept"], ratio=seconds["deltas"] / seconds["kept"], runs=runs)  # fmt: skip
        yield Figure(name=f"rollout, {cell}: {TITLES['deltas']}", value=seconds["deltas"], unit="s",
                     against=TITLES["rollout"], ratio=seconds["deltas"] / seconds["rollout"], runs=runs)  # fmt: skip
        yield _shares(cell, seconds, runs)


def conclusions(scale: Scale, found: Found) -> Iterator[Figure]:
    """What follows from all speeds together."""
    for rtt_ms in scale.rtts_ms:
        for baseline in ("new", "kept"):
            yield _goal(scale, found, rtt_ms, baseline)
    yield from _own_work(scale, found)


def _shares(cell: Cell, seconds: Mapping[str, float], runs: int) -> Figure:
    """What deltas save against new connections, and from which step that comes."""
    steps = {
        "new": "connections kept",
        "kept": "new items only, state from the store",
        "stored": "state of the connection",
    }
    parts = [f"{steps[a]} {share:.0%}" for a, _, share in split(seconds, ("new", "kept", "stored", "deltas"))]
    return Figure(
        name=f"rollout, {cell}: saved by {TITLES['deltas']} against {TITLES['new']}",
        value=saved(seconds["new"], seconds["deltas"]) * 100,
        unit="%",
        runs=runs,
        note="of which: " + ", ".join(parts),
    )


def _goal(scale: Scale, found: Found, rtt_ms: int, baseline: str) -> Figure:
    """The speed from which on deltas save 40 %."""
    plan = scale.plan
    tokens = plan.calls * (plan.tokens + 1)

    def besides_s(way: str) -> float:
        return statistics.median(_median_s(found[Cell(speed, rtt_ms), way]) - tokens / speed for speed in scale.speeds)

    most = max(
        saved(_median_s(found[Cell(speed, rtt_ms), baseline]), _median_s(found[Cell(speed, rtt_ms), "deltas"]))
        for speed in scale.speeds
    )
    speed = speed_for(GOAL, tokens, besides_s(baseline), besides_s("deltas"))
    note = f"from what both take besides sampling; measured at most {most:.0%} up to {max(scale.speeds):,.0f} tok/s"
    return Figure(
        name=f"rollout, {rtt_ms} ms: speed from which {TITLES['deltas']} save 40 % against {TITLES[baseline]}",
        value=speed if speed is not None else 0.0,
        unit="tok/s" if speed is not None else "(at no speed)",
        note=note,
    )


def _own_work(scale: Scale, found: Found) -> Iterator[Figure]:
    """The service's own work for one call, by its own clock, at the highest speed without delay."""
    cell = Cell(max(scale.speeds), min(scale.rtts_ms))
    told = {way: [run.own_ms for run in found[cell, way] if run.own_ms is not None] for way in WAYS}
    per_call = {way: statistics.median(sums) / scale.plan.calls for way, sums in told.items() if sums}
    for way, value in per_call.items():
        base = per_call.get("kept")
        yield Figure(
            name=f"rollout, the service's own work per call, {TITLES[way]}",
            value=value,
            unit="ms",
            against=TITLES["kept"] if way != "kept" and base else None,
            ratio=value / base if way != "kept" and base else None,
            runs=len(found[cell, way]),
        )


def _median_s(runs: list[Measured]) -> float:
    return statistics.median(run.seconds for run in runs)


def _measure_speed(scale: Scale, speed: float, found: Found) -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="loopline-bench-")))
        file = folder / "rollout.json"
        file.write_bytes(scale.plan.rollout(speed))
        port = stack.enter_context(serving(folder, "--rollout", str(file), "--enable-rollout")).port
        cells = [Cell(speed, rtt_ms) for rtt_ms in scale.rtts_ms]
        if scale.slow_start_at is not None and scale.slow_start_at[0] == speed:
            cells.append(Cell(speed, scale.slow_start_at[1], slow_start=True))
        ports = {cell: stack.enter_context(_delayed(port, cell)) for cell in cells}
        if speed <= SLOW_SAMPLING:
            running = [(cell, way, _begin(way, ports[cell], scale.plan)) for cell in cells for way in WAYS]
            for cell, way, client in running:
                found.setdefault((cell, way), []).append(_end(client, way))
            return
        # The first rollout finds cold caches and code; it counts for nobody.
        _end(_begin("kept", port, scale.plan), "kept")
        for repeat in range(scale.repeats):
            for cell in cells:
                for way in WAYS[repeat % len(WAYS) :] + WAYS[: repeat % len(WAYS)]:
                    measured = _end(_begin(way, ports[cell], scale.plan), way)
                    found.setdefault((cell, way), []).append(measured)


@contextmanager
def _delayed(port: int, cell: Cell) -> Iterator[int]:
    """The port by which the service is `rtt_ms` away."""
    if not cell.rtt_ms:
        yield port
        return
    options = ["slow-start"] if cell.slow_start else []
    command = launch.own_module("agent_core.bench.delay_proxy", str(port), str(cell.rtt_ms), *options)
    env, pipe = launch.own_environment(variables()), subprocess.PIPE
    with launch.popen(command, environment=env, stdin=pipe, stdout=pipe) as proxy:
        assert proxy.stdout is not None
        try:
            yield int(proxy.stdout.readline())
        finally:
            proxy.terminate()


def _begin(way: str, port: int, plan: Plan) -> subprocess.Popen[bytes]:
    encoded = msgspec.json.encode(plan).decode()
    command = launch.own_module("agent_core.bench.rollout_ways", way, str(port), encoded)
    return launch.popen(command, environment=launch.own_environment(variables()), stdout=subprocess.PIPE)


def _end(client: subprocess.Popen[bytes], way: str) -> Measured:
    try:
        told, _ = client.communicate(timeout=TIMEOUT_S)
    finally:
        client.kill()
        client.wait()
    if client.returncode != 0:
        raise RuntimeError(f"the client of {way} ended with {client.returncode}")
    return msgspec.json.decode(told, type=Measured)
