"""The vendor's SDKs and agents, unchanged, against the service: what each says it got."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.model.relay import relay_to
from tests.support.service.clients import AGENTS_PYTHON, OPENAI_NODE, OPENAI_PYTHON, ready, run_script
from tests.support.service.running import KEY, Running, running_service

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def served() -> Iterator[Running]:
    with running_service() as running:
        yield running


def env(base_url: str, **more: str) -> dict[str, str]:
    return {"BASE_URL": base_url, "KEY": KEY, **more}


@pytest.mark.rule("clients.openai_python")
async def test_openai_python(served: Running) -> None:
    facts: dict[str, Any] = dict(await run_script(ready(OPENAI_PYTHON), "openai_python.py", env(served.base_url)))
    text = facts.pop("ws.text")
    assert text.startswith("This answer")
    assert all("Ws" in name for name in facts.pop("ws.types"))
    assert facts == {
        "ws.loop": [[], "function_call", "message", "This"],
        "ws.error": ["error", 400, "previous_response_not_found", "previous_response_id"],
        "ws.lane": ["side"],
        "ws.steer": ["response.steer.failed", "response_not_found"],
        "http.loop": ["function_call", "message", True],
        "http.stream": ["response.created", "response.completed", True],
        "http.retrieve": True,
        "http.input_items": ["message", "function_call", "function_call_output"],
        "http.input_tokens": True,
        "http.compact": ["message", "compaction"],
        "http.after_compaction": "completed",
        "http.deleted": ["NotFoundError", "not_found", "response_id"],
        "http.invalid": ["BadRequestError", "invalid_request", "temperature"],
        "http.key": ["AuthenticationError", "invalid_api_key", None],
        "http.cancel": ["BadRequestError", "invalid_request", "response_id"],
        "http.models": ["repair", "scripted"],
        "http.parsed": {"total": 1, "unit": "example"},
    }


@pytest.mark.rule("clients.openai_node")
async def test_openai_node(served: Running) -> None:
    facts = dict(await run_script(ready(OPENAI_NODE), "openai_node.mjs", env(served.base_url)))
    assert facts == {
        "ws.loop": ["function_call", "message", "response.created"],
        "ws.error": ["error", 400, "previous_response_not_found"],
        "ws.after": "response.completed",
        "http.loop": ["function_call", "response.created", "response.completed"],
        "http.retrieve": True,
        "http.invalid": [400, "invalid_request", "top_p"],
    }


@pytest.mark.rule("clients.agents_python")
@pytest.mark.parametrize("transport", ["websocket", "http"])
async def test_openai_agents_python(served: Running, transport: str) -> None:
    """Three runs of an agent with a tool; over WebSocket all of them on one socket."""
    async with relay_to(served.url) as relay:
        base_url = relay.base_url if transport == "websocket" else served.base_url
        facts = await run_script(ready(AGENTS_PYTHON), "agents_python.py", env(base_url, TRANSPORT=transport))
        assert relay.handshakes == (1 if transport == "websocket" else 0)
        frames = [frame for connection in relay.up for frame in connection]
    assert facts == [
        ["run", ["tool_call_item", "tool_call_output_item", "message_output_item"], 1, "This"],
        ["streamed", True, 2, "This"],
        ["chained", 2, 3],
    ]
    if transport == "websocket":
        chained = [frame["previous_response_id"] is not None for frame in frames if "previous_response_id" in frame]
        assert len(frames) == 6
        assert chained
