"""Flatness and ablation: their calls against a real service, and what their reports compare with what."""

from __future__ import annotations

import os
import random
import time

import pytest

from agent_core.bench import ablation, flatness
from agent_core.bench.figures import Figure
from agent_core.bench.flatness_calls import (
    Conversation,
    Cost,
    Lane,
    Stateless,
    cpu_ns,
    delta,
    history,
    in_turn,
    typical,
)
from agent_core.bench.serving import KEY
from agent_core.responses_server.settings import FEATURES, ApiKey
from tests.support.service.running import running_service

STAGES = {"state": 0.01, "validate": 0.1}


def cost(scale: float) -> Cost:
    return Cost(
        first=1.0 * scale, output=2.0 * scale, whole=4.0 * scale, first_cpu=0.5 * scale, cpu=3.0 * scale, stages=STAGES
    )


async def test_a_lane_and_stateless_calls_say_the_same() -> None:
    rng = random.Random(1)
    items = history(rng, 3_000)
    with running_service(api_keys=(ApiKey("bench", KEY),)) as running:
        port = int(running.url.rpartition(":")[2])
        ways: list[Conversation] = [Lane(os.getpid(), {"store": False}), Stateless(os.getpid(), {"store": False})]
        sizes = [await way.open(port, items) for way in ways]
        assert sizes[0] == sizes[1]
        assert sizes[0] == pytest.approx(3_000, rel=0.1)
        validator = running.service.pipeline.validator
        new = delta(rng)
        for way, most in zip(ways, (1, len(items) + 10), strict=True):
            before = validator.validated_items
            spent = await way.call(new)
            assert 0 < spent.first <= spent.output <= spent.whole
            assert spent.first_cpu > 0
            assert spent.cpu > 0
            assert {"state", "validate", "screen", "route", "render", "engine"} <= set(spent.stages)
            assert validator.validated_items - before <= most
            way.close()


def test_the_cpu_time_of_a_process_grows() -> None:
    """The kernel counts by its ticks, so a little work may not show yet."""
    before, give_up_s = cpu_ns(os.getpid()), time.monotonic() + 20
    while cpu_ns(os.getpid()) == before:
        assert time.monotonic() < give_up_s
    assert cpu_ns(os.getpid()) > before


def test_latencies_are_told_by_their_lower_decile() -> None:
    costs = [cost(scale) for scale in range(1, 21)]
    assert typical(costs, "first") == 3.0
    assert typical(costs, "cpu") == 31.5


def test_each_name_comes_once_a_round() -> None:
    found = list(in_turn(random.Random(1), ["a", "b", "c"], 4))
    assert [sorted(found[at : at + 3]) for at in range(0, 12, 3)] == [["a", "b", "c"]] * 4


def by_name(figures: list[Figure]) -> dict[tuple[str, str | None], Figure]:
    return {(figure.name, figure.against): figure for figure in figures}


def test_flatness_compares_with_the_least_history_and_the_bare_server() -> None:
    scale = flatness.Scale(histories=(10, 1000), rounds=1, http_rounds=1)
    found = {
        (way, tokens): [cost(tokens)] for way in (flatness.WS, flatness.HTTP, flatness.PLAIN) for tokens in (10, 1000)
    }
    found[flatness.WS, 1000] = [cost(11)]
    found |= {(flatness.BARE, 0): [cost(5)], (flatness.BARE_WARM, 0): [cost(1)]}
    figures = by_name(list(flatness.report(scale, [9, 999], found)))
    large = "flatness, first event, WebSocket, 1,000 tokens"
    assert figures[large, "10 tokens"].ratio == pytest.approx(1.1)
    assert figures[large, flatness.BARE].ratio == pytest.approx(2.2)
    assert figures["flatness, CPU of a call, HTTP, 1,000 tokens", "10 tokens"].ratio == pytest.approx(100)
    assert figures["flatness, first event, HTTP, 1,000 tokens", "the same over WebSocket"].ratio == pytest.approx(
        1000 / 11
    )
    stages = figures["flatness, up to the last event, WebSocket, 10 tokens", None].note
    assert "state 0.010" in stages
    assert "validate 0.100" in stages


def test_ablation_has_a_row_for_each_mechanism_and_the_headline() -> None:
    scale = ablation.Scale(histories=(10,), rounds=1)
    found = {
        (name, way, 10): [cost(2 if name == ablation.ALL else 1)]
        for name in (ablation.NOTHING, *FEATURES, ablation.ALL)
        for way in (ablation.WS, ablation.HTTP)
    }
    figures = by_name(list(ablation.report(scale, found)))
    for name in FEATURES:
        row = figures[f"ablation, first of the output, WebSocket, 10 tokens, without {name}", "all mechanisms on"]
        assert row.ratio == 1.0
        assert row.note == FEATURES[name]
    assert figures["ablation, CPU of the service, HTTP, 10 tokens, without all", "all mechanisms on"].ratio == 2.0
    headline = "ablation, first of the output, 10 tokens, WebSocket with all mechanisms"
    assert figures[headline, "HTTP, all mechanisms off"].ratio == 0.5
    assert "50 % less" in figures[headline, "HTTP, all mechanisms off"].note
