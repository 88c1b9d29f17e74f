"""The roll-up against an independent count, over random sessions with faults."""

from __future__ import annotations

import random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.telemetry import events as ev
from agent_core.telemetry.rollup.figures import Figures
from agent_core.telemetry.rollup.rollup import Rollup
from agent_core.telemetry.rollup.rows import CallRow
from tests.support.telemetry.scene import Scene

MODELS = ["gpt-5", "gpt-5-mini", "somebody's"]


class Ledger:
    """Counts by hand what a seeded session does while it happens; knows nothing of the roll-up."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.scene = Scene()
        self.calls: list[dict[str, Any]] = []
        self.frames: list[tuple[int, bool]] = []
        self.connections: set[str] = set()

    def play(self) -> None:
        self.scene.start_session()
        self.connect("opened")
        if self.random.random() < 0.5:
            self.warm_up()
        for _ in range(self.random.randint(1, 3)):
            self.turn()

    def turn(self) -> None:
        self.scene.start_turn()
        for _ in range(self.random.randint(0, 4)):
            self.wait()
            self.call()
            for _ in range(self.random.randint(0, 2)):
                self.tool()
        self.wait()
        self.scene.finish_turn(self.random.choice(["completed", "failed", "cancelled"]))

    def wait(self) -> None:
        self.scene.wait(self.random.randint(0, 30))

    def connect(self, how: str) -> None:
        name = f"conn_{len(self.connections) + 1}"
        self.connections.add(name)
        self.scene.open_connection(name)
        if how == "reconnected":
            self.scene.emit(ev.ConnectionReconnected(session=self.scene.session, connection=name, handshake_ms=1.0))

    def warm_up(self) -> None:
        size = self.random.randint(500, 900)
        self.frame(size, reused=False)
        call = self.scene.send("warm", warmup=True, reuse="first", bytes_up=size)
        self.wait()
        self.scene.complete(call, 5, input_tokens=999, output_tokens=0)

    def frame(self, size: int, *, reused: bool) -> None:
        self.frames.append((size, reused))

    def call(self) -> None:
        number = len(self.calls) + 1
        name, model = f"c{number}", self.random.choice(MODELS)
        told: dict[str, Any] = {"call": name, "number": number, "attempts": 0, "bytes_up": 0, "tools_ms": 0.0}
        reuse = "first" if not self.frames else self.random.choice(["reused", "reused", "full_resend"])
        for attempt in range(1, self.random.choice([1, 1, 1, 2, 3]) + 1):
            if attempt > 1:
                reuse = self.random.choice(["not_found", "evicted", "reconnected"])
                if reuse == "reconnected":
                    self.connect("reconnected")
            size = self.random.randint(50, 5_000)
            self.frame(size, reused=reuse == "reused")
            self.scene.send(name, model=model, attempt=attempt, reuse=reuse, bytes_up=size)
            told |= {"attempts": attempt, "bytes_up": told["bytes_up"] + size, "reuse": reuse, "model": model}
            ttft_ms = self.random.randint(1, 40)
            self.scene.wait(ttft_ms)
            self.scene.delta(name, ttft_ms, self.random.choice(["text", "reasoning"]))
            told["ttft_ms"] = ttft_ms
        decode_ms = self.random.randint(0, 60)
        self.scene.wait(decode_ms)
        ended = self.random.random() < 0.9
        usage = {
            "input_tokens": self.random.randint(100, 9_000),
            "cached_tokens": self.random.choice([None, self.random.randint(0, 100)]),
            "output_tokens": self.random.randint(1, 300),
        }
        if ended:
            self.scene.complete(name, ttft_ms + decode_ms, decode_ms, ttft_ms=ttft_ms, deltas=3, **usage)
            told |= {"duration_ms": ttft_ms + decode_ms, "overhead_ms": ttft_ms, **usage}
        else:
            told |= dict.fromkeys(["duration_ms", "overhead_ms", *usage])
        self.calls.append(told)

    def tool(self) -> None:
        ms = self.random.randint(0, 50)
        self.scene.tool(ms)
        if self.calls:
            self.calls[-1]["tools_ms"] += ms


def shown(row: CallRow, fields: list[str]) -> dict[str, Any]:
    return {field: getattr(row, field) for field in fields}


def known(values: list[int | None]) -> int | None:
    reported = [value for value in values if value is not None]
    return sum(reported) if reported else None


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1_000_000), st.randoms(use_true_random=False))
def test_every_figure_equals_an_independent_count(seed: int, chance: random.Random) -> None:
    ledger = Ledger(seed)
    ledger.play()
    rollup = Rollup()
    for event in ledger.scene.events:
        assert rollup.fold(event)
        if chance.random() < 0.2:
            assert not rollup.fold(event), "delivered twice"

    rows = rollup.call_rows()
    assert [shown(row, list(told)) for row, told in zip(rows, ledger.calls, strict=True)] == ledger.calls
    summary = rollup.summary()
    ttfts = sorted(told["ttft_ms"] for told in ledger.calls)
    assert summary.calls == len(ledger.calls)
    assert summary.connections == len(ledger.connections)
    assert summary.bytes_up == sum(size for size, _ in ledger.frames)
    assert summary.reused_calls == sum(reused for _, reused in ledger.frames)
    assert summary.full_resends == max(0, sum(not reused for _, reused in ledger.frames) - 1)
    assert summary.input_tokens == known([told["input_tokens"] for told in ledger.calls])
    assert summary.cached_tokens == known([told["cached_tokens"] for told in ledger.calls])
    assert summary.output_tokens == known([told["output_tokens"] for told in ledger.calls])
    middle = [ttfts[(len(ttfts) - 1) // 2], ttfts[len(ttfts) // 2]] if ttfts else None
    assert summary.ttft_ms_p50 == (sum(middle) / 2 if middle else None)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1_000_000))
def test_taking_calls_out_again_leaves_nothing(seed: int) -> None:
    ledger = Ledger(seed)
    ledger.play()
    rollup = Rollup().fold_all(ledger.scene.events)
    figures, empty = Figures(), Figures()
    ended = [row for row in rollup.call_rows(warmups=True) if not row.running]
    for row in ended:
        figures.add_call(row)
    for row in reversed(ended):
        figures.add_call(row, -1)
    assert {name: getattr(figures, name) for name in Figures.COUNTS} == dict.fromkeys(Figures.COUNTS, 0)
    assert figures.sketches == empty.sketches
    assert (figures.reuse, figures.statuses, figures.errors) == (empty.reuse, empty.statuses, empty.errors)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1_000_000), st.integers(0, 1_000_000))
def test_two_sources_interleaved_give_what_they_give_apart(one: int, two: int) -> None:
    first, second = Ledger(one), Ledger(two)
    second.scene = Scene(source="h000000-2-bbbbbb", session="sess_2")
    first.play()
    second.play()
    theirs = [msgspec.structs.replace(event, call=event.call and f"x{event.call}") for event in second.scene.events]
    mixed = sorted([*first.scene.events, *theirs], key=lambda event: event.time)
    together = Rollup().fold_all(mixed)
    apart = Rollup().fold_all(first.scene.events)
    assert together.call_rows(session="sess_1") == apart.call_rows()
    assert {turn: row for turn, row in together.turns.items() if row.session == "sess_1"} == apart.turns
    assert together.summary("sess_1") == apart.summary()
