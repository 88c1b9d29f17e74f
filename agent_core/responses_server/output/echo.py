"""The response object at its start: what it echoes of the request. Status, output and usage are the ladder's."""

from __future__ import annotations

from msgspec import UNSET, Raw, UnsetType

from agent_core.responses_server.request.toolset import ToolSet
from agent_core.wire.codec import plain, present, to_raw
from agent_core.wire.requests import ResponseCreate
from agent_core.wire.response import Response

_DEFAULT_TEXT = {"format": {"type": "text"}}


def echo(create: ResponseCreate, response_id: str, created_at: int, tools: ToolSet, flags: str) -> Response:
    """`created_at`: Unix seconds. `flags`: code of a screen that flagged the input, "" for none."""
    metadata: dict[str, str] = dict(create.metadata or {})
    if flags:
        metadata["loopline.screening"] = flags
    response = Response(
        id=response_id,
        created_at=created_at,
        status="in_progress",
        model=create.model or "",
        previous_response_id=create.previous_response_id,
        instructions=to_raw(create.instructions),
        tools=tools.echo,
        text=_text(create.text),
        metadata=to_raw(metadata),
        max_output_tokens=create.max_output_tokens,
        max_tool_calls=create.max_tool_calls,
        store=create.store is not False,
        safety_identifier=create.safety_identifier,
        prompt_cache_key=create.prompt_cache_key,
        user=create.user if create.user is not None else UNSET,
    )
    if present(create.tool_choice):
        response.tool_choice = create.tool_choice
    if present(create.reasoning):
        response.reasoning = create.reasoning
    if create.parallel_tool_calls is not None:
        response.parallel_tool_calls = create.parallel_tool_calls
    if create.truncation is not None:
        response.truncation = create.truncation
    if create.temperature is not None:
        response.temperature = create.temperature
    if create.top_p is not None:
        response.top_p = create.top_p
    if create.top_logprobs is not None:
        response.top_logprobs = create.top_logprobs
    return response


def _text(raw: Raw | UnsetType) -> Raw:
    """`text` as sent, with the default format where it names none."""
    if not present(raw):
        return to_raw(_DEFAULT_TEXT)
    return to_raw({**_DEFAULT_TEXT, **{key: value for key, value in plain(raw).items() if value is not None}})
