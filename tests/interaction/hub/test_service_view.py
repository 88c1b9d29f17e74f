"""The service as a source of a hub: every client by its key, and one answer told by two shown as one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from agent_core.responses_server.settings import ApiKey
from agent_core.telemetry.events import Event, ServiceCall
from tests.support.hub.otlp import span, traces
from tests.support.hub.push import push
from tests.support.service.running import connected, running_service
from tests.support.web.running import Site, running_site

KEYS = ("anna", "ben")


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as running:
        yield running


async def answered() -> list[Event]:
    """Two answers to each key, one chained to the other."""
    with running_service(api_keys=tuple(ApiKey(key, f"key-{key}") for key in KEYS)) as running:
        for key in KEYS:
            async with connected(running, headers={"Authorization": f"Bearer key-{key}"}) as socket:
                first = await socket.call(input="hello")
                await socket.call(input="again", previous_response_id=first["response"]["id"])
        await running.service.pipeline.settlement.drain()
        return [event for event in running.sink.events if isinstance(event, ServiceCall)]


async def test_every_key_shows_and_what_an_agent_tells_too_is_one(site: Site) -> None:
    events = await answered()
    assert [event.key for event in events if isinstance(event, ServiceCall)] == ["anna", "anna", "ben", "ben"]
    told = events[0]
    assert isinstance(told, ServiceCall)
    now_ms = (site.hub.now_ns() - 1_796_123_000_000_000_000) / 1e6
    chat = span(
        1, 2, 1, now_ms - 50, now_ms, gen_ai__operation__name="chat", gen_ai__response__id=told.response_id,
        gen_ai__usage__input_tokens=told.input_tokens or 0,
    )  # fmt: skip
    run = span(1, 1, 0, now_ms - 60, now_ms, gen_ai__operation__name="invoke_agent")
    async with site.client(site.token("bots", "agent", "web")) as agent:
        answer = await agent.post("/v1/traces", json=traces([chat, run]))
        assert answer.status_code == 200
    async with site.client(site.token("gateway", "service", "web")) as service:
        assert (await push(service, events)).status_code == 200
    async with site.client(site.token("liar", "agent", "web")) as liar:
        forged = [msgspec.structs.replace(one, source="h0-1-liar00", key="anna") for one in events]
        assert (await push(liar, forged)).status_code == 200
    async with site.client(site.secret) as client:
        view = (await client.get("/api/service?range=24h")).json()
        usage = (await client.get("/api/usage?by=agent")).json()["rows"]
        turn = (await client.get(f"/api/turns/{1:032x}")).json()
        page = (await client.get("/service", headers={"accept": "text/html"})).text
    assert {row["key"]: (row["responses"], row["told"], row["failed"]) for row in view["rows"]} == {
        "anna": (2, 1, 0),
        "ben": (2, 0, 0),
    }
    sums = {row["key"]: (row["input_tokens"], row["output_tokens"], row["transports"]) for row in view["rows"]}
    mine = [event for event in events if isinstance(event, ServiceCall) and event.key == "ben"]
    assert sums["ben"] == (
        sum(event.input_tokens or 0 for event in mine), sum(event.output_tokens or 0 for event in mine),
        {"websocket": 2},
    )  # fmt: skip
    assert [(row["name"], row["calls"]) for row in usage] == [("bots", 1)]
    (call,) = turn["calls"]
    assert call["response_id"] == told.response_id
    assert set(call["service_stages_ms"]) == set(told.stages_ms)
    assert "1 of 2" in page and "0 of 2" in page
