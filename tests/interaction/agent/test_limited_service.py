"""The agent's own client against a service whose limit it has used up: it waits as long as it is asked to."""

from __future__ import annotations

import asyncio

import pytest

from agent_core.responses_server.settings import KeyLimits
from agent_core.telemetry import events as ev
from tests.support.model import events as make
from tests.support.model.session import talking
from tests.support.service.running import KEY, running_service

PER_MINUTE = 60
"""One is free again each second, which is more than the client would wait by itself."""


@pytest.mark.parametrize("transport", ["websocket", "http"])
async def test_a_call_waits_for_its_turn(transport: str) -> None:
    limits = KeyLimits(requests_per_minute=PER_MINUTE)
    with running_service(key_limits=limits) as service:
        async with talking(service.base_url, api_key=KEY, own_service=True, transport=transport) as talk:
            talk.model, talk.tools = "scripted", b"[]"
            slept: list[float] = []

            async def sleep(delay_s: float) -> None:
                slept.append(delay_s)
                await asyncio.sleep(delay_s)

            talk.clock.sleep = sleep  # type: ignore[method-assign]
            await talk.call(make.user("hello"))
            while service.service.limits.admit("test") is None:
                pass
            result = await talk.call(make.user("and again"))
    assert result.response_id
    attempts = talk.told(ev.CallSent, "attempt")
    assert max(attempts) >= 2
    assert max(slept) > 0.5
