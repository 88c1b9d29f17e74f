"""What each mechanism of the service gives: the same calls with it switched off, alone and all together.

One service per variant (`serve --without …`), all alive at the same time and called in turn, over HTTP with the whole
history and over WebSocket with deltas, at 10,000 and 100,000 tokens of history. Every call re-sends 18 kB of tools and
instructions, as Codex does. Of latencies the lower decile is told, of CPU times the median. Responses are stored (in
memory), so that a service without lane state finds them there.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import msgspec

from agent_core.bench.figures import Figure
from agent_core.bench.flatness_calls import Conversation, Cost, Lane, Stateless, delta, history, in_turn, text, typical
from agent_core.bench.scale import quick
from agent_core.bench.serving import Served, serving
from agent_core.responses_server.settings import FEATURES

WS: Final = "WebSocket"
HTTP: Final = "HTTP"
NOTHING: Final = "nothing"
ALL: Final = "all"
PUBLISHED: Final = "published for WebSocket mode over HTTP: up to 45 % less time to the first token"
TOOLS, TOOL_BYTES = 30, 520


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    histories: tuple[int, ...] = (10_000, 100_000)
    rounds: int = 15


Key = tuple[str, str, int]
"""What is switched off, the way, tokens of history."""


def measure() -> Iterator[Figure]:
    """Time to the first event and to the first of the output, and CPU of the service, per variant."""
    scale = Scale(histories=(1_000,), rounds=3) if quick() else Scale()
    found: dict[Key, list[Cost]] = {}
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="loopline-bench-")))
        services: dict[str, Served] = {}
        for name in (NOTHING, *FEATURES, ALL):
            folder = root / name
            folder.mkdir()
            without = () if name == NOTHING else ("--without", name)
            services[name] = stack.enter_context(serving(folder, "--store", "memory:", *without))
        asyncio.run(_converse(scale, services, found))
    yield from report(scale, found)


def fields(rng: random.Random) -> dict[str, Any]:
    """What every call sends again: tools and instructions, 18 kB."""
    about = {"type": "function", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}
    tools = [{**about, "name": f"tool_{number}", "description": text(rng, TOOL_BYTES)} for number in range(TOOLS)]
    return {"tools": tools, "instructions": text(rng, 2_000), "store": True}


async def _converse(scale: Scale, services: dict[str, Served], found: dict[Key, list[Cost]]) -> None:
    rng = random.Random(20260204)
    every = fields(rng)
    ways: dict[str, tuple[Key, Conversation]] = {}
    for tokens in scale.histories:
        items = history(rng, tokens)
        for name, served in services.items():
            for way, kind in ((WS, Lane), (HTTP, Stateless)):
                talk: Conversation = kind(served.pid, every)
                await talk.open(served.port, items)
                ways[f"{name} {way} {tokens}"] = ((name, way, tokens), talk)
    for name in in_turn(rng, list(ways), scale.rounds):
        key, chosen = ways[name]
        found.setdefault(key, []).append(await chosen.call(delta(rng)))
    for _, each in ways.values():
        each.close()


def report(scale: Scale, found: dict[Key, list[Cost]]) -> Iterator[Figure]:
    """The headline per history; then a row per variant, way and measure, against all mechanisms on."""
    for tokens in scale.histories:
        yield from _headline(tokens, found)
    for what, title in (("first", "first event"), ("output", "first of the output"), ("cpu", "CPU of the service")):
        for tokens in scale.histories:
            for way in (WS, HTTP):
                base = typical(found[NOTHING, way, tokens], what)
                for name in (NOTHING, *FEATURES, ALL):
                    costs = found[name, way, tokens]
                    value = typical(costs, what)
                    yield Figure(
                        name=f"ablation, {title}, {way}, {tokens:,} tokens, without {name}",
                        value=value,
                        unit="ms",
                        against=None if name == NOTHING else "all mechanisms on",
                        ratio=None if name == NOTHING or not base else value / base,
                        runs=len(costs),
                        note=FEATURES.get(name, ""),
                    )


def _headline(tokens: int, found: dict[Key, list[Cost]]) -> Iterator[Figure]:
    lane = typical(found[NOTHING, WS, tokens], "output")
    for name, title in ((NOTHING, "the same service over HTTP"), (ALL, "HTTP, all mechanisms off")):
        other = typical(found[name, HTTP, tokens], "output")
        yield Figure(
            name=f"ablation, first of the output, {tokens:,} tokens, WebSocket with all mechanisms",
            value=lane,
            unit="ms",
            against=title,
            ratio=lane / other,
            runs=len(found[NOTHING, WS, tokens]),
            note=f"{(1 - lane / other) * 100:.0f} % less; {PUBLISHED}. No model's own time is in it",
        )
