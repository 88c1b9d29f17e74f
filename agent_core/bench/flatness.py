"""Whether a call's cost grows with its conversation: a delta of 2 kB at 10,000, 100,000 and 1,000,000 tokens.

WebSocket lanes, stateless HTTP with and without the cache of rendered texts, and a bare socket server that plays the
same events, all in one run, call by call in turn. The model answers at once, so what is left is the service's own work.
Of latencies the lower decile is told, of CPU times the median: who else runs on the machine delays most of the calls.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from agent_core import launch
from agent_core.bench.client_service import Plan
from agent_core.bench.figures import Figure
from agent_core.bench.flatness_calls import (
    Conversation,
    Cost,
    Lane,
    Stateless,
    delta,
    history,
    in_turn,
    typical,
)
from agent_core.bench.scale import quick
from agent_core.bench.serving import serving
from agent_core.variables import variables

DELTAS: Final = 32
"""Of the bare server's answer: about as many as the scripted model gives."""
BARE: Final = "a bare socket server"
BARE_WARM: Final = "a bare socket server that says nothing"
WS: Final = "WebSocket"
HTTP: Final = "HTTP"
PLAIN: Final = "HTTP without the cache of texts"
FIELDS: Final = {"store": False}
STAGES: Final = ("admission", "state", "validate", "screen", "route", "render", "queue", "engine_ttft", "engine")


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """`rounds`: calls of each lane. `http_rounds`: rounds in which HTTP is called too."""

    histories: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    rounds: int = 100
    http_rounds: int = 10


Found = dict[tuple[str, int], list[Cost]]


def measure() -> Iterator[Figure]:
    """Targets: at 1,000,000 tokens at most 1.2 times the cost at 10,000, and at most 3 times the bare server's."""
    scale = Scale(histories=(1_000, 20_000), rounds=6, http_rounds=2) if quick() else Scale()
    found: Found = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="loopline-bench-")))
        full = stack.enter_context(serving(_new(folder / "full")))
        plain = stack.enter_context(serving(_new(folder / "plain"), "--without", "item-lru"))
        bare = stack.enter_context(_bare(scale.rounds + 1))
        ports = {WS: full, HTTP: full, PLAIN: plain}
        sizes = asyncio.run(_converse(scale, {way: (at.port, at.pid) for way, at in ports.items()}, bare, found))
    yield from report(scale, sizes, found)


async def _converse(scale: Scale, ports: dict[str, tuple[int, int]], bare: tuple[int, int], found: Found) -> list[int]:
    """Fill `found`. Returns the tokens that the histories really have."""
    rng = random.Random(20260204)
    ways: dict[str, Conversation] = {}
    keys: dict[str, tuple[str, int]] = {}
    talk: Conversation
    sizes = []
    for tokens in scale.histories:
        items = history(rng, tokens)
        for way, (port, pid) in ports.items():
            talk = Lane(pid, FIELDS) if way == WS else Stateless(pid, FIELDS)
            ways[f"{way} {tokens}"], keys[f"{way} {tokens}"] = talk, (way, tokens)
            size = await talk.open(port, items)
        sizes.append(size)
    ways[BARE] = talk = Lane(bare[1], FIELDS)
    await talk.open(bare[0], delta(rng))
    ways[BARE_WARM] = talk.warming()
    keys |= {BARE: (BARE, 0), BARE_WARM: (BARE_WARM, 0)}
    for number, name in enumerate(in_turn(rng, list(ways), scale.rounds)):
        is_lane = isinstance(ways[name], Lane)
        if is_lane or number < scale.http_rounds * len(ways):
            found.setdefault(keys[name], []).append(await ways[name].call(delta(rng)))
    for talk in ways.values():
        talk.close()
    return sizes


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder


def report(scale: Scale, sizes: list[int], found: Found) -> Iterator[Figure]:
    """Per way and history: latency of the first event, CPU of the service; then the figures of each stage."""
    least, bare = scale.histories[0], found[BARE, 0]
    for what, title in (("first", "first event"), ("first_cpu", "CPU up to the first event"), ("cpu", "CPU of a call")):
        if what != "first_cpu":
            yield Figure(name=f"flatness, {title}, {BARE}", value=typical(bare, what), unit="ms", runs=len(bare))
        for way in (WS, HTTP, PLAIN):
            for tokens, size in zip(scale.histories, sizes, strict=True):
                against: list[tuple[str, float]] = []
                if tokens != least:
                    against.append((f"{least:,} tokens", typical(found[way, least], what)))
                if way != WS:
                    against.append(("the same over WebSocket", typical(found[WS, tokens], what)))
                elif what == "first_cpu":
                    against.append((f"all CPU of {BARE} for two events", typical(found[BARE_WARM, 0], "cpu")))
                else:
                    against.append((BARE, typical(bare, what)))
                name = f"flatness, {title}, {way}, {tokens:,} tokens"
                yield from _compared(name, found[way, tokens], what, against, f"{size:,} tokens in truth")
    for way in (WS, HTTP, PLAIN):
        for tokens in scale.histories:
            costs = found[way, tokens]
            yield Figure(
                name=f"flatness, up to the last event, {way}, {tokens:,} tokens",
                value=typical(costs, "whole"),
                unit="ms",
                runs=len(costs),
                note="; ".join(f"{stage} {_stage(costs, stage):.3f}" for stage in STAGES),
            )


def _compared(name: str, costs: list[Cost], what: str, against: list[tuple[str, float]], note: str) -> Iterator[Figure]:
    value = typical(costs, what)
    for whom, base in against:
        ratio = value / base if base else None
        yield Figure(name=name, value=value, unit="ms", against=whom, ratio=ratio, runs=len(costs), note=note)


def _stage(costs: list[Cost], stage: str) -> float:
    return statistics.median(cost.stages.get(stage, 0.0) for cost in costs)


@contextmanager
def _bare(turns: int) -> Iterator[tuple[int, int]]:
    """The bare server's port and process id."""
    plan = msgspec.json.encode(Plan(turns=turns, deltas=DELTAS)).decode()
    command = launch.own_module("agent_core.bench.client_service", plan)
    env = launch.own_environment(variables())
    with launch.popen(command, environment=env, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline()), process.pid
        finally:
            process.kill()
