"""Chat Completions as servers have it: request bodies from requests. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_core.responses_server.engine import EngineRequest
from agent_core.responses_server.engines.chat_turns import FlatTools, chat_turns
from agent_core.responses_server.engines.upstream.messages import messages
from agent_core.responses_server.engines.upstream.offer import Offer, offer
from agent_core.responses_server.engines.upstream.profile import Profile
from agent_core.responses_server.engines.upstream.settings import UpstreamSettings


def chat_body(
    request: EngineRequest,
    settings: UpstreamSettings,
    cache_key: str | None,
    slot: int | None,
    profile: Profile | None = None,
    reasoning_field: str = "",
) -> dict[str, Any]:
    """`slot`: which one of a llama.cpp server the conversation belongs to. `reasoning_field`: where the server sent
    reasoning itself, "" if it did not so far. Raises EngineError `unsupported_content`."""
    profile = profile or settings.first_profile
    fields: dict[str, Any] = {
        profile.limit: request.max_output_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "response_format": _format(request.text_format),
        "reasoning_effort": (request.reasoning or {}).get("effort"),
        "verbosity": request.verbosity,
        "prompt_cache_key": cache_key if settings.cache_key else None,
        **slot_fields(slot),
        **_tool_fields(request, offer(request, settings), profile),
    }
    body = {
        **settings.extra,
        "model": settings.model,
        "messages": messages(chat_turns(request.instructions, request.items), profile, reasoning_field),
        "stream": True,
        "stream_options": {"include_usage": True},
        **{name: value for name, value in fields.items() if value is not None},
    }
    return {name: value for name, value in body.items() if name not in profile.without}


def slot_fields(slot: int | None) -> dict[str, Any]:
    """Fields that only llama.cpp knows: the conversation's slot, and that what is in it be used."""
    return {} if slot is None else {"id_slot": slot, "cache_prompt": True}


def _format(text_format: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Responses has the schema's fields beside the type, Chat Completions one level below."""
    kind = (text_format or {}).get("type", "text")
    if text_format is None or kind == "text":
        return None
    if kind != "json_schema":
        return {"type": kind}
    fields = {name: value for name, value in text_format.items() if name != "type" and value is not None}
    return {"type": "json_schema", "json_schema": {"name": "answer", **fields}}


def _tool_fields(request: EngineRequest, offered: Offer, profile: Profile) -> dict[str, Any]:
    tools = offered.tools
    if not tools.by_name:
        return {}
    choice: Any = offered.choice
    if offered.named is not None:
        choice = {"type": "function", "function": {"name": offered.named}}
    return {
        "tools": [_tool(name, tools) for name in tools.by_name],
        "tool_choice": choice if choice != "auto" else None,
        "parallel_tool_calls": False if request.max_tool_calls == 1 or not profile.parallel_calls else None,
    }


def _tool(name: str, tools: FlatTools) -> dict[str, Any]:
    tool = tools.by_name[name]
    parameters = {"type": "object", "properties": {}, **(tool.parameters or {})}
    described = {"description": tool.description} if tool.description else {}
    return {"type": "function", "function": {"name": name, **described, "parameters": parameters}}
