"""The agent's way to the model against a minimal client: turnaround, growth with history, deltas, CPU, bytes, memory.

Both run against the same service in the same run, in turn, so that what else the machine does meets both; openai-python
and Codex too, where they lie under `.cache/clients`.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from agent_core import launch
from agent_core.bench import client_peer_codex
from agent_core.bench.client_drivers import Cost
from agent_core.bench.client_service import READ_FILE, Plan, Seen
from agent_core.bench.figures import Figure, rank
from agent_core.variables import variables

REPEATS = 3
PACED = Plan(turns=30, deltas=100, pace_tokens_s=2_000)
BURST = Plan(turns=30, deltas=100)
CEILING = Plan(turns=3, deltas=20_000)
TIMEOUT_S = 120
OPENAI = Path(".cache/clients/openai/bin/python")
"""An environment with openai-python and its extra `realtime`; it is measured where it is there."""


class Run(msgspec.Struct, frozen=True):
    """One conversation: what the service saw, what the client cost."""

    seen: Seen
    cost: Cost


class Runs(msgspec.Struct, frozen=True):
    """Repetitions of the same conversation."""

    runs: list[Run]

    def turnaround_ms(self) -> list[float]:
        """Without each run's first, which opens files and fills caches."""
        return sorted(ns / 1e6 for run in self.runs for ns in run.seen.turnaround_ns[1:])

    def median_ms(self) -> float:
        return statistics.median(self.turnaround_ms())

    def p95_ms(self) -> float:
        return rank(self.turnaround_ms(), 0.95)

    def bytes_up(self) -> float:
        return statistics.median(size for run in self.runs for size in run.seen.bytes_up[1:])

    def deltas_s(self, plan: Plan) -> float:
        return statistics.median(plan.deltas * 1e9 / ns for run in self.runs for ns in run.seen.stream_ns)

    def cpu_ms(self) -> float:
        return statistics.median(run.cost.cpu_s * 1000 for run in self.runs)

    def start_cpu_ms(self) -> float:
        return statistics.median(run.cost.start_cpu_s * 1000 for run in self.runs)

    def rss_mb(self) -> float:
        return statistics.median(run.cost.rss_mb for run in self.runs)


def measure() -> Iterator[Figure]:
    """Targets: turnaround at most 6 × minimal, 400 kB against 2 kB at most 1.25, deltas at least 0.5 × minimal."""
    paced: dict[tuple[str, int, int], Runs] = {}
    for size, count in ((2_000, 1), (400_000, 1), (400_000, 200)):
        paced |= _in_turn(PACED, size, count)
    for size, count in ((2_000, 1), (400_000, 1)):
        yield from _against_minimal(f"turnaround, {size // 1000} kB, paced", paced, size, count)
    for size in (2_000, 400_000):
        yield from _against_minimal(f"turnaround, {size // 1000} kB, burst", _in_turn(BURST, size, 1), size, 1)
    small, large, many = (paced["agent", *shape] for shape in ((2_000, 1), (400_000, 1), (400_000, 200)))
    yield _ratio("turnaround, 400 kB history", "ms", large.median_ms(), "2 kB history", small.median_ms())
    yield _ratio("turnaround, 200 items", "ms", many.median_ms(), "1 item of the same size", large.median_ms())
    yield _ratio("turnaround p95, 2 kB", "ms", small.p95_ms(), "its median", small.median_ms())
    minimal = paced["minimal", 2_000, 1]
    yield _ratio("bytes up per turn", "B", small.bytes_up(), "minimal client", minimal.bytes_up())
    yield _ratio("resident memory", "MB", small.rss_mb(), "minimal client", minimal.rss_mb())
    yield from _against_codex(paced)
    yield from _ceiling()


def _against_codex(paced: dict[tuple[str, int, int], Runs]) -> Iterator[Figure]:
    """Codex keeps a plan where the agent reads a file: neither starts a process. It sends its 19 kB of tools again."""
    for size in (2_000, 400_000):
        if (codex := paced.get(("codex", size, 1))) is not None:
            agent = paced["agent", size, 1]
            yield _ratio(f"turnaround, {size // 1000} kB, paced", "ms", agent.median_ms(), "Codex", codex.median_ms())
            yield _ratio(f"bytes up per turn, {size // 1000} kB", "B", agent.bytes_up(), "Codex", codex.bytes_up())
            yield _ratio(f"resident memory, {size // 1000} kB", "MB", agent.rss_mb(), "Codex", codex.rss_mb())
            cpu_ms = agent.cpu_ms() + agent.start_cpu_ms()
            yield _ratio(f"CPU of {PACED.turns} turns and the start", "ms", cpu_ms, "Codex", codex.cpu_ms())


