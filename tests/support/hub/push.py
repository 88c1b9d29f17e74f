"""Pushing to a hub over HTTP, as an agent does."""

from __future__ import annotations

import asyncio

import httpx

from agent_core.telemetry.events import Event
from tests.support.hub.stores import agent_scene, packed, work

GZIP = {"content-encoding": "gzip", "content-type": "application/x-ndjson"}


def finished(number: int = 1, turns: int = 1) -> list[Event]:
    scene = agent_scene(number)
    for _ in range(turns):
        work(scene)
    return scene.events


async def push_until_taken(client: httpx.AsyncClient, events: list[Event]) -> httpx.Response:
    """As an agent does it: again, until the hub has it."""
    async with asyncio.timeout(20):
        while (answer := await push(client, events)).status_code != 200:
            assert answer.headers["retry-after"]
            await asyncio.sleep(0.1)
    return answer


async def push(client: httpx.AsyncClient, events: list[Event]) -> httpx.Response:
    return await client.post("/api/ingest", content=packed(events), headers=GZIP)
