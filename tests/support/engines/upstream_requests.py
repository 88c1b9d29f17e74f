"""Requests to engines, for tests of the upstream engine's parts."""

from __future__ import annotations

from typing import Any

from agent_core.responses_server.engine import EngineRequest, EngineTool
from agent_core.wire.items import FunctionCall, FunctionCallOutput, Message

READ = EngineTool(name="read", description="Read a file", parameters={"type": "object", "properties": {"path": {}}})
GO = EngineTool(name="go", namespace="car", parameters={})


def engine_request(**fields: Any) -> EngineRequest:
    """A request with a user's message and two tools that may be called."""
    given: dict[str, Any] = {
        "response_id": "resp_1",
        "model": "far",
        "instructions": "Be kind.",
        "items": [Message(role="user", content="hi")],
        "first_new": 0,
        "tokens": [],
        "tools": (READ, GO),
        "offered": (READ, GO),
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "memory": {},
    }
    return EngineRequest(**{**given, **fields})


def called_upstream(call_id: str = "c1", arguments: str = "{}") -> FunctionCall:
    return FunctionCall(name="go", namespace="car", arguments=arguments, call_id=call_id, id="fc_1", status="completed")


def answer(call_id: str = "c1", output: str = "42") -> FunctionCallOutput:
    return FunctionCallOutput(call_id=call_id, output=output)