def _ceiling() -> Iterator[Figure]:
    flood = _in_turn(CEILING, 2_000, 1)
    agent, minimal = flood["agent", 2_000, 1], flood["minimal", 2_000, 1]
    yield _ratio("deltas per second", "1/s", agent.deltas_s(CEILING), "minimal client", minimal.deltas_s(CEILING))
    thousands = CEILING.turns * CEILING.deltas / 1000
    cpu, floor = agent.cpu_ms() / thousands, minimal.cpu_ms() / thousands
    yield _ratio("CPU per 1,000 deltas", "ms", cpu, "minimal client", floor)
    if (peer := flood.get(("openai", 2_000, 1))) is not None:
        yield _ratio("deltas per second", "1/s", agent.deltas_s(CEILING), "openai-python", peer.deltas_s(CEILING))
        yield _ratio("CPU per 1,000 deltas", "ms", cpu, "openai-python", peer.cpu_ms() / thousands)


def _against_minimal(name: str, runs: dict[tuple[str, int, int], Runs], size: int, count: int) -> Iterator[Figure]:
    agent, minimal = (runs[who, size, count].median_ms() for who in ("agent", "minimal"))
    missing = "" if OPENAI.exists() else f"openai-python is left out: no {OPENAI}"
    yield _ratio(name, "ms", agent, "minimal client", minimal, note=missing)
    if (peer := runs.get(("openai", size, count))) is not None:
        yield _ratio(name, "ms", agent, "openai-python", peer.median_ms())


def _ratio(name: str, unit: str, value: float, against: str, floor: float, note: str = "") -> Figure:
    ratio = value / floor if floor else None
    return Figure(name=name, value=value, unit=unit, against=against, ratio=ratio, runs=REPEATS, note=note)


def _in_turn(plan: Plan, size: int, count: int) -> dict[tuple[str, int, int], Runs]:
    """All clients that there are through the same conversation, one after the other, several times."""
    found: dict[str, list[Run]] = {"minimal": [], "agent": []}
    if OPENAI.exists():
        found["openai"] = []
    if plan is PACED and count == 1 and client_peer_codex.binary() is not None:
        found["codex"] = []
    for _ in range(REPEATS):
        for name, runs in found.items():
            runs.append(converse(name, plan, size, count))
    return {(name, size, count): Runs(runs) for name, runs in found.items()}


def converse(name: str, plan: Plan, size: int, count: int) -> Run:
    """One conversation of the client `name` with a history of `size` bytes in `count` items."""
    with tempfile.TemporaryDirectory(prefix="loopline-bench-") as folder:
        (Path(folder) / READ_FILE).write_text("a line of text with some words\n" * 64)
        if name == "codex":
            plan = msgspec.structs.replace(plan, tool="update_plan")
        service = _start("client_service", msgspec.json.encode(plan).decode())
        try:
            assert service.stdout is not None
            port = service.stdout.readline().decode().strip()
            arguments = (port, folder, str(size), str(count))
            client = _client(name, *arguments)
            answer, _ = client.communicate(timeout=TIMEOUT_S)
            if client.returncode != 0:
                raise RuntimeError(f"the client {name} ended with {client.returncode}")
            seen, _ = service.communicate(timeout=TIMEOUT_S)
        finally:
            service.kill()
            service.wait()
    return Run(msgspec.json.decode(seen, type=Seen), msgspec.json.decode(answer, type=Cost))


def _client(name: str, *arguments: str) -> subprocess.Popen[bytes]:
    if name == "openai":
        return _start_peer(*arguments)
    return _start("client_peer_codex", *arguments) if name == "codex" else _start("client_drivers", name, *arguments)


def _start(module: str, *arguments: str) -> subprocess.Popen[bytes]:
    return _piped(launch.own_module(f"agent_core.bench.{module}", *arguments))


def _start_peer(*arguments: str) -> subprocess.Popen[bytes]:
    script = Path(__file__).with_name("client_peer_openai.py")
    return _piped([str(OPENAI), "-I", str(script), *arguments])


def _piped(command: Sequence[str]) -> subprocess.Popen[bytes]:
    return launch.popen(command, environment=launch.own_environment(variables()), stdout=subprocess.PIPE)
