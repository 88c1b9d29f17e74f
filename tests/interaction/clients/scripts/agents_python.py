"""openai-agents-python, unchanged: an agent with a tool, by the transport that `TRANSPORT` names."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from agents import (  # type: ignore[import-not-found]
    Agent,
    ModelSettings,
    OpenAIProvider,
    RunConfig,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI  # type: ignore[import-not-found]

CALLS: list[str] = []


@function_tool  # type: ignore[untyped-decorator]
def read(path: str) -> str:
    """Read a file."""
    CALLS.append(path)
    return "its content"


async def main() -> None:
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=os.environ["BASE_URL"], api_key=os.environ["KEY"], max_retries=0)
    websocket = os.environ["TRANSPORT"] == "websocket"
    provider: Any = OpenAIProvider(openai_client=client, use_responses=True, use_responses_websocket=websocket)
    agent = Agent(name="reader", instructions="Read.", tools=[read], model_settings=ModelSettings(store=False))
    config = RunConfig(model_provider=provider, model="scripted")
    result = await Runner.run(agent, "go", run_config=config)
    kinds = [item.type for item in result.new_items]
    print(json.dumps(["run", kinds, len(CALLS), result.final_output[:4]]), flush=True)
    streamed = Runner.run_streamed(agent, "go", run_config=config)
    deltas = 0
    async for event in streamed.stream_events():
        deltas += event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
    print(json.dumps(["streamed", deltas > 5, len(CALLS), streamed.final_output[:4]]), flush=True)
    agent.model_settings = ModelSettings()
    chained = await Runner.run(agent, "go", run_config=config, auto_previous_response_id=True)
    print(json.dumps(["chained", len(chained.raw_responses), len(CALLS)]), flush=True)
    if hasattr(provider, "aclose"):
        await provider.aclose()


asyncio.run(main())
