"""Token counts of one response, from what the engine reported and what the service rendered."""

from __future__ import annotations

from agent_core.responses_server.engines.base import Finish
from agent_core.wire.response import InputTokensDetails, OutputTokensDetails, Usage


def usage_of(finish: Finish, *, rendered: int, reused: int, output_tokens: int, reasoning_tokens: int) -> Usage:
    """The engine's figures where it has them, else ours: `rendered` input tokens of which `reused` came from the cache.

    An engine that counts its own input but does not know what was cached leaves `input_tokens_details` out: unknown is
    absent, never 0.
    """
    if finish.input_tokens is None:
        given = rendered
        details: InputTokensDetails | None = InputTokensDetails(cached_tokens=reused)
    else:
        given = finish.input_tokens
        known = finish.cached_tokens is not None
        details = InputTokensDetails(cached_tokens=finish.cached_tokens or 0) if known else None
    output = output_tokens if finish.output_tokens is None else finish.output_tokens
    reasoning = reasoning_tokens if finish.reasoning_tokens is None else finish.reasoning_tokens
    return Usage(
        input_tokens=given,
        input_tokens_details=details,
        output_tokens=output,
        output_tokens_details=OutputTokensDetails(reasoning_tokens=reasoning),
        total_tokens=given + output,
    )
