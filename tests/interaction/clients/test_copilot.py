"""The Copilot CLI, unchanged, over WebSocket: how it talks to the service."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.agent.others import copilot
from tests.support.model.relay import relay_to
from tests.support.service.running import playing

pytestmark = pytest.mark.timeout(900)

CALL = {"name": "bash", "arguments": {"command": "echo from-the-tool", "description": "say"}}
ROLLOUT = {
    "steps": [
        {"output": [{"function_call": CALL}]},
        {"expect": {"last": "function_call_output", "contains": "from-the-tool"}, "output": [{"text": "All done."}]},
    ]
}


@pytest.mark.rule("clients.copilot")
async def test_it_chains_its_requests_and_reads_the_cached_tokens(tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    with playing(tmp_path, ROLLOUT) as running:
        async with relay_to(running.url) as relay:
            said = await copilot(tmp_path, relay.base_url, "Run the tool.", workspace)
    assert relay.handshakes == 1
    first, second = relay.up[0]
    ends = [frame["response"] for frame in relay.down[0] if frame["type"] == "response.completed"]
    assert not [frame for frame in relay.down[0] if frame["type"] in ("error", "response.failed")]
    assert first.get("previous_response_id") is None
    assert second["previous_response_id"] == ends[0]["id"]
    assert [item["type"] for item in second["input"]] == ["function_call_output"]
    assert "All done." in said
    cached = ends[1]["usage"]["input_tokens_details"]["cached_tokens"]
    assert cached > ends[1]["usage"]["input_tokens"] / 2
    assert f"{cached / 1000:.1f}k cached" in said
