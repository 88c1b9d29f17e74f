"""The response object at its start: what it echoes of the request. Status, output and usage are the ladder's.

What was asked for is echoed, save where the protocol says that the response tells what was used: tier, cache, and
settings that an earlier configuration update overrides.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Raw, UnsetType

from agent_core.responses_server.request.options import Settings
from agent_core.responses_server.request.toolset import ToolSet
from agent_core.wire.codec import plain, present, to_raw
from agent_core.wire.requests import ResponseCreate
from agent_core.wire.response import Response

FLAG_KEY = "loopline.screening"
"""Key of the metadata that tells which screen flagged the input."""

_DEFAULT_TEXT = {"format": {"type": "text"}}


def echo(
    create: ResponseCreate, response_id: str, created_at: int, tools: ToolSet, settings: Settings | None, flag: str
) -> Response:
    """`created_at`: Unix seconds. `settings` None: they were not read. `flag`: code of a screen, "" for none."""
    metadata: dict[str, str] = dict(create.metadata or {})
    if flag:
        metadata[FLAG_KEY] = flag
    response = Response(
        id=response_id,
        created_at=created_at,
        status="in_progress",
        model=create.model or "",
        previous_response_id=create.previous_response_id,
        instructions=to_raw(create.instructions),
        tools=tools.echo,
        text=_text(create.text, settings),
        metadata=to_raw(metadata),
        max_output_tokens=create.max_output_tokens,
        max_tool_calls=create.max_tool_calls,
        store=create.store is not False,
        safety_identifier=create.safety_identifier,
        prompt_cache_key=create.prompt_cache_key,
        prompt_cache_retention="in_memory" if create.prompt_cache_retention is not None else UNSET,
        user=create.user if create.user is not None else UNSET,
    )
    if present(create.tool_choice):
        response.tool_choice = create.tool_choice
    if settings is not None and settings.reasoning is not None:
        response.reasoning = to_raw(settings.reasoning)
    if present(create.prompt_cache_options):
        response.prompt_cache_options = create.prompt_cache_options
    if create.parallel_tool_calls is not None:
        response.parallel_tool_calls = create.parallel_tool_calls
    if create.top_logprobs is not None:
        response.top_logprobs = create.top_logprobs
    if create.truncation is not None:
        response.truncation = create.truncation
    if create.temperature is not None:
        response.temperature = create.temperature
    if create.top_p is not None:
        response.top_p = create.top_p
    return response


def flagged(response: Response, flag: str) -> None:
    """Tell of a flag that was found after the start. `flag`: code of a screen."""
    response.metadata = to_raw({**plain(response.metadata), FLAG_KEY: flag})


def _text(raw: Raw | UnsetType, settings: Settings | None) -> Raw:
    """`text` as it is in effect, with the default format where none is set."""
    given: dict[str, Any] = plain(raw) if present(raw) else {}
    if settings is not None:
        given["format"] = settings.text_format
    return to_raw({**_DEFAULT_TEXT, **{key: value for key, value in given.items() if value is not None}})
