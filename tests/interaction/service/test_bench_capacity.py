"""The roles of the capacity benchmark, in small, against the service that they measure."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_core.bench.capacity_load import CHARS_PER_TOKEN, Found, busy, create, idle, large, new_texts, rollout, small
from agent_core.bench.serving import KEY
from agent_core.responses_server.settings import ApiKey
from tests.support.service.running import Running, running_service
from tests.support.system.waiting import eventually


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    file = tmp_path / "rollout.json"
    file.write_bytes(rollout(5, 0))
    with running_service(rollout_file=file, api_keys=(ApiKey("bench", KEY),)) as running:
        yield running


def port_of(service: Running) -> int:
    return int(service.url.rpartition(":")[2])


def lines(count: int) -> asyncio.StreamReader:
    """An input of so many lines, and then its end."""
    reader = asyncio.StreamReader()
    reader.feed_data(b"\n" * count)
    reader.feed_eof()
    return reader


@pytest.mark.rule("bench.true")
async def test_idle_connections_talk_when_they_are_told_to(
    service: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (await idle(port_of(service), 4, lines(2))).calls == 8
    said = [json.loads(line)["calls"] for line in capsys.readouterr().out.splitlines()]
    assert said == [0, 4, 8]
    assert service.service.counters.connections["websocket"] == 4


@pytest.mark.rule("bench.true")
async def test_each_role_measures_its_calls(service: Running) -> None:
    found = {
        "small": await small(port_of(service), 1, lines(0)),
        "large": await large(port_of(service), 3_000, lines(0)),
    }
    for role, each in found.items():
        assert each.calls == len(each.first_ms) == len(each.whole_ms) >= 1, role
        assert all(0 < first <= whole for first, whole in zip(each.first_ms, each.whole_ms, strict=True)), role
    responses, label = service.service.counters.responses, ("scripted", "completed")
    before, waiting = responses[label], asyncio.StreamReader()
    streaming = asyncio.create_task(busy(port_of(service), 3, waiting))
    await eventually(lambda: responses[label] > before + 30)
    waiting.feed_eof()
    async with asyncio.timeout(20):
        assert (await streaming).calls > 0
    assert isinstance(found["small"], Found)


@pytest.mark.rule("bench.true")
def test_texts_are_new_and_of_the_size_asked_for() -> None:
    texts = new_texts(100_000)
    assert sum(map(len, texts)) == pytest.approx(100_000 * CHARS_PER_TOKEN, rel=0.1)
    assert len({*texts, *new_texts(100_000)}) == 2 * len(texts)
    items = json.loads(create(1, ["a", "b"]))["input"]
    assert [item["role"] for item in items] == ["user", "assistant", "user"]
