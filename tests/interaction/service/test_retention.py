"""Evicted memory costs a client one full resend, and nothing else; the store is asked first."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.service.running import connected, running_service
from tests.support.system.waiting import eventually

SMALL: dict[str, Any] = {"state_mb": 1, "state_minutes": 0}
HALF_A_MEGABYTE = "word " * 60_000


@pytest.mark.rule("state.bounded")
async def test_the_oldest_lane_is_forgotten_when_memory_is_full() -> None:
    with running_service(**SMALL) as running:
        async with connected(running) as socket, connected(running) as other:
            first = await socket.response(input="small", store=False, stream_id="a")
            second = await socket.response(input=HALF_A_MEGABYTE, store=False, stream_id="b")
            third = await other.response(input=HALF_A_MEGABYTE, store=False)
            lost = await socket.call(input="on", store=False, stream_id="b", previous_response_id=second["id"])
            assert lost["error"]["code"] == "previous_response_not_found"
            lost = await socket.call(input="on", store=False, stream_id="a", previous_response_id=first["id"])
            assert lost["error"]["code"] == "previous_response_not_found", "it was older"
            assert (await other.response(input="on", store=False, previous_response_id=third["id"]))["id"]
        assert running.service.retention.evicted == 2
    assert len(running.service.retention) == running.service.retention.bytes == 0, "closed connections hold nothing"


@pytest.mark.rule("state.bounded")
async def test_what_is_stored_goes_on_from_the_store() -> None:
    with running_service(state_mb=0, state_minutes=0) as running:
        async with connected(running) as socket:
            first = await socket.response(input="one", store=True)
            second = await socket.response(input="two", store=True, previous_response_id=first["id"])
            kept = await socket.response(input="three", store=False, previous_response_id=second["id"])
            assert kept["usage"]["input_tokens"] > second["usage"]["input_tokens"] > first["usage"]["input_tokens"]
            lost = await socket.call(input="four", store=False, previous_response_id=kept["id"])
            assert lost["error"]["code"] == "previous_response_not_found"


@pytest.mark.rule("state.age")
async def test_forgotten_by_age() -> None:
    with running_service(state_minutes=0.001) as running:
        async with connected(running) as socket:
            first = await socket.response(input="one", store=False)
            await eventually(lambda: len(running.service.retention) == 0)
            lost = await socket.call(input="two", store=False, previous_response_id=first["id"])
            assert lost["error"]["code"] == "previous_response_not_found"
