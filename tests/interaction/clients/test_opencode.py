"""opencode, unchanged, over HTTP: a tool and an answer, with the tokens that the service counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.telemetry.events import ServiceCall
from tests.support.agent.others import opencode
from tests.support.service.running import running_service

pytestmark = pytest.mark.timeout(900)


@pytest.mark.rule("clients.opencode")
async def test_it_runs_a_tool_and_counts_what_the_service_counts(tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    with running_service() as running:
        events = await opencode(tmp_path, running.base_url, "Run the tool.", workspace)
        told = [event for event in running.sink.events if isinstance(event, ServiceCall)]
        ledger = running.service.pipeline.settlement.ledger
        accounts = [account for event in told if (account := await ledger.find(event.response_id)) is not None]
    parts = [event["part"] for event in events]
    (tool,) = (part for part in parts if part["type"] == "tool")
    assert (tool["tool"], tool["state"]["status"]) == ("bash", "completed")
    assert any(part["type"] == "text" and part["text"].startswith("This answer") for part in parts)
    steps = [part["tokens"] for part in parts if part["type"] == "step-finish"]
    counted = [(account.input_tokens, account.output_tokens) for account in accounts]
    assert len(steps) == 2
    assert {(step["input"] + step["cache"]["read"], step["output"]) for step in steps} <= set(counted)
    assert {account.status for account in accounts} == {"completed"}
