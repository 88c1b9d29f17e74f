"""Services on one PostgreSQL: what one stored another goes on from; what `loopline serve` says when it can't begin."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent_core.responses_server.store.postgres import PostgresStore
from tests.support.service.running import KEY, Running, http_client, running_service
from tests.support.system.cli import environment, loopline
from tests.support.system.postgres import PostgresServer


async def responded(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/responses", json={"model": "scripted", "store": True, **fields}, timeout=60.0)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.rule("process.store")
async def test_what_one_service_stored_another_goes_on_from(postgres: PostgresServer) -> None:
    url = postgres.database()
    with running_service(store=url) as one, running_service(store=url) as other:
        async with http_client(one) as first, http_client(other) as second:
            made = await responded(first, input="hello")
            await stored(one)
            shown = await second.get(f"/responses/{made['id']}")
            assert shown.status_code == 200, shown.text
            assert shown.json()["output"] == made["output"]
            later = await responded(second, input="and then", previous_response_id=made["id"])
            await stored(other)
            items = (await first.get(f"/responses/{later['id']}/input_items", params={"order": "asc"})).json()["data"]
            assert [item["role"] for item in items if item["type"] == "message"][:3] == ["user", "assistant", "user"]
            assert (await first.delete(f"/responses/{made['id']}")).status_code == 200
            assert (await second.get(f"/responses/{made['id']}")).status_code == 404


async def stored(running: Running) -> None:
    """Until what was told is durable."""
    store = running.service.pipeline.store
    assert isinstance(store, PostgresStore)
    async with asyncio.timeout(60.0):
        while store.unwritten:  # noqa: ASYNC110 - another thread tells nobody
            await asyncio.sleep(0.02)


@pytest.mark.rule("process.store")
def test_what_keeps_it_from_beginning_is_one_line(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.url().replace(postgres.password, "wrong-secret")
    done = loopline("serve", "--port", "0", "--store", url, env=environment(tmp_path, LOOPLINE_API_KEY=KEY))
    assert done.code == 2, done.err
    told = [line for line in done.err.splitlines() if "127.0.0.1" in line]
    assert len(told) == 1, done.err
    assert "wrong-secret" not in done.out + done.err
    assert "Traceback" not in done.err
