"""Chat Completions as servers have it: request bodies from requests. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_core.responses_server.engine import EngineRequest
from agent_core.responses_server.engines.chat_turns import Document, FlatTools, Image, Piece, Turn, chat_turns
from agent_core.responses_server.engines.upstream.offer import Offer, offer
from agent_core.responses_server.engines.upstream.settings import UpstreamSettings


def chat_body(
    request: EngineRequest, settings: UpstreamSettings, cache_key: str | None, slot: int | None
) -> dict[str, Any]:
    """`slot`: which one of a llama.cpp server the conversation belongs to. Raises EngineError `unsupported_content`."""
    limit = "max_completion_tokens" if settings.is_openai else "max_tokens"
    fields: dict[str, Any] = {
        limit: request.max_output_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "response_format": _format(request.text_format),
        "reasoning_effort": (request.reasoning or {}).get("effort"),
        "verbosity": request.verbosity,
        "prompt_cache_key": cache_key if settings.cache_key else None,
        **slot_fields(slot),
        **_tool_fields(request, offer(request, settings)),
    }
    return {
        **settings.extra,
        "model": settings.model,
        "messages": [_message(turn) for turn in chat_turns(request.instructions, request.items)],
        "stream": True,
        "stream_options": {"include_usage": True},
        **{name: value for name, value in fields.items() if value is not None},
    }


def slot_fields(slot: int | None) -> dict[str, Any]:
    """Fields that only llama.cpp knows: the conversation's slot, and that what is in it be used."""
    return {} if slot is None else {"id_slot": slot, "cache_prompt": True}


def _message(turn: Turn) -> dict[str, Any]:
    if turn.role == "tool":
        return {"role": "tool", "tool_call_id": turn.call_id or "", "content": _content(turn)}
    if not turn.calls:
        return {"role": turn.role, "content": _content(turn)}
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in turn.calls
    ]
    return {"role": turn.role, "content": turn.text or None, "tool_calls": calls}


def _content(turn: Turn) -> str | list[dict[str, Any]]:
    """Text as a string, since small servers know nothing else."""
    return turn.text if turn.is_text else [_part(piece) for piece in turn.pieces]


def _part(piece: Piece) -> dict[str, Any]:
    if isinstance(piece, Image):
        detail = {"detail": piece.detail} if piece.detail is not None else {}
        return {"type": "image_url", "image_url": {"url": piece.url, **detail}}
    if isinstance(piece, Document):
        known = {"filename": piece.name, "file_data": piece.data, "file_url": piece.url}
        return {"type": "file", "file": {name: value for name, value in known.items() if value is not None}}
    return {"type": "text", "text": piece}


def _format(text_format: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Responses has the schema's fields beside the type, Chat Completions one level below."""
    kind = (text_format or {}).get("type", "text")
    if text_format is None or kind == "text":
        return None
    if kind != "json_schema":
        return {"type": kind}
    fields = {name: value for name, value in text_format.items() if name != "type" and value is not None}
    return {"type": "json_schema", "json_schema": {"name": "answer", **fields}}


def _tool_fields(request: EngineRequest, offered: Offer) -> dict[str, Any]:
    tools = offered.tools
    if not tools.by_name:
        return {}
    choice: Any = offered.choice
    if offered.named is not None:
        choice = {"type": "function", "function": {"name": offered.named}}
    return {
        "tools": [_tool(name, tools) for name in tools.by_name],
        "tool_choice": choice if choice != "auto" else None,
        "parallel_tool_calls": False if request.max_tool_calls == 1 else None,
    }


def _tool(name: str, tools: FlatTools) -> dict[str, Any]:
    tool = tools.by_name[name]
    parameters = tool.parameters or {"type": "object", "properties": {}}
    return {"type": "function", "function": {"name": name, "description": tool.description, "parameters": parameters}}
