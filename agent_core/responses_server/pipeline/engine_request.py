"""What an engine is asked, out of a call that may run."""

from __future__ import annotations

from typing import Any

from agent_core.responses_server.conversation.context import Joined
from agent_core.responses_server.engine import EngineRequest
from agent_core.responses_server.pipeline.active import Call
from agent_core.responses_server.pipeline.routing import Route
from agent_core.responses_server.pipeline.steps import Prompt
from agent_core.responses_server.request.calling import Calling
from agent_core.responses_server.request.toolset import joined, usable
from agent_core.responses_server.request.validation import Checked


def engine_request(
    call: Call, route: Route, calling: Calling, checked: Checked, prompt: Prompt, memory: dict[str, Any]
) -> EngineRequest:
    """`memory`: the engine's own cache for the lane."""
    create, settings = call.create, checked.settings
    return EngineRequest(
        response_id=call.response_id,
        model=route.model,
        instructions=create.instructions,
        items=prompt.context.items,
        first_new=prompt.first_new,
        tokens=Joined(prompt.header.tokens, prompt.context.tokens) if prompt.header is not None else (),
        tools=calling.tools,
        tool_choice=calling.choice,
        parallel_tool_calls=create.parallel_tool_calls is not False,
        memory=memory,
        max_output_tokens=create.max_output_tokens,
        temperature=create.temperature,
        top_p=create.top_p,
        text_format=settings.text_format,
        reasoning=settings.reasoning,
        verbosity=settings.verbosity,
        top_logprobs=settings.top_logprobs,
        must_call=calling.must,
        max_tool_calls=calling.at_most,
        offered=usable(joined(checked.tools.tools, checked.extra), route.engine.capabilities),
        cache_key=f"{call.owner}:{create.prompt_cache_key}" if create.prompt_cache_key else None,
    )
